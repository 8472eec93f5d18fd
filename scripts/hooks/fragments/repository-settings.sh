# From the repository's own config file: no other is read, no include followed.
read_repository() {
	found=$(become git config --file config --get-regexp '^softquota\.(socket|onerror|lastfor|timeout)$' 2>/dev/null)
	case $? in
	0 | 1) ;;
	*) fault="the repository's configuration cannot be read" ;;
	esac
	set -f
	IFS=$nl
	for line in $found; do
		key=${line%% *}
		take "${key#softquota.}" "${line#* }"
	done
	unset IFS
	set +f
}
