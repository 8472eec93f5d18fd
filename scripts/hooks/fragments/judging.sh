# Judges a refused push by what stays: bytes that the refs of the repository reach afterwards against before. A push
# that takes more away than it brings is the way out for an owner over the limit, so it may go on.
#
# Nobody gets more than that out of it. One such push at a time is under way in a repository, and the refs before and
# after are one list. Where git does not do all of what was judged, because it cannot lock a ref or a hook refuses
# one, the next push is held to what that one promised.

# What the last push that went on so promised: the bytes, then a line NEW REF for each of its refs.
promise=softquota-promise
# The push that is under way so: a line with the host since it started, and git's process, 0 where it is not known.
under_way=softquota-judging

judged=no
# Hundredths of a second since the system started; empty: each step may take judgeTimeout.
judge_until=

# Returns 0 if the refused push may go on. Else $notice has what is to be said behind the refusal.
judge_push() {
	find_manner && takes_away || return 1
	if ! claim_turn; then
		judgement='another push that makes this repository smaller is under way; try again when it has ended.'
	elif find_refs && weigh_both; then
		compare && keep_promise && return 0
		(become rm -f -- "$under_way")
	else
		judgement="it could not be found out within $judge_timeout s if this push makes the repository smaller;"
		judgement="$judgement delete branches and tags first, with pushes of their own: these are never refused."
		(become rm -f -- "$under_way")
	fi
	notice=$judgement${notice:+ $notice}
	return 1
}

# Sets $manner to how the answer lets the push be judged: `any`, or `less` where it must not bring more bytes than it
# frees, because what it frees stays on the disk for a while. Returns 1 where it is not judged.
find_manner() {
	case $offline$head$nl in
	refused*) manner=less ;;
	*"$nl"[Xx]-[Ss]oftquota-[Jj]udge:\ any?"$nl"*) manner=any ;;
	*"$nl"[Xx]-[Ss]oftquota-[Jj]udge:\ less?"$nl"*) manner=less ;;
	*) return 1 ;;
	esac
	milliseconds "$judge_timeout"
	! clock || judge_until=$((now + ms / 10))
}

# Whether the push deletes a ref, or updates one in such a way that something may become unreachable. Where git cannot
# tell, it may.
takes_away() {
	# shellcheck disable=SC2016 # the $ is awk's
	tips=$(printf '%s\n' "$input" | become awk '
		$2 ~ /^0+$/ { if ($1 !~ /^0+$/) print "deleted"; next }
		{ print "^" $2 }
		$1 !~ /^0+$/ { print $1 }
	')
	case $nl$tips$nl in
	*"${nl}deleted$nl"*) return 0 ;;
	esac
	reaches_more "$tips"
}

# Whether the objects $1 reach anything that the options behind it, or ^OBJECT among them, leave out. Where git cannot
# tell, they do.
reaches_more() {
	objects=$1
	shift
	found=$(
		{ bounded "$objects" git --no-replace-objects rev-list --objects --stdin "$@" || echo unknown; } |
			become head -n 1
	)
	[ -n "$found" ]
}

# Runs a program of the system with the text $1 on stdin, and ends it when judgeTimeout is over. Returns its status.
bounded() {
	fed=$1
	shift
	limit=$judge_timeout
	if [ -n "$judge_until" ] && clock; then
		left=$((judge_until - now))
		[ "$left" -gt 0 ] || return 1
		limit=$((left / 100)).$((left % 100 / 10))$((left % 10))
	fi
	{
		printf '%s\n' "$fed" | become "$@" &
		asker=$!
		end_late "$asker" </dev/null >/dev/null &
		guard=$!
		wait "$asker"
		code=$?
		kill -USR1 "$guard"
		wait "$guard"
	} 2>/dev/null
	return "$code"
}

# Sets $refs to a line OBJECT REF for each ref and for a detached HEAD, $refs_after to the same as it will be, and
# $others to ^OBJECT for what the repositories hold that this one borrows objects from. What git will not do counts as
# not done: another value than the pusher says, and what the repository's own settings deny.
find_refs() {
	refs=$(bounded '' git for-each-ref --format='%(objectname) %(refname) %(symref)') || return 1
	head=$(become git symbolic-ref -q HEAD) || {
		head=
		refs="$refs$nl$(become git rev-parse -q --verify HEAD) HEAD"
	}
	denied=$(become git config --file config --bool receive.denyDeletes)
	denied=$denied/$(become git config --file config --bool receive.denyNonFastForwards)
	# shellcheck disable=SC2016 # the $ is awk's
	refs_after=$(
		printf '%s\n\n%s\n' "$refs" "$input" |
			(export softquota_head="$head" softquota_denied="$denied" && become awk '
				BEGIN {
					head = ENVIRON["softquota_head"]
					split(ENVIRON["softquota_denied"], denied, "/")
				}
				!pushed && NF == 0 { pushed = 1; next }
				# Another name of a ref becomes what that becomes.
				!pushed { if (NF == 2) value[$2] = $1; next }
				$2 ~ /^0+$/ { if (value[$3] "" == $1 "" && $3 != head && denied[1] != "true") delete value[$3]; next }
				value[$3] "" != $1 "" || denied[2] == "true" { print $2, $3; next }
				{ value[$3] = $2 }
				END { for (ref in value) if (value[ref] != "") print value[ref], ref }
			')
	) || return 1
	others=
	[ ! -s objects/info/alternates ] || others=$(
		unset GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_QUARANTINE_PATH
		bounded '' git rev-list --no-walk=unsorted --alternate-refs | (become sed 's/^/^/')
	)
}

# Sets $before and $after to the bytes on the disk of all objects that the refs reach. Both at once, as the time is
# short.
weigh_both() {
	weights=$(
		printf 'before %s\n' "$(weigh "$refs")" &
		printf 'after %s\n' "$(weigh "$refs_after")" &
		wait
	)
	before=
	after=
	IFS=$nl
	for line in $weights; do
		case $line in
		*[!a-z0-9\ ]* | *' ') ;;
		'before '*) before=${line#before } ;;
		'after '*) after=${line#after } ;;
		esac
	done
	unset IFS
	[ -n "$before" ] && [ -n "$after" ]
}

# What the objects take that the list $1 of OBJECT REF reaches, and that no other repository has.
weigh() {
	tips=$(printf '%s\n' "$1" | become cut -d ' ' -f 1)
	bounded "$tips$nl$others" git --no-replace-objects rev-list --objects --disk-usage --use-bitmap-index --stdin
}

# Whether the push makes the repository smaller, by more than it brings where that is asked for.
compare() {
	# shellcheck disable=SC2016 # the $ is awk's
	promised=$(become awk '
		NR == FNR { value[$2] = $1; next }
		FNR == 1 { bytes = $1; next }
		$1 ~ /^0+$/ ? $2 in value : value[$2] "" != $1 "" { broken = 1 }
		END { if (broken) print bytes }
	' - "$promise" 2>/dev/null <<END
$refs
END
	)
	least=$before
	case $promised in
	'' | *[!0-9]*) ;;
	*) [ "$promised" -ge "$least" ] || least=$promised ;;
	esac
	now_takes=$(size "$before")
	then_takes=$(size "$after")
	[ "$now_takes" != "$then_takes" ] || [ "$before" -eq "$after" ] || {
		now_takes="$before B"
		then_takes="$after B"
	}
	sizes="its branches and tags take $now_takes now, and would take $then_takes afterwards"
	if [ "$after" -ge "$least" ]; then
		judgement="this push would not make the repository smaller: $sizes.$(name_others)"
		[ "$least" -eq "$before" ] ||
			judgement="an earlier push was let through because $(size "$least") would stay, and more stayed: $sizes."
		return 1
	fi
	[ "$manner" = less ] || return 0
	# shellcheck disable=SC2016 # the $ is awk's
	brought=$(become git count-objects -v | become awk '/^size(-pack)?:/ { kib += $2 } END { printf "%.0f", kib * 1024 }')
	[ "$brought" -le $((before - after)) ] && return 0
	judgement="this push would make the repository smaller only after a garbage collection ($sizes), and it brings"
	judgement="$judgement $(size "$brought"), more than it frees: delete branches and tags first."
	return 1
}

# Names refs that the push leaves alone and that hold a history of their own, such as tags of the one that it replaces.
name_others() {
	# shellcheck disable=SC2016 # the $ is awk's
	held=$(
		set -f
		# shellcheck disable=SC2046 # objects of the pushed refs, without a blank
		set -- $(printf '%s\n' "$input" | become awk '$2 !~ /^0+$/ && n++ < 100 { print "--no-merged=" $2 }')
		{
			printf '%s\n\n' "$input"
			bounded '' git for-each-ref --format='%(refname)' "$@"
		} | become awk '
			!listed && NF == 0 { listed = 1; next }
			!listed { pushed[$3] = 1; next }
			!($1 in pushed) && n++ < 3 { names = names (n > 1 ? ", " : "") $1 }
			END { if (n) print names (n > 3 ? " and " n - 3 " more" : "") }
		' | printable
	)
	[ -z "$held" ] ||
		printf ' It leaves %s, which may hold the history that it replaces: replace or delete these refs with the same %s' \
			"$held" "push, such as by: git push --force origin 'refs/heads/*' 'refs/tags/*'"
}

# Writes down what stays, before the push goes on; returns 1 where that cannot be written.
keep_promise() {
	{
		(
			share_as_repository
			printf '%s\n' "$after" &&
				printf '%s\n' "$input" | become cut -d ' ' -f 2-
		) >"$promise.new" && (become mv -f -- "$promise.new" "$promise")
	} 2>/dev/null || {
		judgement='this push would make the repository smaller, but the hook cannot write into the repository.'
		return 1
	}
	judged=yes
	say "this push makes the repository smaller, by $(size $((before - after))), so it is accepted although the quota is exceeded."
}

# Takes back what was written down of this push, where another hook refuses it.
break_promise() {
	[ "$judged" = no ] || (become rm -f -- "$promise" "$under_way")
}

# After a push that the quota allows, nothing that was promised counts any more.
forget_promises() {
	[ -f "$promise" ] || [ -f "$under_way" ] || return 0
	(become rm -f -- "$promise" "$under_way")
}

# Files that the hook writes are for everybody who may write the repository.
share_as_repository() {
	umask 022
	[ -z "$(become find . -prune -perm -020)" ] || umask 002
}

# Returns 0 if this is now the one push that is under way so, as long as git's process lives that takes it. Where that
# is not known, or on another host, it is for a minute.
claim_turn() {
	host=
	{ read -r host </proc/sys/kernel/random/boot_id; } 2>/dev/null
	find_receiver
	for _ in first second; do
		write_turn && return 0
		holder=
		process=
		{ read -r holder process <"$under_way"; } 2>/dev/null
		if [ "$holder" = "$host" ] && [ "${process:-0}" != 0 ]; then
			[ ! -d "/proc/$process" ] || [ -z "$(become find "$under_way" -mmin -60 2>/dev/null)" ] || return 1
		else
			[ -z "$(become find "$under_way" -mmin -1 2>/dev/null)" ] || return 1
		fi
		# Nobody else may have done so, and begun, meanwhile.
		stale=$under_way.$$
		(become mv -- "$under_way" "$stale") 2>/dev/null || continue
		now_there=
		{ read -r now_there <"$stale"; } 2>/dev/null
		[ "$now_there" = "$holder $process" ] || (become ln -- "$stale" "$under_way") 2>/dev/null
		(become rm -f -- "$stale")
	done
	return 1
}

# Writes that it is under way, where no other is.
write_turn() (
	share_as_repository
	set -C
	printf '%s %s\n' "${host:-unknown}" "${receiver:-0}" >"$under_way"
) 2>/dev/null

# Sets $receiver to git's process that takes this push: the nearest one above.
find_receiver() {
	receiver=$PPID
	for _ in 1 2 3 4 5 6 7 8; do
		case $receiver in
		'' | 0 | 1) break ;;
		esac
		program=
		above=
		while IFS='	 ' read -r key value; do
			case $key in
			Name:) program=$value ;;
			PPid:) above=$value && break ;;
			esac
		done 2>/dev/null <"/proc/$receiver/status"
		case $program in
		git | git-receive-p*) return 0 ;;
		esac
		receiver=$above
	done
	receiver=
}

# The bytes $1 for people.
size() {
	become awk -v bytes="$1" 'BEGIN {
		split("B kB MB GB TB PB", units, " ")
		for (unit = 1; bytes >= 999.5 && unit < 6; unit++) bytes /= 1000
		printf "%.3g %s", bytes, units[unit]
	}'
}
