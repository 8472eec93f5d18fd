# Calls the gate. $1 are the seconds that it may take, $2 is the method, $3 what follows /v1/ in the address,
# and each further argument is a parameter NAME=VALUE. Sets $answer to all that came, and $head to what of it
# stands before the text; $status to the answer's, `none` where it has none that can be understood; $decision
# to the one in its head, or `none`; $code to an exit status as curl has them; and $took to the seconds that
# it took, `unknown` where find_took has to tell. The programs other than curl start more quickly. What they
# cannot do, curl does, and they are not tried twice.
call() {
	limit=$1
	method=$2
	address=/v1/$3
	shift 3
	code=127
	[ "$client" = curl ] || ! encode "$@" || call_quickly
	case $code in
	126 | 127)
		client=curl
		call_curl "$@"
		;;
	esac
	# The ? stands for carriage returns.
	head=${answer%%"$nl"?"$nl"*}
	status=${head#HTTP/1.? }
	case $answer in
	HTTP/1.?\ [1-5][0-9][0-9]\ *"$nl"?"$nl"*) status=${status%% *} ;;
	*) status=none ;;
	esac
	case $head$nl in
	*"$nl"[Xx]-[Ss]oftquota-[Dd]ecision:\ refused?"$nl"*) decision=refused ;;
	*"$nl"[Xx]-[Ss]oftquota-[Dd]ecision:\ allowed?"$nl"*) decision=allowed ;;
	*"$nl"[Xx]-[Ss]oftquota-[Dd]ecision:*) decision=unknown ;;
	*) decision=none ;;
	esac
}

# The rate keeps an answer without an end small until the time is over.
call_curl() {
	for parameter; do
		shift
		set -- "$@" --data-urlencode "$parameter"
	done
	[ "$method" = POST ] || set -- -G "$@"
	{
		answer=$(
			become curl -q -s -i --noproxy '*' --unix-socket "$socket" --max-time "$limit" --limit-rate 64k \
				-w '\n%{time_total}' -H 'Accept: text/plain' -H 'Expect:' "$@" "http://localhost$address" </dev/null
		)
		code=$?
	} 2>/dev/null
	took=${answer##*"$nl"}
	answer=${answer%"$took"}
	answer=${answer%"$nl"}
}

unreserved=ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._~-

# Sets $query to the parameters "$@". Returns 1 where one holds anything but printable characters that are
# usual in names: only curl encodes the others.
encode() {
	query=
	for parameter; do
		query=$query${query:+&}${parameter%%=*}=
		rest=${parameter#*=}
		while
			plain=${rest%%[!"$unreserved"]*}
			query=$query$plain
			rest=${rest#"$plain"}
			[ -n "$rest" ]
		do
			case $rest in
			' '*) query=$query%20 ;;
			'!'*) query=$query%21 ;;
			'#'*) query=$query%23 ;;
			'%'*) query=$query%25 ;;
			'&'*) query=$query%26 ;;
			"'"*) query=$query%27 ;;
			'('*) query=$query%28 ;;
			')'*) query=$query%29 ;;
			'+'*) query=$query%2B ;;
			','*) query=$query%2C ;;
			':'*) query=$query%3A ;;
			'='*) query=$query%3D ;;
			'@'*) query=$query%40 ;;
			'['*) query=$query%5B ;;
			\\*) query=$query%5C ;;
			']'*) query=$query%5D ;;
			*) return 1 ;;
			esac
			rest=${rest#?}
		done
	done
}

# shellcheck disable=SC1017 # a carriage return, which the shell gets nowhere else without a process
cr='@CR@'

# Asks by the program that installation found, with $query. It has no limit of its own that holds in every
# case (a full queue of connections, an answer that comes byte by byte), so that a sleep beside it ends it. An
# answer is cut off after 64 KiB. Leaves $code at 127 where the program cannot be used.
call_quickly() {
	clock || return 0
	began=$now
	length=
	[ "$method" = GET ] || length="Content-Length: 0$cr$nl"
	case $client in
	nc) set -- nc -U -W 4 "$socket" ;;
	socat)
		# To socat, other characters have a meaning.
		case $socket in
		*[!"$unreserved"]*) return 0 ;;
		esac
		set -- socat -b 16384 -t 60 - "UNIX-CONNECT:$socket,shut-none,readbytes=65536"
		;;
	esac
	{
		answer=$(ask_by "$@")
		code=$?
	} 2>/dev/null
	took=unknown
	# A line end that the shell took away.
	answer=$answer${answer:+$nl}
	case $code,$answer in
	126, | 127,) return 0 ;;
	137,*) code=28 ;;
	*,HTTP/*) code=0 ;;
	*,?*) code=1 ;;
	*) code=52 ;;
	esac
	# It may be cut into pieces, which curl puts together.
	case ${answer%%"$nl"?"$nl"*}$nl in
	*"$nl"[Tt]ransfer-[Ee]ncoding:*)
		answer=
		code=52
		;;
	esac
}

# Runs the program "$@", which prints the answer, and the sleep beside it; call it in a subshell. Shells give
# a program a text as short as this one through a pipe, without a process that writes it. Nobody waits for the
# guard, which ends by itself.
ask_by() {
	become "$@" <<END &
$method $address?$query HTTP/1.1$cr
Host: localhost$cr
Accept: text/plain$cr
${length}Connection: close$cr
$cr
END
	asker=$!
	end_late "$asker" &
	guard=$!
	wait "$asker"
	code=$?
	kill -USR1 "$guard"
	exit "$code"
}

# Kills the process $1 after $limit seconds; ends with all that it started when it is sent USR1. TERM may be
# ignored where git was started. A program that is about to start misses any signal but KILL. It holds nothing
# that somebody reads to its end.
end_late() {
	exec </dev/null >/dev/null
	trap 'kill -KILL $!; wait; exit' USR1
	become sleep "$limit" &
	wait $! || {
		# A sleep that takes no fractions takes whole seconds.
		become sleep "$((${limit%%.*} + 1))" &
		wait $!
	} && kill -KILL "$1"
}

# Sets $now to hundredths of a second since the system started. Returns 1 where nobody can tell.
clock() {
	[ -r /proc/uptime ] && IFS=' .' read -r now hundredths _ </proc/uptime || return 1
	case $now$hundredths in
	'' | *[!0-9]*) return 1 ;;
	esac
	now=$((now * 100 + 1$hundredths - 100))
}
