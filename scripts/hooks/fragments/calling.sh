# Sets $ms to a number of seconds such as 1.25, in whole milliseconds.
milliseconds() {
	ms=000
	case $1 in
	*.*) ms=${1#*.}000 ;;
	esac
	ms=${ms%"${ms#???}"}
	ms=$((${1%%.*} * 1000 + 1$ms - 1000))
}

# Calls the gate. $1 are the seconds that it may take, $2 is the method, $3 what follows /v1/ in the address,
# and each further argument is a parameter NAME=VALUE. Sets $answer to all that came, and $head to what of it
# stands before the text; $status to the answer's, `none` where it has none that can be understood; $code to
# an exit status as curl has them; and $took to the seconds that it took. The programs other than curl start
# more quickly. What they cannot do, curl does, and they are not tried twice.
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

# Asks by the program that installation found, with $query. It has no limit of its own that holds in every
# case (a full queue of connections, an answer that comes byte by byte), so that a sleep beside it ends it. An
# answer is cut off after 64 KiB. Leaves $code at 127 where the program cannot be used.
call_quickly() {
	clock || return 0
	began=$now
	length=
	[ "$method" = GET ] || length='Content-Length: 0\r\n'
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
		answer=$(
			printf '%s %s?%s HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain\r\n%bConnection: close\r\n\r\n' \
				"$method" "$address" "$query" "$length" | become "$@" &
			asker=$!
			end_late "$asker" </dev/null >/dev/null &
			guard=$!
			wait "$asker"
			code=$?
			kill -USR1 "$guard"
			wait "$guard"
			exit "$code"
		)
		code=$?
	} 2>/dev/null
	clock || now=$((began + 100000))
	began=$((now - began))
	took=$((began / 100)).$((began % 100 / 10))$((began % 10))
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

# Kills the process $1 after $limit seconds; ends with all that it started when it is sent USR1. TERM may be
# ignored where git was started. A program that is about to start misses any signal but KILL.
end_late() {
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
	{ IFS=' .' read -r now hundredths _ </proc/uptime; } 2>/dev/null || return 1
	case $now$hundredths in
	'' | *[!0-9]*) return 1 ;;
	esac
	now=$((now * 100 + 1$hundredths - 100))
}

# Does the same as call, but a connection that is refused, reset or closed without an answer is tried again
# until the time is over. A crowd of hooks does not come back all at once: the pauses grow, and no two
# processes begin with the same.
call_again() {
	milliseconds "$1"
	left=$ms
	shift
	pause=$((100 + $$ % 50))
	while
		call "$((left / 1000)).$((left % 1000 / 100))$((left % 100 / 10))$((left % 10))" "$@"
		is_lost
	do
		client=curl
		milliseconds "$took"
		# Another 10 for the programs to be started.
		left=$((left - ms - pause - 10))
		[ "$left" -ge 100 ] || return
		# A sleep that takes no fractions takes whole seconds.
		(become sleep "0.$pause") 2>/dev/null || {
			(become sleep 1)
			left=$((left - 1000 + pause))
			[ "$left" -ge 100 ] || return
		}
		[ "$pause" -ge 400 ] || pause=$((pause * 2))
	done
}

# The call may arrive twice.
repeatable=yes

# Returns 0 if the connection was refused, reset or closed without an answer; where the call may arrive only
# once, whether it was refused.
is_lost() {
	case $code,$repeatable in
	7,* | 52,yes | 55,yes | 56,yes) ;;
	*) return 1 ;;
	esac
	case $took in
	'' | .* | *. | *[!0-9.]* | *.*.*) return 1 ;;
	*) [ -z "$answer" ] ;;
	esac
}
