# The promise of the last push that went on although the quota is exceeded: a line with the bytes that would stay,
# with those that it was itself held to, with those that there were before the first such push, and with a name
# of all refs as they would be; then a line OLD NEW REF for each of its refs.
promise=softquota-promise

# Sets $refs to a line OBJECT REF for each ref, with a third word for a symbolic one, and for a detached HEAD;
# $detached to the last, and $head to the branch else. What is behind the function runs git.
list_refs() {
	listed=$("$@" git for-each-ref --format='%(objectname) %(refname) %(if)%(symref)%(then)=%(end)') || return 1
	detached=
	head=$(become git symbolic-ref -q HEAD) || detached="$(become git rev-parse -q --verify HEAD) HEAD"
	refs=$listed${listed:+${detached:+$nl}}$detached
}

# Prints a name of the list $1, whatever its order and without symbolic refs.
name_refs() {
	# shellcheck disable=SC2016 # the $ are awk's
	printf '%s\n' "$1" | (become awk 'NF == 2 { print $1, $2 }') | (become sort) | (become git hash-object --stdin)
}
