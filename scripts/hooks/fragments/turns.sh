# A push that is judged by what stays has its turn: no other may make the repository smaller meanwhile.

# Hundredths of a second since the system started; empty: each step may take judgeTimeout.
judge_until=

# After a push that the quota allows, nothing that was promised counts any more.
forget_promises() {
	[ -f "$promise" ] || [ -f "$under_way" ] || return 0
	(become rm -f -- "$promise" "$under_way")
}

# Files that the hook writes are for everybody who may write the repository.
share_as_repository() {
	umask 022
	[ -z "$(become find . -prune -perm -020)" ] || umask 002
}

# Returns 0 while a push is under way so: as long as git's process lives that takes it. Where that is not
# known, or elsewhere, it is for a minute.
has_turn() {
	[ -f "$under_way" ] || return 1
	find_host
	holder=
	process=
	{ IFS=' ' read -r holder space process <"$under_way"; } 2>/dev/null
	holder="$holder ${space-}"
	if [ "$holder" = "$host" ] && [ "${process:-0}" != 0 ]; then
		read_process "$process" && is_git
	else
		[ -n "$(become find "$under_way" -mmin -1 2>/dev/null)" ]
	fi
}

# Sets $host to this host since it started, and the space of its process numbers: containers may share a disk.
find_host() {
	host=
	{ read -r host </proc/sys/kernel/random/boot_id; } 2>/dev/null
	host="${host:-unknown} $(become readlink /proc/self/ns/pid 2>/dev/null)"
	host=${host% }
	case $host in
	*' '*) ;;
	*) host="$host -" ;;
	esac
}

# Sets $program to the name of the process $1, and $above to the process that started it. Returns 1 where it is
# gone.
read_process() {
	program=
	above=
	[ -r "/proc/$1/status" ] || return 1
	while IFS='	 ' read -r key value; do
		case $key in
		Name:) program=$value ;;
		PPid:) above=$value && break ;;
		esac
	done 2>/dev/null <"/proc/$1/status"
	[ -n "$above" ]
}

# Returns 0 if $program takes pushes: a number of a process that has ended may be another's.
is_git() {
	case $program in
	git | git-receive-p*) return 0 ;;
	esac
	return 1
}

# Returns 0 if the objects $1 reach anything that the options behind it, or ^OBJECT among them, leave out.
# Where git cannot tell, they do.
reaches_more() {
	objects=$1
	shift
	found=$(
		{ bounded "$objects" git --no-replace-objects rev-list --objects --stdin "$@" || echo unknown; } |
			become head -n 1
	)
	[ -n "$found" ]
}

# Runs a program of the system with the text $1 on stdin, and ends it when judgeTimeout is over. Returns its
# status.
bounded() {
	fed=$1
	shift
	limit=$judge_timeout
	if [ -n "$judge_until" ] && clock; then
		left=$((judge_until - now))
		[ "$left" -gt 0 ] || return 1
		limit=$((left / 100)).$((left % 100 / 10))$((left % 10))
	fi
	{
		printf '%s\n' "$fed" | become "$@" &
		asker=$!
		end_late "$asker" </dev/null >/dev/null &
		guard=$!
		wait "$asker"
		code=$?
		kill -USR1 "$guard"
		wait "$guard"
	} 2>/dev/null
	return "$code"
}
