/**
 * share/completions: what bash, zsh and fish offer behind `softquota`, from the definitions of the commands.
 *
 * Each shell goes through the words before the cursor, finds the command that they name, and offers what
 * that command takes there: commands below it, options, paths, or the words that an option knows.
 */

import { type DescribedCommand, type DescribedOption, describedCommands } from './described.ts';

const written = 'Written by npm run generate from the definitions of the commands.';
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const alternatives = (patterns: readonly string[]) => patterns.join(' | ');

/** An option whose value is offered, or left to who types: as the pattern of a command and the word before. */
interface Valued {
  readonly pattern: string;
  readonly value: DescribedOption['value'];
}

/** Those that have one meaning everywhere come without a command. */
function valued(commands: readonly DescribedCommand[]): readonly Valued[] {
  const all = commands.flatMap(({ name: command, options }) =>
    options.filter(({ value }) => value !== 'none').map(({ name, value }) => ({ command, name, value })),
  );
  const patterns = all.map(({ command, name, value }): Valued => {
    const isSame = all.every(other => other.name !== name || String(other.value) === String(value));
    return { pattern: isSame ? `*${quoted(` ${name}`)}` : quoted(`${command} ${name}`), value };
  });
  return [...new Map(patterns.map(each => [each.pattern, each])).values()];
}

/** The branches of a shell's `case` for the values of options. */
function valueCases(
  commands: readonly DescribedCommand[],
  say: (value: DescribedOption['value']) => string,
): readonly string[] {
  const byWords = Map.groupBy(valued(commands), ({ value }) => say(value));
  return [...byWords].map(
    ([words, options]) => `\t${alternatives(options.map(({ pattern }) => pattern))}) ${words} ;;`,
  );
}

const commandNames = (commands: readonly DescribedCommand[]) =>
  commands.slice(1).map(({ name }) => quoted(name));

const optionNames = ({ options }: DescribedCommand) =>
  options.flatMap(({ name, short }) => (short === null || short === name ? [name] : [name, short]));

export async function bashCompletion(): Promise<string> {
  const commands = await describedCommands();
  const cases = commands.map(
    command =>
      `\t${quoted(command.name)}) options=${quoted(optionNames(command).join(' '))}` +
      ` words=${quoted(command.below.map(({ name }) => name).join(' '))} paths=${command.takesPaths ? 'yes' : ''} ;;`,
  );
  const values = valueCases(commands, value => {
    if (value === 'path') return '_softquota_paths "$current" && return';
    return value === 'any' ? 'return' : `words=${quoted([value].flat().join(' '))} options=`;
  });
  return `# bash completion for softquota. ${written}

_softquota_paths() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_softquota() {
	local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]}
	local command=softquota options='' words='' paths='' at
	COMPREPLY=()
	for ((at = 1; at < COMP_CWORD; at++)); do
		case "$command \${COMP_WORDS[at]}" in
		${alternatives(commandNames(commands))}) command="$command \${COMP_WORDS[at]}" ;;
		esac
	done
	case "$command" in
${cases.join('\n')}
	esac
	case "$command $before" in
${values.join('\n')}
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
`;
}

export async function zshCompletion(): Promise<string> {
  const commands = await describedCommands();
  const pair = (name: string, says: string) =>
    quoted(`${name.replaceAll(':', '\\:')}:${says.split('\n')[0]}`);
  const cases = commands.map(command => {
    const options = command.options.map(({ name, description }) => pair(name, description));
    const below = command.below.map(({ name, summary }) => pair(name, summary));
    return `\t(${quoted(command.name)}) options=(${options.join(' ')}) commands=(${below.join(' ')}) paths=${command.takesPaths ? 'yes' : ''} ;;`;
  });
  const values = valueCases(commands, value => {
    if (value === 'path') return '_files; return';
    return value === 'any' ? "_message 'a value'; return" : `compadd -- ${[value].flat().join(' ')}; return`;
  });
  return `#compdef softquota
# zsh completion for softquota. ${written}

local command=softquota paths= at
local -a options commands
for ((at = 2; at < CURRENT; at++)); do
	case "$command $words[at]" in
	${alternatives(commandNames(commands))}) command="$command $words[at]" ;;
	esac
done
case "$command $words[CURRENT - 1]" in
${values.join('\n')}
esac
case "$command" in
${cases.join('\n')}
esac
if [[ $PREFIX == -* ]]; then
	_describe -o option options
elif (( $#commands )); then
	_describe command commands
elif [[ -n $paths ]]; then
	_files
fi
`;
}

export async function fishCompletion(): Promise<string> {
  const commands = await describedCommands();
  const lines = commands.flatMap(command => {
    const start = `complete -c softquota -n ${quoted(`__softquota_is "${command.name}"`)}`;
    return [
      ...command.below.map(({ name, summary }) => `${start} -a ${name} -d ${quoted(summary)}`),
      ...command.options.map(({ name, short, value, description }) => {
        const names = `-l ${name.replace(/^--/, '')}${short === null ? '' : ` -s ${short.slice(1)}`}`;
        return `${start} ${names}${fishValue(value)} -d ${quoted(description.split('\n')[0] ?? '')}`;
      }),
      ...(command.takesPaths ? [`${start} -F`] : []),
    ];
  });
  const names = commandNames(commands).join(' ');
  return `# fish completion for softquota. ${written}

function __softquota_is --argument-names wanted
    set -l command softquota
    for word in (commandline -opc)[2..]
        contains -- "$command $word" ${names}; and set command "$command $word"
    end
    test "$command" = "$wanted"
end

complete -c softquota -f
${lines.join('\n')}
`;
}

function fishValue(value: DescribedOption['value']): string {
  if (value === 'none') return '';
  if (value === 'path') return ' -r -F';
  return value === 'any' ? ' -x' : ` -x -a ${quoted([value].flat().join(' '))}`;
}
