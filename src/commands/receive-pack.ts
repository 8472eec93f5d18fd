/**
 * `softquota receive-pack`: runs git receive-pack through hooks/receive-pack/git, with the settings of the
 * repository's pre-receive hook. ssh and web servers should call that script directly.
 */

import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { SoftquotaError } from '../errors.ts';
import { hooksStatus, writePrograms } from '../git/index.ts';
import { type Exit, unreadConfig, withConfigOption, wrapped } from './settings.ts';

export function addReceivePack(program: Command, exit: Exit): void {
  withConfigOption(program.command('receive-pack'), unreadConfig)
    .summary("run git receive-pack, and stop an over-limit owner's upload early")
    .description(
      'Wraps git receive-pack. If the owner is over the limit, a push that adds data ends after a few kilobytes, with ' +
        'the message of the pre-receive hook. All arguments go to git. The command asks where the pre-receive hook of the ' +
        'repository asks, by the shell script receive-pack/git that softquota hooks install --programs writes. In a ' +
        "server's configuration, use the script itself, because it starts faster. See docs/receive-pack.md.",
    )
    .usage("[git's arguments]")
    .argument('[arguments...]')
    .allowUnknownOption()
    .addHelpText('after', wrapped('\nExit status: the exit status of git.'))
    .action(async (args: readonly string[]) => exit(await receivePack(args)));
}

/** Resolves with git's exit status. */
async function receivePack(args: readonly string[]): Promise<number> {
  const [status] = await hooksStatus([resolve(args.at(-1) ?? '.')]);
  const isRead = status !== undefined && !('fault' in status);
  // Null if no hook of the repository checks pushes.
  const settings = isRead ? status.hooks['pre-receive'].settings : null;
  if (settings === null) return run('git', args);
  const folder = await mkdtemp(join(tmpdir(), 'softquota-'));
  try {
    await writePrograms(folder, settings);
    return await run(join(folder, 'receive-pack', 'git'), args);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const signals = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const;

function run(git: string, args: readonly string[]): Promise<number> {
  const child = spawn(git, ['receive-pack', ...args], { stdio: 'inherit' });
  const pass = (signal: NodeJS.Signals) => void child.kill(signal);
  for (const signal of signals) process.on(signal, pass);
  return new Promise((done, reject) => {
    child.once('error', cause =>
      reject(new SoftquotaError('configuration', `${git} cannot be run: ${cause.message}`, { cause })),
    );
    child.once('close', (status, signal) => {
      for (const each of signals) process.off(each, pass);
      done(status ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  });
}
