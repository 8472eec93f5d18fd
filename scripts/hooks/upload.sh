#!/bin/sh
# softquota hook: upload OWNER SUBJECT [SIZE]
#
# Asks the daemon whether an owner may store more of a kind of data. For upload handlers.
#
# In:   OWNER, a user or an organization; SUBJECT, such as size:git:lfs; SIZE, the bytes that
#       are about to be added, where they are known.
# Out:  on stderr, for people: why the upload is refused, a warning, or that the quota could not be
#       checked. Nothing on stdout.
# Exit: 0 the upload may start; 1 the upload may not start (as the daemon, the list that it last
#       published, or onError = deny says), or the arguments are wrong.

# shellcheck disable=SC2034 # settings that only pre-receive uses
set -u
conf=/etc/softquota/hook.conf
nl='
'
tab='	'

# fragment: settings

# fragment: calling

# fragment: asking

usage='expected: upload OWNER SUBJECT [SIZE], where SIZE is a whole number of bytes'
case $# in
2 | 3) ;;
*) say "$usage" && exit 1 ;;
esac
case ${3-0} in
'' | *[!0-9]*) say "$usage" && exit 1 ;;
esac
read_conf
ask 'this upload' "owner$tab$1$tab$2$tab" "owner=$1" "subject=$2" ${3:+"size=$3"}
verdict=$?
tell_answer
exit "$verdict"
