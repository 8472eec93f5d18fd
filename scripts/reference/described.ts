/** The commands as their definitions describe them, for the manual page and for shells. */

import type { Command, Option } from 'commander';
import { buildProgram } from '../../src/commands/index.ts';

/** Width of the help, whatever terminal generates it. */
const helpWidth = 100;

export interface DescribedOption {
  readonly flags: string;
  /** `--config`; `-h` where there is no long name. */
  readonly name: string;
  readonly short: string | null;
  readonly description: string;
  /** Kind of value that follows it: nothing, a path, one of some words, or anything. */
  readonly value: 'none' | 'path' | 'any' | readonly string[];
}

export interface DescribedCommand {
  /** With the names above it: `softquota rule create`. */
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly usage: string;
  readonly options: readonly DescribedOption[];
  /** The commands below it, by their own names. */
  readonly below: readonly { readonly name: string; readonly summary: string }[];
  /** Tells whether its arguments are paths. */
  readonly takesPaths: boolean;
  /** The whole help, as it is printed. */
  readonly help: string;
  /** Text of the help after the options. */
  readonly after: string;
}

const pathNames: ReadonlySet<string> = new Set(['file', 'root', 'roots', 'dir', 'directory', 'repository']);

/** The program and every command, each before those below it. */
export async function describedCommands(): Promise<readonly DescribedCommand[]> {
  const program = await buildProgram(() => {});
  return [program, ...below(program)].map(described);
}

function below(command: Command): Command[] {
  return command.commands.flatMap(each => [each, ...below(each)]);
}

function described(command: Command): DescribedCommand {
  const help = command.createHelp();
  const text = helpOf(command);
  const options = help.visibleOptions(command);
  return {
    name: fullName(command),
    summary: command.summary() || command.description(),
    description: command.description(),
    usage: help.commandUsage(command),
    options: options.map(describedOption),
    below: help
      .visibleCommands(command)
      .map(each => ({ name: each.name(), summary: each.summary() || each.description() })),
    takesPaths: command.registeredArguments.some(argument => pathNames.has(argument.name())),
    help: text,
    after: text.slice(command.helpInformation().length).trim(),
  };
}

function describedOption(option: Option): DescribedOption {
  const { flags, long, short, description, required, optional, argChoices } = option;
  const placeholder = /[<[]([\w-]+)/.exec(flags)?.[1] ?? '';
  const value = argChoices ?? (pathNames.has(placeholder) ? 'path' : required || optional ? 'any' : 'none');
  return { flags, name: long ?? short ?? flags, short: short ?? null, description, value };
}

function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}

/** Returns the help with the text after it, which `helpInformation` leaves out. */
function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({
    writeOut: part => {
      text += part;
    },
    getOutHelpWidth: () => helpWidth,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  return text;
}
