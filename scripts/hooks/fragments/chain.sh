have_input=no

# What git says on stdin, read when somebody first needs it. A program is started only for many refs: the
# shell reads byte by byte.
read_input() {
	[ "$have_input" = no ] || return 0
	input=
	lines=0
	while [ "$lines" -lt 16 ] && { IFS= read -r line || [ -n "$line" ]; }; do
		input=$input${input:+$nl}$line
		lines=$((lines + 1))
	done
	if [ "$lines" -eq 16 ]; then
		rest=$(become cat) || exit 1
		input=$input${rest:+$nl$rest}
	fi
	have_input=yes
}

# Whether the file runs the folder $name.d itself, as the hooks that forges install do.
runs_folder() {
	(become grep -q -e "$name\.d" -e '[$][^/]*\.d/' -e '[$]{0##\*/}"*\.d/' "$1")
}

# Runs one hook with the same input; $status keeps the first exit status other than 0.
run_hook() {
	[ -f "$1" ] && [ -x "$1" ] || return 0
	read_input
	hook=$1
	shift
	{ printf '%s' "${input:+$input$nl}" 2>/dev/null; } | "$hook" "$@"
	code=$?
	[ "$status" -ne 0 ] || status=$code
}

# Whether this hook was run out of hooks/$name.d, by a forge's hook or by ours.
is_in_folder() {
	case $0 in
	*/"$name.d"/*) return 0 ;;
	esac
	return 1
}

# Whether hooks/$name.d has this hook as well, which then does its work: a forge may replace this file, and
# leaves that folder alone. Only the repository's own hook leaves it the work: a hook of the whole server, by
# core.hooksPath, does not trust what somebody put into a repository.
is_doubled() {
	case $0 in
	"hooks/$name" | "./hooks/$name" | "$PWD/hooks/$name") ;;
	*) return 1 ;;
	esac
	double=hooks/$name.d/00-softquota
	[ -f "$double" ] && [ -x "$double" ] && (become grep -q "^# softquota hook: $name\$" "$double")
}

# Runs all of the repository's hooks/$name.d and, where this hook is not itself the
# repository's, that one too.
run_others() {
	status=0
	# Whoever runs that folder ran this hook out of it, and runs the others.
	! is_in_folder || return 0
	case $0 in
	# Gogs runs it out of its own hooks/$name.
	*/custom_hooks/"$name" | custom_hooks/"$name")
		for each in "$0.d"/*; do
			run_hook "$each" "$@"
		done
		return "$status"
		;;
	esac
	own=hooks/$name
	if [ "$0" = "$own" ] || ! [ -f "$own" ] || (become grep -q '^# softquota hook: ' "$own"); then
		own=
	elif [ -x "$own" ] && runs_folder "$own"; then
		run_hook "$own" "$@"
		return "$status"
	fi
	for each in "hooks/$name.d"/*; do
		run_hook "$each" "$@"
	done
	[ -z "$own" ] || run_hook "$own" "$@"
	return "$status"
}
