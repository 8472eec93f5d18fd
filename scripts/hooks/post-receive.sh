#!/bin/sh
# softquota hook: post-receive
#
# Tells the daemon that this repository has changed, so that it is measured again soon.
#
# In:   on stdin a line "OLD NEW REF" for each ref; the working directory is the repository.
# Out:  nothing: the push is done, and a daemon that is away measures at its next sweep.
# Exit: 0; else the first status other than 0 of the hooks after this one.
#
# git runs it, or a stub in the repository reads it. `softquota hooks install` replaces both. Hooks of your
# own go into the repository's hooks/post-receive.d/; they run after this one.

# shellcheck disable=SC2034 # settings that only the asking hooks use
set -u
name=post-receive
conf=/etc/softquota/hook.conf
nl='
'

# fragment: settings

# fragment: repository-settings

# fragment: calling

# fragment: calling-again

# fragment: telling

# fragment: chain

# fragment: sizing

# fragment: promise

# Forgets the promise of a push once git has done all of it: the next one is held to nothing then, also where the
# same objects take more after they are packed again.
end_promise() {
	[ -f "$promise" ] && list_refs become || return 0
	read -r _ _ _ promised <"$promise"
	[ "$(name_refs "$refs")" != "$promised" ] || (become rm -f -- "$promise")
}

# Runs last, in one piece: a file of which only a part is there runs nothing, and the stub that reads it
# notices that.
main() {
	trap - EXIT
	if is_doubled; then
		run_others "$@"
		exit $?
	fi
	read_input
	end_promise
	# Nobody waits for this: it goes on behind the push, and ends by itself. Settings that cannot be taken were
	# told before the push. What was decided without the daemon is told where it takes this.
	(
		let_go
		read_conf || read_repository
		name_push
		cd -P . || exit 1
		tell_change
		[ "$status" != 202 ] || tell_record
	) &
	run_others "$@"
	exit $?
}
main "$@"
