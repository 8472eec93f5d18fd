# From the repository's own config file: no other is read, no include followed. The shell reads what git
# itself writes; git is started only where the file has anything else.
read_repository() {
	found=
	if ! read_plainly; then
		found=$(become git config --file config --get-regexp '^softquota\.(socket|onerror|lastfor|timeout|judgetimeout|client)$' 2>/dev/null)
		case $? in
		0 | 1) ;;
		*) fault="the repository's configuration cannot be read" ;;
		esac
	fi
	set -f
	IFS=$nl
	for line in $found; do
		key=${line%% *}
		take "${key#softquota.}" "${line#* }"
	done
	unset IFS
	set +f
}

# Sets $found to the settings, a line "KEY VALUE" each, as git would. Returns 1 where the file is too long to
# be read byte by byte, or has anything that git may read in another way: a continued line, quotes, a comment
# behind a value, another spelling of the section.
read_plainly() {
	[ -f config ] && [ -r config ] || return 1
	section=no
	lines=0
	while IFS=' 	' read -r line || [ -n "$line" ]; do
		lines=$((lines + 1))
		[ "$lines" -le 200 ] || return 1
		case $line in
		*\\ | *[[:cntrl:]]*) return 1 ;;
		'[softquota]') section=yes ;;
		*'['*[Ss][Oo][Ff][Tt][Qq][Uu][Oo][Tt][Aa]*) return 1 ;;
		'['*) section=no ;;
		'' | '#'* | ';'*) ;;
		*)
			[ "$section" = yes ] || continue
			case $line in
			*[\"\\\#\;]* | *' =  '*) return 1 ;;
			'socket = '* | 'onError = '* | 'lastFor = '* | 'timeout = '* | 'judgeTimeout = '* | 'client = '*) found=$found${line%% = *}\ ${line#* = }$nl ;;
			*) return 1 ;;
			esac
			;;
		esac
	done <config
}
