# bash completion for softquota. Written by npm run generate from the definitions of the commands.

_softquota_paths() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_softquota() {
	local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	local command=softquota options='' words='' paths='' at
	COMPREPLY=()
	for ((at = 1; at < COMP_CWORD; at++)); do
		case "$command ${COMP_WORDS[at]}" in
		'softquota usage' | 'softquota why' | 'softquota events' | 'softquota history' | 'softquota check' | 'softquota explain' | 'softquota request' | 'softquota request list' | 'softquota request grant' | 'softquota request decline' | 'softquota allowance' | 'softquota allowance list' | 'softquota allowance create' | 'softquota allowance end' | 'softquota rule' | 'softquota rule list' | 'softquota rule show' | 'softquota rule create' | 'softquota rule edit' | 'softquota rule delete' | 'softquota group' | 'softquota group list' | 'softquota group show' | 'softquota group usage' | 'softquota group create' | 'softquota group delete' | 'softquota group add-rule' | 'softquota group remove-rule' | 'softquota group add-user' | 'softquota group remove-user' | 'softquota user' | 'softquota user list' | 'softquota user show' | 'softquota user create' | 'softquota user edit' | 'softquota user delete' | 'softquota policy' | 'softquota policy export' | 'softquota policy import' | 'softquota policy lint' | 'softquota policy simulate' | 'softquota member' | 'softquota member list' | 'softquota member add' | 'softquota member remove' | 'softquota token' | 'softquota token create' | 'softquota token list' | 'softquota token revoke' | 'softquota sign-in-link' | 'softquota auth' | 'softquota auth list' | 'softquota auth sync' | 'softquota doctor' | 'softquota scan' | 'softquota reclaim' | 'softquota backup' | 'softquota restore' | 'softquota notices' | 'softquota notices list' | 'softquota notices test' | 'softquota notices send-again' | 'softquota health' | 'softquota host' | 'softquota host list' | 'softquota host forget' | 'softquota store' | 'softquota store repair' | 'softquota init' | 'softquota hooks' | 'softquota hooks install' | 'softquota hooks status' | 'softquota hooks remove' | 'softquota serve' | 'softquota worker' | 'softquota receive-pack' | 'softquota playground') command="$command ${COMP_WORDS[at]}" ;;
		esac
	done
	case "$command" in
	'softquota') options='--version -V --config --json --help -h' words='usage why events history check explain request allowance rule group user policy member token sign-in-link auth doctor scan reclaim backup restore notices health host store init hooks serve worker receive-pack playground help' paths= ;;
	'softquota usage') options='--config --json --top --per --state --help -h' words='' paths= ;;
	'softquota why') options='--config --json --help -h' words='' paths= ;;
	'softquota events') options='--config --json --kind --owner --limit --help -h' words='' paths= ;;
	'softquota history') options='--config --json --range --help -h' words='' paths= ;;
	'softquota check') options='--config --json --subject --size --help -h' words='' paths= ;;
	'softquota explain') options='--config --json --subject --size --help -h' words='' paths= ;;
	'softquota request') options='--config --help -h' words='list grant decline help' paths= ;;
	'softquota request list') options='--config --json --state --help -h' words='' paths= ;;
	'softquota request grant') options='--config --json --until --for --size --words --help -h' words='' paths= ;;
	'softquota request decline') options='--config --json --words --help -h' words='' paths= ;;
	'softquota allowance') options='--config --help -h' words='list create end help' paths= ;;
	'softquota allowance list') options='--config --json --help -h' words='' paths= ;;
	'softquota allowance create') options='--config --json --until --for --size --why --help -h' words='' paths= ;;
	'softquota allowance end') options='--config --help -h' words='' paths= ;;
	'softquota rule') options='--config --help -h' words='list show create edit delete help' paths= ;;
	'softquota rule list') options='--config --json --help -h' words='' paths= ;;
	'softquota rule show') options='--config --json --help -h' words='' paths= ;;
	'softquota rule create') options='--config --json --per --grace --grace-most --mode --warn-at --limit --subject --help -h' words='' paths= ;;
	'softquota rule edit') options='--config --json --per --grace --grace-most --mode --warn-at --limit --subject --help -h' words='' paths= ;;
	'softquota rule delete') options='--config --help -h' words='' paths= ;;
	'softquota group') options='--config --help -h' words='list show usage create delete add-rule remove-rule add-user remove-user help' paths= ;;
	'softquota group list') options='--config --json --help -h' words='' paths= ;;
	'softquota group show') options='--config --json --help -h' words='' paths= ;;
	'softquota group usage') options='--config --json --top --help -h' words='' paths= ;;
	'softquota group create') options='--config --json --rule --help -h' words='' paths= ;;
	'softquota group delete') options='--config --help -h' words='' paths= ;;
	'softquota group add-rule') options='--config --help -h' words='' paths= ;;
	'softquota group remove-rule') options='--config --help -h' words='' paths= ;;
	'softquota group add-user') options='--config --help -h' words='' paths= ;;
	'softquota group remove-user') options='--config --help -h' words='' paths= ;;
	'softquota user') options='--config --help -h' words='list show create edit delete help' paths= ;;
	'softquota user list') options='--config --json --search --type --help -h' words='' paths= ;;
	'softquota user show') options='--config --json --help -h' words='' paths= ;;
	'softquota user create') options='--config --json --type --email --full-name --admin --help -h' words='' paths= ;;
	'softquota user edit') options='--config --json --type --email --full-name --name --admin --no-admin --help -h' words='' paths= ;;
	'softquota user delete') options='--config --help -h' words='' paths= ;;
	'softquota policy') options='--config --help -h' words='export import lint simulate help' paths= ;;
	'softquota policy export') options='--config --no-users --help -h' words='' paths=yes ;;
	'softquota policy import') options='--config --json --from --token-file --dry-run --yes --create-users --help -h' words='' paths=yes ;;
	'softquota policy lint') options='--config --json --help -h' words='' paths=yes ;;
	'softquota policy simulate') options='--config --json --help -h' words='' paths=yes ;;
	'softquota member') options='--config --help -h' words='list add remove help' paths= ;;
	'softquota member list') options='--config --json --help -h' words='' paths= ;;
	'softquota member add') options='--config --role --help -h' words='' paths= ;;
	'softquota member remove') options='--config --help -h' words='' paths= ;;
	'softquota token') options='--config --help -h' words='create list revoke help' paths= ;;
	'softquota token create') options='--config --json --user --admin --scope --name --expires --help -h' words='' paths= ;;
	'softquota token list') options='--config --json --user --help -h' words='' paths= ;;
	'softquota token revoke') options='--config --user --help -h' words='' paths= ;;
	'softquota sign-in-link') options='--config --json --user --admin --help -h' words='' paths= ;;
	'softquota auth') options='--config --help -h' words='list sync help' paths= ;;
	'softquota auth list') options='--config --json --help -h' words='' paths= ;;
	'softquota auth sync') options='--config --json --user --try --help -h' words='' paths=yes ;;
	'softquota doctor') options='--config --json --help -h' words='' paths= ;;
	'softquota scan') options='--config --json --verify --accept-moved --help -h' words='' paths= ;;
	'softquota reclaim') options='--config --json --help -h' words='' paths=yes ;;
	'softquota backup') options='--config --help -h' words='' paths=yes ;;
	'softquota restore') options='--config --json --replace --help -h' words='' paths=yes ;;
	'softquota notices') options='--config --help -h' words='list test send-again help' paths= ;;
	'softquota notices list') options='--config --json --state --help -h' words='' paths= ;;
	'softquota notices test') options='--config --json --address --help -h' words='' paths= ;;
	'softquota notices send-again') options='--config --json --all --help -h' words='' paths= ;;
	'softquota health') options='--config --json --ready --help -h' words='' paths= ;;
	'softquota host') options='--config --help -h' words='list forget help' paths= ;;
	'softquota host list') options='--config --json --help -h' words='' paths= ;;
	'softquota host forget') options='--config --json --yes --help -h' words='' paths= ;;
	'softquota store') options='--config --help -h' words='repair help' paths= ;;
	'softquota store repair') options='--config --known --stored --yes --help -h' words='' paths= ;;
	'softquota init') options='--json --config --forge-config --total --enforce --hooks --worker --help -h' words='' paths=yes ;;
	'softquota hooks') options='--config --help -h' words='install status remove help' paths= ;;
	'softquota hooks install') options='--config --json --gitolite --socket --client --on-error --last-for --gitlab --hooks-path --programs --help -h' words='' paths=yes ;;
	'softquota hooks status') options='--config --json --gitolite --help -h' words='' paths=yes ;;
	'softquota hooks remove') options='--config --json --gitolite --help -h' words='' paths=yes ;;
	'softquota serve') options='--config --check-config --print-config --help -h' words='' paths= ;;
	'softquota worker') options='--config --on-error --last-for --help -h' words='' paths= ;;
	'softquota receive-pack') options='--config --help -h' words='' paths= ;;
	'softquota playground') options='--config --dir --exit --help -h' words='' paths= ;;
	esac
	case "$command $before" in
	*' --config' | *' --token-file' | *' --forge-config' | *' --gitlab' | *' --hooks-path' | *' --programs' | *' --dir') _softquota_paths "$current" && return ;;
	*' --top' | 'softquota usage --state' | *' --owner' | *' --limit' | *' --subject' | *' --size' | *' --until' | *' --for' | *' --words' | *' --why' | 'softquota rule create --per' | *' --grace' | *' --grace-most' | *' --mode' | *' --warn-at' | 'softquota rule edit --per' | *' --rule' | *' --search' | *' --email' | *' --full-name' | *' --name' | *' --from' | *' --user' | *' --scope' | *' --expires' | *' --address' | *' --total' | *' --gitolite' | *' --socket' | *' --client' | *' --on-error' | *' --last-for') return ;;
	'softquota usage --per') words='owner repository' options= ;;
	*' --kind') words='refusal threshold grace policy sign-in request allowance reclaim unasked inherited' options= ;;
	*' --range') words='day week month year all' options= ;;
	'softquota request list --state') words='open granted declined withdrawn all' options= ;;
	*' --type') words='user organization' options= ;;
	*' --role') words='owner member' options= ;;
	'softquota notices list --state') words='pending dead' options= ;;
	esac
	if [[ $current == -* ]]; then
		words=$options
	elif [[ -z $words && -n $paths ]]; then
		_softquota_paths "$current"
		return
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

complete -F _softquota softquota
