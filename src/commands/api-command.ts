/**
 * Commands as entries of a table.
 *
 * An entry says what is typed, which route is called, and what people read. This file adds what all commands
 * have in common: options, `--json`, escaping and exit statuses.
 */

import type { Command, Option } from 'commander';
import { exitCodes } from '../errors.ts';
import { type ApiCall, type DaemonClient, pathStep } from './client.ts';
import { type Column, escapedLines, jsonText, type Texts, table } from './output.ts';
import {
  type CommonOptions,
  type ConfigOption,
  clientFrom,
  type Exit,
  withConfigOption,
  wrapped,
} from './settings.ts';
import { print, printKept } from './streams.ts';

export type AddCommand = (parent: Command, exit: Exit) => void;

interface Help {
  readonly summary: string;
  readonly description?: string;
}

/** `{name}` in a route or a sentence stands for the argument, or else the option, of that name. */
export interface ApiCommand<Answer, Options> extends Help {
  /** The help of each argument, in their order. */
  readonly arguments?: readonly string[];
  /** The help of `--config`; null: the command has options of its own for it, or none. */
  readonly config?: string | null;
  /** Options besides `--config` and `--json`. */
  readonly options?: readonly Option[];
  /** Help below the options. */
  readonly after?: string;
  readonly route?: `${NonNullable<ApiCall['method']>} /${string}`;
  readonly body?: (options: Options, ...args: string[]) => unknown;
  /** Calls the API where one fixed route is not enough; replaces `route`. */
  readonly ask?: (client: DaemonClient, options: Options, ...args: string[]) => Promise<Answer>;
  /** Gets the answer without the administrator's API; replaces `route`. */
  readonly find?: (options: Options & ConfigOption, ...args: string[]) => Promise<Answer>;
  /** The value that `--json` prints; the answer unless given. */
  readonly json?: (answer: Answer) => unknown;
  /** The columns of a list; replace `text`. */
  readonly columns?: Answer extends readonly (infer Row)[] ? readonly Column<Row>[] : never;
  /** The line for an empty list; without it the titles are printed. */
  readonly none?: string | ((options: Options, ...args: string[]) => string);
  /** Whole lines, or a list of lines that are not yet escaped. */
  readonly text?: (answer: Answer, options: Options, ...args: string[]) => string | readonly Texts[];
  /** A sentence that replaces `text` if there is no result to show, and so no `--json`. */
  readonly done?: string | ((options: Options) => string);
  /** The output exists only once, such as a sign-in link, so it must not get lost. */
  readonly isKept?: true;
  /** The exit status, 0 unless given. */
  readonly status?: (answer: Answer) => number;
  /** Runs the whole command, and prints; returns the exit status. Replaces everything from `route` on. */
  readonly run?: (options: Options & CommonOptions, args: readonly string[]) => number | Promise<number>;
  /** With `run`: there is no `--json`. */
  readonly hasNoJson?: true;
}

/** Makes a command with subcommands. */
export function resource(
  name: string,
  { summary, description, commands }: Help & { readonly commands: readonly AddCommand[] },
): AddCommand {
  return (program, exit) => {
    const parent = program.command(name).summary(summary);
    if (description !== undefined) parent.description(description);
    for (const add of commands) add(parent, exit);
  };
}

/**
 * Makes a command. `Answer` is the type of its route's answer; `words` are the name and the arguments, such
 * as `add-rule <group> <rule>`, or null for the program without a command.
 */
export function apiCommand<Answer, Options = unknown>(
  words: string | null,
  entry: ApiCommand<Answer, Options>,
): AddCommand {
  return (parent, exit) => {
    const command = words === null ? parent : parent.command(words).summary(entry.summary);
    if (entry.config !== null) withConfigOption(command, entry.config);
    if (entry.done === undefined && entry.hasNoJson !== true)
      command.option('--json', 'print JSON, for programs');
    if (entry.description !== undefined) command.description(entry.description);
    for (const [at, argument] of command.registeredArguments.entries()) {
      argument.description = entry.arguments?.[at] ?? '';
    }
    for (const option of entry.options ?? []) {
      command.addOption(option);
      if (option.parseArg !== gathered) refuseSecond(command, option);
    }
    if (entry.after !== undefined) command.addHelpText('after', wrapped(entry.after));
    command.action(async () => {
      const options = command.opts<Options & CommonOptions>();
      if (entry.run !== undefined) return exit(await entry.run(options, command.args));
      const args: string[] = command.processedArgs;
      const named: Record<string, unknown> = { ...command.opts() };
      for (const [at, argument] of command.registeredArguments.entries()) named[argument.name()] = args[at];
      const nameOf = (name: string): string => String(named[name]);
      const answer = await answerOf(entry, options, args, nameOf);
      const text = outputOf(entry, answer, options, args, nameOf);
      if (entry.isKept) printKept(text);
      else print(text);
      exit(entry.status?.(answer) ?? exitCodes.done);
    });
  };
}

/** Collects the values of an option that may be given several times. */
export function gathered(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/** Refuses a second value of an option that has one, instead of forgetting the first. */
function refuseSecond(command: Command, option: Option): void {
  if (!option.required && !option.optional) return;
  let isGiven = false;
  command.on(`option:${option.name()}`, () => {
    if (isGiven) command.error(`error: option '${option.flags}' is given twice`);
    isGiven = true;
  });
}

async function answerOf<Answer, Options>(
  { find, ask, route = 'GET /', body }: ApiCommand<Answer, Options>,
  options: Options & ConfigOption,
  args: readonly string[],
  nameOf: (name: string) => string,
): Promise<Answer> {
  if (find !== undefined) return find(options, ...args);
  const client = clientFrom(options);
  if (ask !== undefined) return ask(client, options, ...args);
  // The type of `route` guarantees both parts.
  const [method, path] = route.split(' ') as [NonNullable<ApiCall['method']>, string];
  const step = (name: string) => pathStep(nameOf(name));
  return client.get<Answer>({ method, path: filled(path, step), body: body?.(options, ...args) });
}

function outputOf<Answer, Options>(
  { done, json, columns, none, text }: ApiCommand<Answer, Options>,
  answer: Answer,
  options: Options & CommonOptions,
  args: readonly string[],
  nameOf: (name: string) => string,
): string {
  if (done !== undefined)
    return escapedLines([filled(typeof done === 'string' ? done : done(options), nameOf)]);
  if (options.json === true) return jsonText(json === undefined ? answer : json(answer));
  if (columns !== undefined && Array.isArray(answer)) {
    if (answer.length > 0 || none === undefined) return table(answer, columns);
    return escapedLines([typeof none === 'string' ? none : none(options, ...args)]);
  }
  const shown = text?.(answer, options, ...args) ?? '';
  return typeof shown === 'string' ? shown : escapedLines(shown);
}

function filled(template: string, textFor: (name: string) => string): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => textFor(name));
}
