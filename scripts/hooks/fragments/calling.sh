# Sets $ms to a number of seconds such as 1.25, in whole milliseconds.
milliseconds() {
	ms=000
	case $1 in
	*.*) ms=${1#*.}000 ;;
	esac
	ms=${ms%"${ms#???}"}
	ms=$((${1%%.*} * 1000 + 1$ms - 1000))
}

# Calls the gate with curl's arguments "$@" behind $1, the seconds that it may take. Sets $answer to all
# that came, and $head to what of it stands before the text; $status to the answer's, `none` where it has
# none that can be understood; $code to curl's exit status; and $took to the seconds that it took. The
# rate keeps an answer without an end small until the time is over.
call() {
	limit=$1
	shift
	{
		answer=$(
			become curl -q -s -i --noproxy '*' --unix-socket "$socket" --max-time "$limit" \
				--limit-rate 64k -w '\n%{time_total}' "$@" </dev/null
		)
		code=$?
	} 2>/dev/null
	took=${answer##*"$nl"}
	answer=${answer%"$took"}
	answer=${answer%"$nl"}
	# The ? stands for carriage returns.
	head=${answer%%"$nl"?"$nl"*}
	status=${head#HTTP/1.? }
	case $answer in
	HTTP/1.?\ [1-5][0-9][0-9]\ *"$nl"?"$nl"*) status=${status%% *} ;;
	*) status=none ;;
	esac
}

# The same, but that a connection which is refused, reset or closed without an answer is tried again until
# the time is over. A crowd of hooks does not come back all at once: the pauses grow, and no two
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

# Whether the connection was refused, reset or closed without an answer.
is_lost() {
	case $code in
	7 | 52 | 55 | 56) ;;
	*) return 1 ;;
	esac
	case $took in
	'' | .* | *. | *[!0-9.]* | *.*.*) return 1 ;;
	*) [ -z "$answer" ] ;;
	esac
}
