# Judges a refused push by what stays: bytes that the refs of the repository reach afterwards against before.
# A push that takes more away than it brings is the way out for an owner over the limit, so it may go on.
#
# Nobody gets more than that out of it. One such push at a time is under way in a repository, and the refs
# before and after are one list. Git may do less than was judged: it cannot lock a ref, a hook refuses one, or
# the client goes away in between. So the next push is held to what the last one promised, until the quota
# allows a push again.

# How the push is judged; empty: it is not.
manner=

# Returns 0 if the refused push may go on; end_judging is called when all other hooks have run. Else $notice
# has what is to be said behind the refusal.
judge_push() {
	find_manner && takes_away || return 1
	if claim_turn; then
		if ! find_refs || ! weigh_both; then
			reason='git cannot tell here'
			[ -z "$judge_until" ] || ! clock || [ "$now" -lt "$judge_until" ] ||
				reason="git could not tell within $judge_timeout s"
			judgement="$reason whether this push makes the repository smaller. Delete branches and tags first, in"
			judgement="$judgement separate pushes: these are never refused."
		elif compare; then
			return 0
		fi
		(become rm -f -- "$under_way")
	fi
	notice=$judgement${notice:+ $notice}
	return 1
}

# Sets $manner to how the answer lets the push be judged: `any`, or `less` where it must not bring more bytes
# than it frees, because what it frees stays on the disk for a while. Returns 1 where it is not judged.
find_manner() {
	case $offline$head$nl in
	refused*) manner=less ;;
	*"$nl"[Xx]-[Ss]oftquota-[Jj]udge:\ any?"$nl"*) manner=any ;;
	*"$nl"[Xx]-[Ss]oftquota-[Jj]udge:\ less?"$nl"*) manner=less ;;
	*) return 1 ;;
	esac
	# More than that is not held in the promise; and a namespace hides the names that git really has.
	[ ${#input} -le 1000000 ] && [ -z "${GIT_NAMESPACE-}" ] || return 1
	milliseconds "$judge_timeout"
	! clock || judge_until=$((now + ms / 10))
}

# Returns 0 if the push deletes a ref, or updates one in such a way that something may become unreachable.
# Where git cannot tell, it may.
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

# Sets $refs, $refs_after to the same as it will be, and $others to ^OBJECT for what the repositories hold that
# this one borrows objects from. What git will not do counts as not done: another value than the pusher says,
# what the settings deny or hide, a branch that is checked out, and anything but a commit in a branch.
find_refs() {
	list_refs bounded '' || return 1
	# A bare repository itself has nothing checked out.
	# shellcheck disable=SC2016 # the $ is awk's
	checked_out=$(become git worktree list --porcelain | become awk '$1 == "branch" { print $2 }')
	# shellcheck disable=SC2016 # the $ is awk's
	kinds=$(
		bounded "$(printf '%s\n' "$input" | become awk '$2 !~ /^0+$/ { print $2 }')" \
			git --no-replace-objects cat-file --batch-check='%(objectname) %(objecttype)'
	) || return 1
	# shellcheck disable=SC2016 # the $ is awk's
	refs_after=$(
		printf '%s\n--\n%s\n--\n%s\n--\n%s\n--\n%s\n' "$refs" "$(server_settings)" "$kinds" "$checked_out" "$input" |
			(export softquota_head="$head" && become awk '
				function is_hidden(ref, n) {
					for (n = 0; n < hiding; n++) if (ref == hidden[n] || index(ref, hidden[n] "/") == 1) return 1
					return 0
				}
				BEGIN { head = ENVIRON["softquota_head"] }
				$0 == "--" { part++; next }
				NF == 0 { next }
				part == 0 && $3 == "=" { symbolic[$2] = 1; next }
				part == 0 { value[$2] = $1; next }
				part == 1 {
					isOff = NF > 1 && tolower($2) ~ /^(false|no|off|0)$/
					if ($1 == "receive.denydeletes") keepsAll = !isOff
					else if ($1 == "receive.denynonfastforwards") forwardOnly = !isOff
					else if ($1 == "receive.denydeletecurrent") letsHeadGo = isOff || tolower($2) ~ /^(warn|ignore)$/
					else if ($2 !~ /^!/) {
						sub(/^\^/, "", $2)
						sub(/\/+$/, "", $2)
						hidden[hiding++] = $2
					}
					next
				}
				part == 2 { kind[$1] = $2; next }
				part == 3 { stays[$1] = 1; next }
				# What git makes of two names for one ref is not followed up.
				$3 in symbolic { exit 1 }
				$2 ~ /^0+$/ {
					if (value[$3] "" == $1 "" && !keepsAll && !($3 in stays) && !is_hidden($3) && ($3 != head || letsHeadGo))
						delete value[$3]
					next
				}
				value[$3] "" != $1 "" || forwardOnly || $3 in stays || is_hidden($3) ||
					$3 ~ /^refs\/heads\// && kind[$2] != "commit" { print $2, $3; next }
				{ value[$3] = $2 }
				END { for (ref in value) if (value[ref] != "") print value[ref], ref }
			')
	) || return 1
	others=
	[ -s objects/info/alternates ] || return 0
	# What nobody refers to there counts as its own here.
	manner=less
	others=$(
		unset GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_QUARANTINE_PATH
		bounded '' git rev-list --no-walk=unsorted --alternate-refs | (become sed 's/^/^/')
	)
}

# Prints the settings by which git itself denies and hides refs, also those of the user and of the system.
server_settings() {
	(
		export PATH="/usr/local/bin:/usr/bin:/bin:$PATH"
		exec git config --get-regexp \
			'^(receive\.deny(deletes|nonfastforwards|deletecurrent)|(receive|transfer)\.hiderefs)$'
	) 2>/dev/null
}

# Sets $before and $after to the bytes on the disk of all objects that the refs reach. Both at once, as the
# time is short.
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

# Prints the bytes of all objects that the list $1 of OBJECT REF reaches, and that no other repository has.
weigh() {
	tips=$(printf '%s\n' "$1" | become cut -d ' ' -f 1)
	bounded "$tips$nl$others" git --no-replace-objects rev-list --objects --disk-usage --use-bitmap-index --stdin
}

# Returns 0 if the push makes the repository smaller, and brings no more than that allows.
compare() {
	# shellcheck disable=SC2016 # the $ is awk's
	promised=$(become awk '
		NR == FNR { value[$2] = $1; next }
		FNR == 1 { stay = $1; held = $2; first = $3; next }
		value[$3] "" != ($1 ~ /^0+$/ ? "" : $1 "") { done = 1 }
		END { print done ? stay : held, first }
	' - "$promise" 2>/dev/null <<END
$refs
END
	)
	first=${promised#* }
	promised=${promised%% *}
	case $first in
	'' | *[!0-9]*) first=$before ;;
	esac
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
	if [ "$after" -ge "$before" ]; then
		judgement="this push would not make the repository smaller: $sizes.$(name_others)"
		return 1
	fi
	if [ "$after" -ge "$least" ]; then
		judgement="an earlier push was accepted because only $(size "$least") were to remain, but more remained: $sizes."
		return 1
	fi
	# A pack without its index, which git writes itself.
	# shellcheck disable=SC2016 # the $ is awk's
	brought=$(
		list=$(become find "$GIT_QUARANTINE_PATH" -type f ! -name '*.idx' ! -name '*.rev' ! -name '*.keep' -exec ls -ln {} +) &&
			printf '%s\n' "$list" | (become awk '{ sum += $5 } END { printf "%.0f", sum }')
	) 2>/dev/null
	judgement='it is not known how much this push brings.'
	[ -n "$brought" ] || return 1
	# What it brings may be there a second time, as what git completes the pack with. However often git does only
	# a part, or another push that began before gives a new name to what is deleted, all that is brought meanwhile
	# stays below three times of what there was at first.
	most=$((first * 3 - before))
	if [ "$brought" -gt "$most" ]; then
		judgement="earlier pushes were accepted because less was to remain, but more remained: $sizes. Delete branches and tags first."
		return 1
	fi
	[ "$manner" != any ] || return 0
	most=$((before - after))
	[ "$brought" -gt "$most" ] || return 0
	judgement="this push would make the repository smaller only after a garbage collection ($sizes), and it brings"
	judgement="$judgement $(size "$brought"), more than it frees: delete branches and tags first."
	return 1
}

# Names refs that the push leaves alone and that hold a history of their own, such as tags of the one that it
# replaces, and a detached HEAD.
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
		printf ' It leaves %s, which may hold the history that it replaces: replace or delete these refs in the same %s' \
			"$held" "push, for example: git push --force origin 'refs/heads/*' 'refs/tags/*'"
	detached=${detached% HEAD}
	[ -n "$detached" ] || return 0
	# shellcheck disable=SC2016 # the $ is awk's
	replaced_by=$(printf '%s\n' "$input" | become awk '$2 !~ /^0+$/ { print "^" $2 }')
	! reaches_more "$detached$nl$replaced_by" ||
		printf ' Its HEAD is detached at %.12s, and holds that history: an administrator has to set it to a branch.' "$detached"
}

# Ends the judging of a push that may go on, after the other hooks ended with the status $1: writes down what
# stays. Returns that status, or 1 where that cannot be written.
end_judging() {
	if [ "$1" -eq 0 ]; then
		if {
			share_as_repository
			printf '%s %s %s %s\n%s\n' "$after" "$least" "$first" "$(name_refs "$refs_after")" "$input" >"$promise.new" && (become mv -f -- "$promise.new" "$promise")
		} 2>/dev/null; then
			say "this push makes the repository smaller, by $(size $((before - after))), so it is accepted although the quota is exceeded."
			return 0
		fi
		say 'this push would make the repository smaller, but the hook cannot write into the repository.'
		put_refusal_on_record
		set -- 1
	fi
	(become rm -f -- "$promise.new" "$under_way")
	return "$1"
}

# Returns 0 if this is now the one push that is under way so.
claim_turn() {
	find_receiver
	for _ in first second; do
		write_turn && return 0
		if has_turn; then
			judgement='another push that makes this repository smaller is under way; try again when it has ended.'
			return 1
		fi
		if [ -h "$under_way" ] || ! [ -f "$under_way" ]; then
			break
		fi
		# Nobody else may have done so, and begun, meanwhile.
		stale=$under_way.$$
		(become mv -- "$under_way" "$stale") 2>/dev/null || continue
		now_there=
		{ read -r now_there <"$stale"; } 2>/dev/null
		[ "$now_there" = "$holder $process" ] || (become ln -- "$stale" "$under_way") 2>/dev/null
		(become rm -f -- "$stale")
	done
	judgement="the hook cannot write $under_way into the repository to judge if this push makes it smaller."
	return 1
}

# Writes that it is under way, where no other is.
write_turn() (
	share_as_repository
	set -C
	printf '%s %s\n' "$host" "${receiver:-0}" >"$under_way"
) 2>/dev/null

# Sets $receiver to git's process that takes this push: the nearest one above.
find_receiver() {
	find_host
	receiver=$PPID
	for _ in 1 2 3 4 5 6 7 8; do
		case $receiver in
		'' | 0 | 1) break ;;
		esac
		read_process "$receiver"
		! is_git || return 0
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
