# Lets go of all descriptors that git, or who started git, left open: call it in a subshell that goes on
# behind the push.
let_go() {
	exec </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
}

# The name of this push, if the daemon keeps room for it.
push=

# Tells the daemon that the repository has changed, and that the push is over. The repository is the working
# directory, named by its physical path. Run it in the background: it tries for up to ten seconds. Sets what
# call sets.
tell_change() {
	call_again 10 POST changed "path=$PWD" ${push:+"push=$push"}
}

# The record of offline decisions in the repository: for each of them a line with TIME, "let through" or
# "refused", REASON and ACTOR, separated by tabs. It is only a record: everybody who can write the
# repository can write it too.
record=softquota-offline

# Sends the record to the daemon, if there is one. Run it in the background, and only after the daemon
# has just answered. The record has another name meanwhile, so that no line is sent twice. If it cannot
# be sent, it is put back, unless it would then be longer than the gate accepts.
tell_record() {
	[ -f "$record" ] && ! [ -h "$record" ] || return 0
	told=$record.$$
	(become mv -- "$record" "$told") || return 0
	# Only curl sends a file.
	client=curl
	call 10 POST offline-decisions "path=$PWD" "lines@$told"
	if [ "$status" != 202 ] && ! (become ln -- "$told" "$record") &&
		[ -z "$(become find "$record" "$told" -prune \( ! -type f -o -size +16 \))" ]; then
		(become cat -- "$told" >>"$record")
	fi
	(become rm -f -- "$told")
}
