# Sets $ms to a number of seconds such as 1.25, in whole milliseconds.
milliseconds() {
	ms=000
	case $1 in
	*.*) ms=${1#*.}000 ;;
	esac
	ms=${ms%"${ms#???}"}
	ms=$((${1%%.*} * 1000 + 1$ms - 1000))
}

# Does the same as call, but a connection that is refused, reset or closed without an answer is tried again
# until the time is over.
call_again() {
	call "$@"
	call_until_answered "$@"
}

# Goes on behind a first call with the same arguments. A crowd of hooks does not come back all at once: the
# pauses grow, and no two processes begin with the same.
call_until_answered() {
	milliseconds "$1"
	left=$ms
	shift
	pause=$((100 + $$ % 50))
	while is_lost; do
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
		call "$((left / 1000)).$((left % 1000 / 100))$((left % 100 / 10))$((left % 10))" "$@"
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
	[ "$took" != unknown ] || find_took
	case $took in
	'' | .* | *. | *[!0-9.]* | *.*.*) return 1 ;;
	*) [ -z "$answer" ] ;;
	esac
}

# Sets $took to the seconds since the call began.
find_took() {
	clock || now=$((began + 100000))
	took=$((now - began))
	took=$((took / 100)).$((took % 100 / 10))$((took % 10))
}
