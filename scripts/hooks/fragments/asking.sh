# GitLab shows the lines with its prefix in the browser, too.
prefix=
# Another line to look up where the daemon cannot be asked.
other_line=

# Writes a line of the hook's own for the person.
say() {
	printf '%ssoftquota: %s\n' "$prefix" "$1" >&2
}

# Writes lines for the person that are printable already.
show() {
	if [ -z "$prefix" ]; then
		printf '%s\n' "$1" >&2
	else
		printf '%s\n' "$1" | (become sed "s/^/$prefix/") >&2
	fi
}

# Passes on at most 20 lines of 1,000 bytes, and of them only printable characters, newlines and
# well-formed UTF-8. Byte by byte: every well-formed character beyond ASCII is put between the
# bytes 1 and 2, which are free once the controls are gone; high bytes outside such a pair
# belong to no character; last go the C1 and bidirectional controls and line separators,
# which nothing can put together again since no stray byte is left.
printable() {
	# shellcheck disable=SC2016 # the $ is sed's
	become sed -e "$(printf '
		21,$d
		s/[\001-\037\177]//g
		s/^\\(\\(.\\{250\\}\\)\\{4\\}\\).*/\\1/
		s/[\302-\337][\200-\277]/\001&\002/g
		s/\340[\240-\277][\200-\277]/\001&\002/g
		s/[\341-\354\356\357][\200-\277][\200-\277]/\001&\002/g
		s/\355[\200-\237][\200-\277]/\001&\002/g
		s/\360[\220-\277][\200-\277][\200-\277]/\001&\002/g
		s/[\361-\363][\200-\277][\200-\277][\200-\277]/\001&\002/g
		s/\364[\200-\217][\200-\277][\200-\277]/\001&\002/g
		s/^[\200-\377]*//
		s/\\([^\001\200-\377]\\)[\200-\377]*/\\1/g
		s/\001\302[\200-\237]\002//g
		s/\001\330\234\002//g
		s/\001\342\200[\216\217\250-\256]\002//g
		s/\001\342\201[\246-\251]\002//g
		s/[\001\002]//g
	')"
}

# Looks up $1 in the list that the daemon last published beside its socket. $1 is the beginning of a
# line, up to and including the tab before the reason. Sets $as_of to the time of publication and
# $refusal to the reason, which is empty if there is no such line. Returns 1, and sets $unknown, if
# the list cannot be used: nobody but the daemon may be able to change it, and it must not be older
# than lastFor. A list from the future, written by a wrong clock, would be valid for twice as long.
look_up_last() {
	as_of=
	refusal=
	published=${socket%.sock}.refused
	if ! [ -e "$published" ]; then
		unknown='no earlier list of refused owners exists'
		return 1
	fi
	if ! [ -r "$published" ] ||
		[ -z "$(become find "$published" -prune -type f ! -perm -020 ! -perm -002)" ] ||
		[ -z "$(become find "${published%/*}/." -prune ! -perm -020 ! -perm -002)" ]; then
		unknown='the earlier list of refused owners cannot be trusted'
		return 1
	fi
	hours=${last_for%[hd]}
	case $last_for in
	*d) hours=$((hours * 24)) ;;
	esac
	now=$(become date -u +%Y-%m-%dT%H:%M:%SZ)
	# Lines are compared as they are, byte by byte: nothing in them or in $1 is a pattern.
	# shellcheck disable=SC2016 # the $ is awk's
	found=$(
		export softquota_line="$1" softquota_now="$now" softquota_hours="$hours"
		become awk '
			# The hours from some day long ago to a time such as 2026-11-21T09:14:03Z.
			function hours(time, year, month) {
				year = substr(time, 1, 4) + 0
				month = substr(time, 6, 2) + 0
				if (month < 3) { year--; month += 12 }
				return 24 * (365 * year + int(year / 4) - int(year / 100) + int(year / 400) + \
					int((153 * month - 457) / 5) + substr(time, 9, 2)) + substr(time, 12, 2) + \
					substr(time, 15, 2) / 60 + substr(time, 18, 2) / 3600
			}
			BEGIN { FS = "\t"; line = ENVIRON["softquota_line"]; size = length(line) }
			NR == 1 {
				if ($1 != "softquota refused" || $2 != "1") exit
				print $3
				age = hours(ENVIRON["softquota_now"]) - hours($3)
				if (age > ENVIRON["softquota_hours"] || -age > ENVIRON["softquota_hours"]) exit 3
				if ($4 == "CASE=fold" && substr(line, 1, 6) == "owner\t") line = tolower(line)
				next
			}
			substr($0, 1, size) == line { print substr($0, size + 1); exit }
		' "$published"
	)
	old=$?
	as_of=${found%%"$nl"*}
	case $as_of in
	[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]Z) ;;
	*)
		unknown='the earlier list of refused owners cannot be read'
		return 1
		;;
	esac
	if [ "$old" -eq 3 ]; then
		unknown="the earlier list of refused owners is older than $last_for"
		return 1
	fi
	[ "$found" = "$as_of" ] || refusal=$(printf '%s\n' "${found#*"$nl"}" | printable)
}

# Looks up $line, and $other_line where the list has no refusal for the first.
look_up_both() {
	look_up_last "$line" || return
	[ -n "$refusal" ] || [ -z "$other_line" ] || look_up_last "$other_line"
}

# Makes the offline decision about $thing that onError asks for. $line is what look_up_both begins with. Sets
# $offline to the decision, $notice to it in one line, and $text to the reason if one is known.
decide_offline() {
	offline='let through'
	case $on_error in
	allow) notice="the quota could not be checked ($why), so $thing is allowed." ;;
	deny)
		offline=refused
		notice="the quota could not be checked ($why), so $thing is refused. Try again later."
		;;
	last)
		if ! look_up_both; then
			notice="the quota could not be checked ($why), and $unknown, so $thing is allowed."
		elif [ -n "$refusal" ]; then
			offline=refused
			text=$refusal
			notice="the quota could not be checked ($why); according to the list of $as_of, $thing is refused."
		else
			notice="the quota could not be checked ($why); according to the list of $as_of, $thing is allowed."
		fi
		;;
	esac
	[ "$offline" = 'let through' ]
}

# Asks the gate with the parameters "$@" (NAME=VALUE) about $1, such as "this push". Returns 0 if it may go
# on, else 1; tell_answer shows why. $2 is the line that decide_offline looks up. If the daemon did not
# decide, $offline is the decision, else it is empty.
ask() {
	thing=$1
	line=$2
	shift 2
	call "$timeout" GET check "$@"
	settle "$@"
}

# Goes on behind a first call with the parameters "$@", about $thing, with $line. The text is only shown.
settle() {
	offline=
	text=
	notice=
	call_until_answered "$timeout" GET check "$@"
	[ -z "$fault" ] || say "error in the hook's settings: $fault. Please tell the administrator."
	case $status,$decision in
	413,refused | 200,allowed)
		text=${answer#*"$nl"?"$nl"}
		[ -z "$text" ] || text=$(printf '%s' "$text" | printable)
		[ "$text$decision" != refused ] || text='Quota exceeded.'
		[ "$decision" = allowed ]
		return
		;;
	404,none) return 0 ;;
	none,*)
		case $code in
		0) why='the answer cannot be understood' ;;
		28) why="no answer within $timeout s" ;;
		126 | 127) why='curl cannot be run' ;;
		*) why='the daemon does not answer' ;;
		esac
		;;
	*) why="the answer was $status" ;;
	esac
	decide_offline
}

# Shows the person the answer that ask got.
tell_answer() {
	[ -z "$text" ] || show "$text"
	[ -z "$notice" ] || say "$notice"
}
