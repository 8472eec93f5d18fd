/**
 * The command line: clients of the daemon's sockets except `serve`, a file for each command or for some that
 * belong together.
 *
 * docs/commands.md is generated from their help.
 */

import { Command, Option } from 'commander';
import { printable } from '../text.ts';
import { version } from '../version.ts';
import type { AddCommand } from './api-command.ts';
import { type Exit, withConfigOption, wrapped } from './settings.ts';
import { print, tell } from './streams.ts';

const exitStatuses =
  '\nExit status: 0 done (also if nothing had to change), 1 refused, a check failed, or what is named does not exist, ' +
  '2 wrong usage, 69 daemon not reachable, 70 internal error, 74 a file or the output cannot be read or written, ' +
  '77 not permitted, 78 wrong configuration.';

/** In the order of the help: the most used ones of each group first. */
const groups: Readonly<Record<string, Readonly<Record<string, () => Promise<AddCommand>>>>> = {
  'Look at usage and events:': {
    usage: async () => (await import('./usage.ts')).usageCommands.usage,
    why: async () => (await import('./why.ts')).spaceCommands.why,
    events: async () => (await import('./events.ts')).addEvents,
    history: async () => (await import('./usage.ts')).usageCommands.history,
  },
  'Decide who may store more:': {
    check: async () => (await import('./check.ts')).gateCommands.check,
    explain: async () => (await import('./usage.ts')).usageCommands.explain,
    request: async () => (await import('./allowance.ts')).allowanceCommands.request,
    allowance: async () => (await import('./allowance.ts')).allowanceCommands.allowance,
  },
  'Set limits, users and access:': {
    rule: async () => (await import('./rule.ts')).addRule,
    group: async () => (await import('./group.ts')).addGroup,
    user: async () => (await import('./user.ts')).userCommands.user,
    policy: async () => (await import('./policy.ts')).addPolicy,
    member: async () => (await import('./user.ts')).userCommands.member,
    token: async () => (await import('./token.ts')).accessCommands.token,
    'sign-in-link': async () => (await import('./token.ts')).accessCommands['sign-in-link'],
    auth: async () => (await import('./auth.ts')).addAuth,
  },
  'Operate the server:': {
    doctor: async () => (await import('./doctor.ts')).doctorCommands.doctor,
    scan: async () => (await import('./scan.ts')).addScan,
    reclaim: async () => (await import('./why.ts')).spaceCommands.reclaim,
    backup: async () => (await import('./backup.ts')).backupCommands.backup,
    restore: async () => (await import('./backup.ts')).backupCommands.restore,
    notices: async () => (await import('./notices.ts')).addNotices,
    health: async () => (await import('./check.ts')).gateCommands.health,
    host: async () => (await import('./host.ts')).fleetCommands.host,
    store: async () => (await import('./host.ts')).fleetCommands.store,
  },
  'Install and run:': {
    init: async () => (await import('./init.ts')).addInit,
    hooks: async () => (await import('./hooks.ts')).addHooks,
    serve: async () => (await import('./serve.ts')).serviceCommands.serve,
    worker: async () => (await import('./serve.ts')).serviceCommands.worker,
    'receive-pack': async () => (await import('./receive-pack.ts')).addReceivePack,
    playground: async () => (await import('./playground.ts')).addPlayground,
  },
};

/** The first argument that is neither `--config FILE` nor `--json`. */
function commandIn(args: readonly string[]): string | undefined {
  for (let at = 0; at < args.length; at += 1) {
    if (args[at] === '--config') at += 1;
    else if (args[at] !== '--json' && args[at]?.startsWith('--config=') !== true) return args[at];
  }
  return undefined;
}

/** Adds one command if `wanted` is its name, none for the version, else all. */
async function addCommands(program: Command, exit: Exit, wanted: string): Promise<void> {
  const isNamed = Object.values(groups).some(group => Object.hasOwn(group, wanted));
  if (wanted === '-V' || wanted === '--version') return;
  for (const [title, group] of Object.entries(groups)) {
    program.commandsGroup(title);
    for (const [name, load] of Object.entries(group))
      if (!isNamed || name === wanted) (await load())(program, exit);
  }
}

/** Applies `--config` from before the command's name, unless it is also given after the name. */
function inheritConfig(command: Command): void {
  for (let above = command.parent; above !== null; above = above.parent) {
    const config: unknown = above.getOptionValue('config');
    const isGiven = command.getOptionValueSource('config') === 'cli';
    if (config !== undefined && !isGiven) command.setOptionValueWithSource('config', config, 'cli');
  }
}

/** Names the right place of `--json` if it stands before a command. */
function refuseEarlyJson(program: Command, wanted: string): void {
  const refuse = () => program.error(`error: --json stands after the command: softquota ${wanted} … --json`);
  program.addOption(new Option('--json').hideHelp()).on('option:json', refuse);
}

/**
 * Builds the program.
 *
 * Only the command that `args` begin with is loaded, so that it starts quickly, and none for the version. If
 * they begin with anything else, such as `--help`, all commands are loaded. Without a command the state is
 * printed.
 */
export async function buildProgram(exit: Exit, args: readonly string[] = []): Promise<Command> {
  const program = new Command('softquota')
    .description('A soft disk quota for any git server. Without a command: prints the state in a few lines.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .showHelpAfterError('(softquota COMMAND --help shows more)')
    .configureOutput({
      writeOut: print,
      writeErr: tell,
      // Messages repeat what was typed or pasted.
      outputError: (text, write) => write(text.split('\n').map(printable).join('\n')),
    })
    .configureHelp({ showGlobalOptions: false, subcommandTerm: command => command.name() })
    .addHelpText('after', wrapped(exitStatuses))
    .enablePositionalOptions()
    .exitOverride();
  withConfigOption(program);
  const wanted = commandIn(args) ?? '';
  if (wanted === '' || wanted.startsWith('-'))
    (await import('./doctor.ts')).doctorCommands.state(program, exit);
  else refuseEarlyJson(program, wanted);
  await addCommands(program, exit, wanted);
  program.helpCommand('help [command]', 'print the help of a command');
  for (const command of program.commands)
    if (command.commands.length > 0) withConfigOption(command).enablePositionalOptions();
  program.hook('preAction', (_, command) => inheritConfig(command));
  return program;
}
