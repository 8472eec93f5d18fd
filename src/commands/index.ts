/**
 * The command line: one file a command, clients of the daemon's sockets except `serve`.
 *
 * docs/commands.md is generated from their help.
 */

import { Command } from 'commander';
import { printable } from '../text/index.ts';
import { version } from '../version.ts';
import type { AddCommand } from './api-command.ts';
import { type Exit, withConfigOption, wrapped } from './settings.ts';
import { print, tell } from './streams.ts';

const exitStatuses =
  '\nExit status: 0 done (also if nothing had to change), 1 refused, a check failed, or what is named does not exist, ' +
  '2 wrong usage, 69 daemon not reachable, 70 internal error, 74 a file or the output cannot be read or written, ' +
  '77 not permitted, 78 wrong configuration.';

const commands: Readonly<Record<string, () => Promise<AddCommand>>> = {
  serve: async () => (await import('./serve.ts')).addServe,
  init: async () => (await import('./init.ts')).addInit,
  check: async () => (await import('./check.ts')).addCheck,
  usage: async () => (await import('./usage.ts')).addUsage,
  explain: async () => (await import('./usage.ts')).addExplain,
  history: async () => (await import('./usage.ts')).addHistory,
  events: async () => (await import('./events.ts')).addEvents,
  why: async () => (await import('./why.ts')).addWhy,
  reclaim: async () => (await import('./why.ts')).addReclaim,
  scan: async () => (await import('./scan.ts')).addScan,
  rule: async () => (await import('./rule.ts')).addRule,
  group: async () => (await import('./rule.ts')).addGroup,
  user: async () => (await import('./user.ts')).addUser,
  member: async () => (await import('./user.ts')).addMemberCommand,
  request: async () => (await import('./allowance.ts')).addRequest,
  allowance: async () => (await import('./allowance.ts')).addAllowance,
  notices: async () => (await import('./notices.ts')).addNotices,
  token: async () => (await import('./token.ts')).addToken,
  'sign-in-link': async () => (await import('./token.ts')).addSignInLink,
  auth: async () => (await import('./auth.ts')).addAuth,
  policy: async () => (await import('./policy.ts')).addPolicy,
  hooks: async () => (await import('./hooks.ts')).addHooks,
  worker: async () => (await import('./worker.ts')).addWorker,
  'receive-pack': async () => (await import('./receive-pack.ts')).addReceivePack,
  backup: async () => (await import('./backup.ts')).addBackup,
  restore: async () => (await import('./backup.ts')).addRestore,
  host: async () => (await import('./host.ts')).addHost,
  store: async () => (await import('./host.ts')).addStore,
  doctor: async () => (await import('./doctor.ts')).addDoctor,
  health: async () => (await import('./check.ts')).addHealth,
  playground: async () => (await import('./playground.ts')).addPlayground,
};

/** The first argument that is no `--config FILE`. */
function commandIn(args: readonly string[]): string | undefined {
  for (let at = 0; at < args.length; at += 1) {
    if (args[at] === '--config') at += 1;
    else if (args[at]?.startsWith('--config=') !== true) return args[at];
  }
  return undefined;
}

function commandsFor(wanted = ''): readonly (() => Promise<AddCommand>)[] {
  if (wanted === '-V' || wanted === '--version') return [];
  const named = Object.hasOwn(commands, wanted) ? commands[wanted] : undefined;
  return named === undefined ? Object.values(commands) : [named];
}

/** Takes `--config` from before the command, unless it stands behind it, too. */
function inheritConfig(command: Command): void {
  for (let above = command.parent; above !== null; above = above.parent) {
    const config: unknown = above.getOptionValue('config');
    const isGiven = command.getOptionValueSource('config') === 'cli';
    if (config !== undefined && !isGiven) command.setOptionValueWithSource('config', config, 'cli');
  }
}

/**
 * Builds the program.
 *
 * Only the command that `args` begin with is loaded, so that it starts quickly, and none for the version. If
 * they begin with anything else, such as `--help`, all commands are loaded.
 */
export async function buildProgram(exit: Exit, args: readonly string[] = []): Promise<Command> {
  const program = new Command('softquota')
    .description('A soft disk quota for any git server.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .showHelpAfterError('(softquota COMMAND --help shows more)')
    .configureOutput({
      writeOut: print,
      writeErr: tell,
      // Faults repeat what was typed, or pasted.
      outputError: (text, write) => write(text.split('\n').map(printable).join('\n')),
    })
    .configureHelp({ showGlobalOptions: false, subcommandTerm: command => command.name() })
    .addHelpText('after', wrapped(exitStatuses))
    .enablePositionalOptions()
    .exitOverride();
  withConfigOption(program);
  for (const add of commandsFor(commandIn(args))) (await add())(program, exit);
  for (const command of program.commands)
    if (command.commands.length > 0) withConfigOption(command).enablePositionalOptions();
  program.hook('preAction', (_, command) => inheritConfig(command));
  return program;
}
