socket=/run/softquota/gate.sock
on_error=last
last_for=24h
timeout=2
judge_timeout=2
client=curl
fault=

# Becomes a program of the system; call it in a subshell. Where several people push through
# one account, some of them may choose parts of the environment: nothing of it decides what
# the program does. The system's folders come first in PATH; what follows is what git itself
# is found by. Push options go because they can fill the environment so far that no further
# program starts.
become() {
	n=0
	while eval "[ -n \"\${GIT_PUSH_OPTION_$n+set}\" ]"; do
		unset "GIT_PUSH_OPTION_$n"
		n=$((n + 1))
	done
	unset GIT_CONFIG GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_GRAFT_FILE GIT_SHALLOW_FILE GIT_TRACE GIT_TRACE_SETUP GIT_TRACE2 \
		GIT_TRACE2_EVENT GIT_TRACE2_PERF OPENSSL_CONF OPENSSL_ENGINES OPENSSL_MODULES SSLKEYLOGFILE \
		SOCAT_MAIN_WAIT SOCAT_TRANSFER_WAIT
	export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null LC_ALL=C
	export PATH="/usr/local/bin:/usr/bin:/bin:$PATH"
	exec "$@"
}

# Takes one setting. A wrong one leaves the default in force, and is reported.
take() {
	case $1 in
	socket)
		case $2 in
		*[[:cntrl:]]*) fault='socket contains a control character' ;;
		/*) socket=$2 ;;
		*) fault='socket is not an absolute path' ;;
		esac
		;;
	onError | onerror)
		case $2 in
		allow | deny | last) on_error=$2 ;;
		*) fault='onError is not allow, deny or last' ;;
		esac
		;;
	lastFor | lastfor)
		case $2 in
		[1-9][hd] | [1-9][0-9][hd] | [1-9][0-9][0-9][hd]) last_for=$2 ;;
		*) fault='lastFor is not a number of hours or days such as 24h' ;;
		esac
		;;
	timeout)
		# curl has no limit at all if the value rounds to 0 milliseconds, hence the lower bound.
		! is_seconds timeout "$2" || timeout=$2
		;;
	judgeTimeout | judgetimeout) ! is_seconds judgeTimeout "$2" || judge_timeout=$2 ;;
	client)
		case $2 in
		curl | nc | socat) client=$2 ;;
		*) fault='client is not curl, nc or socat' ;;
		esac
		;;
	*) fault='a line does not begin with socket=, onError=, lastFor=, timeout=, judgeTimeout= or client=' ;;
	esac
}

# Returns 0 if $2, the setting $1, is a number of seconds from 0.1 to 60; else sets $fault.
is_seconds() {
	case $2 in
	*[!0-9.]* | *.*.* | *.) ;;
	0.[1-9]* | [1-9] | [1-9].* | [1-5][0-9] | [1-5][0-9].* | 60) return 0 ;;
	esac
	fault="$1 is not a number of seconds from 0.1 to 60"
	return 1
}

# From hook.conf, if it exists and only root can have written it: KEY = VALUE a line, and
# lines of comment beginning with #.
read_conf() {
	[ -e "$conf" ] || return 1
	if ! [ -r "$conf" ] ||
		[ -z "$(become find -L "$conf" -prune -type f -user 0 ! -perm -020 ! -perm -002)" ]; then
		fault="$conf is not a file that everybody can read and only root can write"
		return 1
	fi
	while IFS='= 	' read -r key value || [ -n "$key" ]; do
		case $key in
		'' | '#'*) ;;
		*) take "$key" "$value" ;;
		esac
	done <"$conf"
}
