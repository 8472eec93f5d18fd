#!/bin/sh
# softquota hook: @NAME@
# Runs the one file below. `softquota hooks install` replaces this stub. Your own hooks go into @NAME@.d/.
hook='@SHARED@'
nl='
'
# The file is gone, or half of it: the hooks after it run all the same.
alone() {
	trap - EXIT
	set +u
	echo "softquota: $hook cannot be run, so @WORDS@. Please tell the administrator." >&2
# only: pre-receive
	for conf in /etc/softquota/hook.conf config; do
		[ ! -r "$conf" ] || while IFS=' 	=' read -r key value; do
			case $key,$value in on[Ee]rror,deny) exit 1 ;; esac
		done <"$conf"
		[ ! -e "$conf" ] || break
	done
# end of only
	case $0 in */@NAME@.d/* | */custom_hooks/*) exit 0 ;; esac
	input=
	while IFS= read -r line; do input=$input$line$nl; done
	status=0
	for each in "hooks/@NAME@.d"/*; do
		[ ! -f "$each" ] || [ ! -x "$each" ] || printf %s "$input" | "$each" || status=$?
	done
	exit "$status"
}
trap alone EXIT
# shellcheck source=/dev/null
[ ! -r "$hook" ] || . "$hook"
