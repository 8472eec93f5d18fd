#!/bin/sh
# softquota hook: pre-receive
#
# Asks the daemon, before git takes a push, whether the repository's owner may store more.
#
# In:   on stdin a line "OLD NEW REF" for each ref; the working directory is the repository;
#       GIT_QUARANTINE_PATH is where git holds the objects of the push. With the argument --early,
#       before these have come: it asks whatever the push brings, and runs no other hook.
# Out:  on stderr what the person who pushes should read: why it is refused, a warning, or
#       that the quota could not be checked. Nothing on stdout.
# Exit: 0 the push goes on; 1 it is refused: by the quota, by what the daemon last published, because
#       nobody could tell and onError is deny, or because the name of a ref is too deep; else the first
#       status other than 0 of the hooks after this one.
#
# git runs it, or a stub in the repository reads it. `softquota hooks install` replaces both. Hooks of your
# own go into the repository's hooks/pre-receive.d/; they run after this one.

set -u
name=pre-receive
conf=/etc/softquota/hook.conf
nl='
'
tab='	'

# fragment: settings

# fragment: repository-settings

# fragment: calling

# fragment: chain

# fragment: promise

# The push that is under way and judged by what stays: a line with the host since it started, its space of
# process numbers, and the number of git's process, 0 where it is not known.
under_way=softquota-judging

# Whether git holds objects of this push. A pack is named after the hash of its bytes: these
# two names are those of the pack that holds no object, by SHA-1 and by SHA-256.
brings_objects() {
	[ -d "$GIT_QUARANTINE_PATH/pack" ] || return 0
	for entry in "$GIT_QUARANTINE_PATH"/* "$GIT_QUARANTINE_PATH"/pack/*.pack; do
		case ${entry##*/} in
		pack | '*.pack') ;;
		pack-029d08823bd8a8eab510ad6ac75c823cfd3ed31e.pack) ;;
		pack-7ed890d8a45760f3eecf73045b1d1047085af4776dc683d78eac82203df1993f.pack) ;;
		*) return 0 ;;
		esac
	done
	return 1
}

# Reads what becomes of the refs, and sets $created and $updated to how many; $characters, which the names of
# the created ones have together; $nested to yes where one of these has more than ten levels; $deep to a name
# of more than 50 levels that is to be written; $pulls to yes where all are refs/pull/NUMBER/head; and $judges
# to yes where one is deleted or updated, so that the push may make the repository smaller. No program runs
# for a ref, and no pattern is matched that could try one way after the other.
read_refs() {
	read_input
	zeros=0000000000000000000000000000000000000000
	created=0
	updated=0
	characters=0
	nested=no
	deep=
	pulls=yes
	[ "$lines" -gt 0 ] || pulls=no
	set -f
	IFS=$nl
	for line in $input; do
		IFS=' /'
		# shellcheck disable=SC2086 # split on purpose: OLD, NEW, and the name's levels
		set -- $line
		case ${3-}/${4-}/${6-}/$#,${5-} in
		refs/pull/head/6,*[!0-9]* | refs/pull/head/6,) pulls=no ;;
		refs/pull/head/6,*) ;;
		*) pulls=no ;;
		esac
		case ${2-} in
		"$zeros"*)
			judges=yes
			continue
			;;
		esac
		if [ $# -gt 52 ]; then
			deep=${line#* * }
			break
		fi
		case $1 in
		"$zeros"*)
			created=$((created + 1))
			characters=$((characters + ${#line} - ${#1} - ${#2} - 2))
			[ $# -le 12 ] || nested=yes
			;;
		*)
			updated=$((updated + 1))
			judges=yes
			;;
		esac
	done
	unset IFS
	set +f
}

# Returns 0 for a push of Gitea or Forgejo itself: opening a pull request from a fork pushes
# refs/pull/NUMBER/head into the repository, and whoever opens it stores nothing of their own there. Neither
# the refs nor the variable are enough alone, and the variable counts only where the forge's hook runs this
# one: the forge's file lies beside it.
is_internal() {
	[ "$pulls" = yes ] && [ "${GITEA_INTERNAL_PUSH-}" = true ] && is_in_folder && [ -f "${0%/*}/gitea" ]
}

# Sets $grows to yes if the push makes the repository grow: it brings objects, or creates more than a hundred
# refs, each of which is a file, or refs with long names; to maybe if it only writes refs; else to no. Only a
# push of nothing but deletions has no quarantine, unless git is older than 2.11, which has none at all.
read_growth() {
	grows=no
	! is_internal || return 0
	[ $((created + updated)) -eq 0 ] || grows=maybe
	if [ -z "${GIT_QUARANTINE_PATH-}" ]; then
		[ "$grows" = no ] || grows=yes
	elif brings_objects; then
		grows=yes
	fi
	if [ "$created" -gt 100 ] || [ "$nested" = yes ] || [ "$characters" -gt 1000 ]; then
		grows=yes
	fi
}

# Sets $who to the user who pushes, for the record; no decision depends on it. sshd sets LOGNAME and
# SSH_CONNECTION after what a client sends; a web server sets REMOTE_USER, and a request cannot; gitolite,
# Gitea and Forgejo, Gogs, GitLab and soft-serve set a variable of their own, beside one for the repository. A
# name that the gate would not accept is left out.
actor() {
	who=${LOGNAME-}
	[ -n "${SSH_CONNECTION-}" ] || who=${REMOTE_USER:-$who}
	[ -z "${GL_REPO-}" ] || who=${GL_USER:-$who}
	[ -z "${GITEA_REPO_NAME-}" ] || who=${GITEA_PUSHER_NAME:-$who}
	[ -z "${GOGS_REPO_NAME-}" ] || who=${GOGS_AUTH_USER_NAME:-$who}
	[ -z "${GL_REPOSITORY-}" ] || who=${GL_USERNAME:-$who}
	[ -z "${SOFT_SERVE_REPO_NAME-}" ] || who=${SOFT_SERVE_USERNAME:-$who}
	case $who in
	*[!A-Za-z0-9._@+\\/=\ -]*) who= ;;
	esac
	[ ${#who} -le 255 ] || who=
}

# Reads the settings, and all that the daemon is asked with.
prepare() {
	read_conf || read_repository
	actor
	cd -P . || exit 1
}

# Returns 0 if the daemon lets the push go on without a word, and nothing is to be done about earlier ones.
is_plain() {
	[ "$status,$decision,$fault" = 200,allowed, ] && [ -z "${answer#*"$nl"?"$nl"}" ] &&
		! [ -f "$promise" ] && ! [ -f "$under_way" ]
}

# Ends here where the push is allowed and there is nothing to say; else it returns, with what it found out so
# far.
pass_plainly() {
	early=no
	judges=
	deep=
	grows=no
	asked=no
	decision=none
	ended=
	if [ "${1-}" = --early ]; then
		early=yes
		grows=yes
	elif ! is_doubled; then
		read_refs
		read_growth
	fi
	[ -z "$deep" ] && [ "$grows" != maybe ] || return 0
	if [ "$grows" = yes ]; then
		prepare
		[ "$early" = yes ] || ! [ -e "${socket%.sock}.sizes" ] || return 0
		asked=yes
		call "$timeout" GET check "path=$PWD" ${who:+"actor=$who"} ${judges:+"judges=yes"}
		is_plain || return 0
	fi
	[ "$early" = no ] || exit 0
	run_others "$@"
	ended=$?
	[ "$ended" -ne 0 ] && [ -n "${GIT_PUSH_CERT-}" ] || exit "$ended"
}

# Ends where the rest of this file is not there.
# shellcheck disable=SC2317 # main sets a trap that calls it
cut_off() {
	trap - EXIT
	[ -z "$ended" ] || exit "$ended"
	echo "softquota: the file of this hook ends too early. Please tell the administrator." >&2
	[ "$asked" = yes ] || read_conf || read_repository
	[ -z "$deep" ] && [ "$decision" != refused ] && [ "$on_error" != deny ] || exit 1
	[ "$early" = no ] || exit 0
	run_others "$@"
	exit $?
}

# With --early, receive-pack/git asks before the objects of a push have arrived: no other hook runs, and an
# allowed push is not recorded, because this hook then runs again. Where only a part of this function is
# there, nothing runs, and the stub that reads the file notices that.
main() {
	trap - EXIT
	pass_plainly "$@"
	trap 'cut_off "$@"' EXIT
}
main "$@"

# There is something to say, to measure or to judge. What is from here on no other push waits for: the shell
# has not read it yet.

# fragment: calling-again

# fragment: asking

# fragment: telling

# fragment: turns

# fragment: sizing

# Refuses a push that creates a name with too many levels, by any user: each level is a directory, which
# counts no bytes but takes a block of the disk. Deleting such a ref stays allowed.
refuse_deep() {
	[ -n "$deep" ] || return 0
	shown=$(printf '%.80s' "$deep" | printable)
	[ ${#deep} -le 80 ] || shown=$shown...
	say "$shown has more than 50 levels. Names with more than 50 levels are refused."
	leave 1
}

# Returns 0 if refs are written to objects that no ref reaches, which are still there from before they were
# deleted, or that a push under way is about to delete.
brings_back() {
	[ $((created + updated)) -gt 0 ] || return 1
	# Until that push has ended nobody knows what it takes away.
	! has_turn || return 0
	# shellcheck disable=SC2016 # the $ is awk's
	tips=$(printf '%s\n' "$input" | become awk '$2 !~ /^0+$/ { print $2 }')
	reaches_more "$tips" --not --all --alternate-refs
}

# Sets $size to the bytes that this push brings: those of the files that git holds, of the refs' own files
# where $created and $updated count them, and, where git keeps logs of refs, of a line for each. Empty if that
# cannot be told.
measure_push() {
	size=
	[ -n "${GIT_QUARANTINE_PATH-}" ] || return 0
	list=$(become ls -lnR "$GIT_QUARANTINE_PATH" 2>/dev/null) || return 0
	hash=${input#* }
	hash=${hash%% *}
	size=$(((created + updated) * (${#hash} + 1)))
	[ ! -d logs ] || size=$((size + (created + updated) * 512))
	# The shell is quicker where there is little.
	if [ ${#list} -gt 16384 ]; then
		# shellcheck disable=SC2016 # the $ is awk's
		more=$(printf '%s\n' "$list" | become awk '/^-/ { sum += $5 } END { printf "%.0f", sum }')
		case $more in
		'' | *[!0-9]*) size= ;;
		*) size=$((size + more)) ;;
		esac
		return 0
	fi
	set -f
	IFS=$nl
	for line in $list; do
		case $line in
		-*) ;;
		*) continue ;;
		esac
		IFS=' '
		# shellcheck disable=SC2086 # split on purpose
		set -- $line
		size=$((size + $5))
	done
	unset IFS
	set +f
}

# Sets $owner and $subject by the path of the project in GitLab, whose repositories have no owner in their
# path, and $other_line to what the list has for them. $owner is empty elsewhere. Gitaly sets the variables,
# and nobody who pushes can. It runs this hook by a path that is not in the repository.
read_gitlab() {
	owner=
	case $0 in
	"$PWD"/* | [!/]*) return 0 ;;
	esac
	[ -n "${GL_REPOSITORY-}" ] && [ -n "${GL_PROJECT_PATH-}" ] || return 0
	case $GL_REPOSITORY in
	*wiki*) subject=size:assets:wiki ;;
	*) subject=size:repos:private ;;
	esac
	owner=${GL_PROJECT_PATH%%/*}
	other_line=owner$tab$owner$tab$subject$tab
}

# Adds the offline decision to the record, which is sent to the daemon later. If the record cannot be
# written, or is long already, the decision is left out. Who can add to the repository can add to it.
put_on_record() {
	[ -z "$(become find "$record" -prune \( ! -type f -o -size +15 \))" ] || return 0
	share_as_repository
	now=$(become date -u +%Y-%m-%dT%H:%M:%SZ) || return 0
	printf '%s\t%s\t%s\t%s\n' "$now" "$offline" "$why" "$who" >>"$record"
}

# Ends with the exit status $1. A signed push leaves its certificate among the objects even if it is refused:
# git writes it before this hook runs. And the daemon keeps room for a push that another hook refuses. As no
# post-receive runs then, the daemon is told here.
leave() {
	if [ "$1" -ne 0 ] && [ -n "${GIT_PUSH_CERT-}$push" ]; then
		(
			let_go
			read_conf || read_repository
			cd -P . && tell_change
		) &
	fi
	exit "$1"
}

# Asks whether this push may go on, with the further parameters "$@", unless main did. The daemon puts a
# refusal on record at once, unless judges=yes says that it may still be judged.
ask_push() {
	set -- ${who:+"actor=$who"} ${push:+"push=$push"} ${size:+"size=$size"} "$@"
	[ "$asked" = yes ] || call "$timeout" GET check "path=$PWD" "$@"
	asked=no
	thing='this push'
	line=path$tab$PWD$tab
	settle "path=$PWD" "$@"
	verdict=$?
	[ "$status,$decision" = 404,none ] && [ -n "$owner" ] || return "$verdict"
	ask 'this push' "$other_line" "owner=$owner" "subject=$subject" "$@"
}

# Goes on with a push that main has not let pass.
go_on() {
	trap - EXIT
	[ -z "$ended" ] || leave "$ended"
	[ -z "${GL_REPOSITORY-}" ] || prefix='GL-HOOK-ERR: '
	refuse_deep
	if [ "$grows" = maybe ]; then
		grows=no
		! brings_back || {
			grows=yes
			prepare
		}
	fi
	if [ "$grows" = yes ]; then
		read_gitlab
		size=
		if [ "$asked,$early" = no,no ]; then
			name_push
			[ -z "$push" ] || measure_push
		fi
		if ! ask_push ${judges:+"judges=yes"}; then
			# Also where the rest of this file is not there.
			trap 'tell_answer; leave 1' EXIT
			return
		fi
		tell_answer
		if [ "$early" = no ]; then
			[ -z "$offline" ] || (put_on_record) 2>/dev/null
			forget_promises
		fi
	fi
	[ "$early" = no ] || exit 0
	run_others "$@"
	leave $?
}
go_on "$@"

# The push is refused.

# fragment: judging

# fragment: space

# Has the daemon put a refusal on record that it left to the judge.
put_refusal_on_record() {
	[ -z "$judges" ] || [ -z "$manner" ] || [ -n "$offline" ] || (ask_push) 2>/dev/null
}

# Judges the push by what stays, and lets it go on, or shows why it is refused.
judge_or_refuse() {
	trap - EXIT
	if [ "$early" = no ] && judge_push; then
		if [ -n "$offline" ]; then
			offline='let through'
			(put_on_record) 2>/dev/null
		fi
		run_others "$@"
		end_judging $?
		leave $?
	fi
	put_refusal_on_record
	add_space
	tell_answer
	if [ -n "$offline" ]; then
		(put_on_record) 2>/dev/null
	else
		# After a push that goes on, post-receive tells it.
		(let_go && tell_record) &
	fi
	push=
	leave 1
}
judge_or_refuse "$@"
