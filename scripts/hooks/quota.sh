#!/bin/sh
# softquota command: quota [OWNER]
#
# Shows what an owner stores, the limit, and the address of the page My usage, for `ssh git@host quota`. It is a
# command of git-shell (git-shell-commands/quota), and of gitolite.
#
# In:   OWNER, a user or an organization; unless given, the account that is logged in to. Under gitolite it is
#       always the user of the key.
# Out:  lines for people on stdout; on stderr why there are none.
# Exit: 0 shown; 1 there is no such owner, or the daemon does not answer.

# shellcheck disable=SC2034 # settings that only hooks use
set -u
conf=/etc/softquota/hook.conf
nl='
'
tab='	'

# fragment: settings

# fragment: calling

# fragment: calling-again

# fragment: asking

read_conf
owner=${1-${LOGNAME-}}
[ -z "${GL_USER-}" ] || owner=$GL_USER
call_again "$timeout" GET quota "owner=$owner"
[ -z "$fault" ] || say "error in the settings: $fault. Please tell the administrator."
text=$(printf '%s' "${answer#*"$nl"?"$nl"}" | printable)
case $status in
200) printf '%s\n' "$text" ;;
404)
	say "$text"
	[ -n "${GL_USER-}" ] || say "name an owner: ssh ${LOGNAME-git}@HOST quota OWNER"
	exit 1
	;;
none)
	say 'the quota cannot be shown: the daemon does not answer.'
	exit 1
	;;
*)
	say "the quota cannot be shown: the answer was $status."
	exit 1
	;;
esac
