#!/bin/sh
# softquota hook: upload OWNER SUBJECT [SIZE]
#                 upload --done [--socket SOCKET] OWNER SUBJECT BYTES
#                 upload --done PATH
#
# For upload handlers. Before an upload it asks the daemon whether an owner may store more of a kind of data.
# With --done, after it, it reports what came.
#
# In:   OWNER, a user or an organization; SUBJECT, such as size:git:lfs; SIZE, the bytes that
#       are about to be added, where they are known; BYTES, the bytes that came, or with - before them that went;
#       SOCKET, the daemon's [server] TRUSTED_SOCKET, which is trusted.sock beside the gate's socket unless given:
#       only trusted programs may report bytes. PATH, the absolute path of what changed: the daemon measures it
#       soon. Whoever may ask may report a path.
# Out:  on stderr, for people: why the upload is refused, a warning, that the quota could not be
#       checked, or that the report was not taken. Nothing on stdout.
# Exit: 0 the upload may start, or the report was taken; 1 the upload may not start (as the daemon, the list that it
#       last published, or onError = deny says), the report was not taken, or the arguments are wrong.

# shellcheck disable=SC2034 # settings that only pre-receive uses
set -u
conf=/etc/softquota/hook.conf
nl='
'
tab='	'

# fragment: settings

# fragment: calling

# fragment: calling-again

# fragment: asking

usage='expected: upload OWNER SUBJECT [SIZE], upload --done [--socket SOCKET] OWNER SUBJECT BYTES, or upload --done PATH, where sizes are whole numbers of bytes'

wrong() {
	say "$usage"
	exit 1
}

# Ends the hook where $1 is no whole number.
need_whole() {
	case $1 in
	'' | *[!0-9]*) wrong ;;
	esac
}

# Reports to the daemon with the parameters "$@". A report of bytes must not arrive twice: it is sent again
# only where nobody was there to take it, which only curl tells.
report() {
	call_again "$timeout" POST changed "$@"
	[ -z "$fault" ] || say "error in the hook's settings: $fault. Please tell the administrator."
	case $status in
	202) exit 0 ;;
	none) say "this upload could not be reported: no answer at $socket." ;;
	*)
		say "this upload could not be reported: the answer was $status."
		text=$(printf '%s' "${answer#*"$nl"?"$nl"}" | printable)
		[ -z "$text" ] || show "$text"
		;;
	esac
	exit 1
}

if [ "${1-}" = --done ]; then
	shift
	read_conf
	case $#,${1-} in
	1,/*) report "path=$1" ;;
	3,* | 5,--socket) ;;
	*) wrong ;;
	esac
	socket=${socket%/*}/trusted.sock
	if [ $# -eq 5 ]; then
		take socket "$2"
		[ "$socket" = "$2" ] || wrong
		shift 2
	fi
	need_whole "${3#-}"
	client=curl
	repeatable=no
	report "owner=$1" "subject=$2" "delta=$3"
fi
case $# in
2 | 3) need_whole "${3-0}" ;;
*) wrong ;;
esac
read_conf
ask 'this upload' "owner$tab$1$tab$2$tab" "owner=$1" "subject=$2" ${3:+"size=$3"}
verdict=$?
tell_answer
exit "$verdict"
