/**
 * The command line: one file a command, clients of the daemon's sockets except `serve`.
 *
 * Their help is also what docs/commands.md is generated from. Each file is loaded at every start, so a
 * command imports what only it needs when it runs, not before.
 */

import { Command } from 'commander';
import { printable } from '../text/index.ts';
import { version } from '../version.ts';
import { addAuth } from './auth.ts';
import { addBackup, addRestore } from './backup.ts';
import { addCheck } from './check.ts';
import { addDoctor } from './doctor.ts';
import type { Exit } from './exit.ts';
import { addGroup } from './group.ts';
import { addHealth } from './health.ts';
import { addHooks } from './hooks.ts';
import { addHost } from './host.ts';
import { addInit } from './init.ts';
import { addPlayground } from './playground.ts';
import { addPolicy } from './policy.ts';
import { addReceivePack } from './receive-pack.ts';
import { addRule } from './rule.ts';
import { addScan } from './scan.ts';
import { addServe } from './serve.ts';
import { addSignInLink } from './sign-in-link.ts';
import { addStore } from './store.ts';
import { print, tell } from './streams.ts';
import { addToken } from './token.ts';
import { addUsage } from './usage.ts';
import { addUser } from './user.ts';

const exitStatuses = `
Exit status: 0 done, 1 refused or a check failed, 2 wrong usage, 69 daemon not reachable,
70 internal fault, 74 a file or the output cannot be read or written, 77 not permitted,
78 faulty configuration.`;

export function buildProgram(exit: Exit): Command {
  const program = new Command('softquota')
    .description('A soft disk quota for any git server.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .showHelpAfterError('(softquota COMMAND --help tells more)')
    .configureOutput({
      writeOut: print,
      writeErr: tell,
      // Faults repeat what was typed, or pasted.
      outputError: (text, write) => write(text.split('\n').map(printable).join('\n')),
    })
    .configureHelp({ showGlobalOptions: false })
    .addHelpText('after', exitStatuses)
    .exitOverride();
  const commands = [
    addServe,
    addInit,
    addCheck,
    addUsage,
    addScan,
    addRule,
    addGroup,
    addUser,
    addToken,
    addSignInLink,
    addAuth,
    addPolicy,
    addHooks,
    addReceivePack,
    addBackup,
    addRestore,
    addHost,
    addStore,
    addDoctor,
    addHealth,
    addPlayground,
  ];
  for (const add of commands) add(program, exit);
  return program;
}
