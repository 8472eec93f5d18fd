# Sets $push to a name of this push if the daemon counts sizes, else to nothing: the first ref that is
# written, and what it is set to. pre-receive and post-receive are told the same refs, in the same order. The
# daemon keeps a file beside its socket while it counts sizes, so that nobody else has to measure.
name_push() {
	push=
	[ -e "${socket%.sock}.sizes" ] || return 0
	read_input
	push=${input%%"$nl"*}
	push=${push#* }
	case ${push#* } in
	*[!A-Za-z0-9/._-]*) push=${push%% *}-${#push} ;;
	*) push=${push%% *}-${push#* } ;;
	esac
	[ ${#push} -le 200 ] || push=${push%%-*}-${#push}
}
