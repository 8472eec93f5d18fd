# Tells the daemon that the repository has changed, which is the working directory by its physical path.
# Nobody is to wait for this: it is tried again for ten seconds. Sets what call sets.
tell_change() {
	call_again 10 -H 'Expect:' --data-urlencode "path=$PWD" http://localhost/v1/changed
}

# In the repository: a line "TIME, let through or refused, REASON, ACTOR" with tabs between for each
# push that was decided without the daemon. It is a record and no more: whoever can write the
# repository can write it too.
record=softquota-offline

# Hands the record over, where there is one. To be run behind the push, and only where the daemon
# has just answered. The record is out of the way while it is told, so that none is told twice.
# What could not be told is put back, unless that would make it longer than the gate takes.
tell_record() {
	[ -f "$record" ] && ! [ -h "$record" ] || return 0
	told=$record.$$
	(become mv -- "$record" "$told") || return 0
	call 10 -H 'Expect:' --data-urlencode "path=$PWD" --data-urlencode "lines@$told" http://localhost/v1/offline-decisions
	if [ "$status" != 202 ] && ! (become ln -- "$told" "$record") &&
		[ -z "$(become find "$record" "$told" -prune \( ! -type f -o -size +16 \))" ]; then
		(become cat -- "$told" >>"$record")
	fi
	(become rm -f -- "$told")
}
