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
		[ ! -r "$conf" ] || while IFS=' 	=' read -r key value || [ -n "$key" ]; do
			case $key,$value in [Oo]n[Ee]rror,deny* | [Oo]n[Ee]rror,\"deny*) exit 1 ;; esac
		done <"$conf"
		[ ! -e "$conf" ] || break
	done
# end of only
	case $0 in
	*/@NAME@.d/*) exit 0 ;;
	*custom_hooks/@NAME@) folder=$0.d ;;
	*) folder=hooks/@NAME@.d ;;
	esac
	unset input
	status=0
	for each in "$folder"/*; do
		if ! [ -f "$each" ] || ! [ -x "$each" ]; then continue; fi
		: "${input=$(cat)}"
		printf %s "${input:+$input$nl}" | "$each" || status=$?
	done
	exit "$status"
}
trap alone EXIT
# shellcheck source=/dev/null
[ ! -r "$hook" ] || . "$hook"
