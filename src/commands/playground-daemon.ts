/** The playground's daemon: a process of its own, as on a real server. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SoftquotaError } from '../errors.ts';
import { packageDirectory } from '../package.ts';
import { within } from '../within.ts';
import { gateClient } from './client.ts';
import type { World } from './playground-world.ts';

export interface PlaygroundDaemon {
  /** Resolves when it ends, whoever ended it. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

const launcher = fileURLToPath(new URL('bin/softquota.js', packageDirectory));
const askAgainMs = 50;
const answerMs = 5000;
const readyWithinMs = 20_000;

/** Resolves once it has measured everything; rejects with what its log says where it ends before. */
export async function startDaemon(world: World): Promise<PlaygroundDaemon> {
  const logFile = join(world.directory, 'daemon.log');
  const log = openSync(logFile, 'w');
  const child = spawn(process.execPath, [launcher, 'serve', '--config', world.config], {
    stdio: ['ignore', log, log],
    env: withoutSettings(process.env),
  });
  closeSync(log);
  const ended = once(child, 'exit').then(() => {});
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  const deadline = performance.now() + readyWithinMs;
  while (!(await isReady(world.socket))) {
    if (child.exitCode !== null || child.signalCode !== null || performance.now() > deadline) {
      await stop();
      throw new SoftquotaError(
        'unreachable',
        `the daemon does not start:\n${await readFile(logFile, 'utf8')}`,
      );
    }
    await delay(askAgainMs);
  }
  return { ended, stop };
}

/** Removes settings that are meant for another daemon. */
function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('SOFTQUOTA_')));
}

async function isReady(socket: string): Promise<boolean> {
  const asked = gateClient({ server: { socket } }).ask({ path: '/readyz' });
  // One that takes the question and never answers is not ready either.
  const answer = await within(asked, answerMs, null).catch(() => null);
  return answer?.status === 200;
}
