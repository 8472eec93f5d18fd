/**
 * Disks that really do not answer: a FUSE file system, whose server is stopped, and goes on when it is told
 * to.
 */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, statSync } from 'node:fs';
import type { Test } from 'tap';
import { Mounts } from '../../src/layout/index.ts';
import { DiskThreads } from '../../src/scan/disk-threads.ts';

export interface HangingDisk {
  /** Path that it is mounted at. */
  readonly path: string;
  /** Directory of its files, which can be looked at while the disk hangs. */
  readonly behind: string;
  /** From now on whoever looks at it waits. */
  hang(): void;
  /** Everybody who waits is answered, and whoever comes. */
  answer(): void;
}

/** Mounts a disk at a directory; it answers until it is told to hang. Needs root. */
export async function hangingDisk(t: Test, path: string): Promise<HangingDisk> {
  const behind = `${path}-behind`;
  mkdirSync(path, { recursive: true });
  mkdirSync(behind, { recursive: true });
  // No cache of the system's may answer in its place.
  const options = ['attr_timeout=0', 'entry_timeout=0', 'negative_timeout=0'].join();
  const server = spawn('bindfs', ['-f', '-o', options, behind, path], { stdio: 'ignore' });
  await once(server, 'spawn');
  t.teardown(async () => {
    // Callers that still wait are told that the server is gone.
    if (server.exitCode === null && server.signalCode === null) {
      const ended = once(server, 'exit');
      server.kill('SIGKILL');
      await ended;
    }
    execFileSync('umount', ['-l', path]);
  });
  const { dev } = statSync(behind);
  while (statSync(path).dev === dev) {
    if (server.exitCode !== null) throw new Error(`bindfs ended with ${server.exitCode}`);
    await new Promise(setImmediate);
  }
  return {
    path,
    behind,
    hang: () => {
      server.kill('SIGSTOP');
    },
    answer: () => {
      server.kill('SIGCONT');
    },
  };
}

/** Threads that look at disks, by themselves. */
export function diskThreads(given: Partial<ConstructorParameters<typeof DiskThreads>[0]> = {}): DiskThreads {
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const usual = { mounts: new Mounts(), hungAfterMs: 30_000, workers: 2, log, onAnswer: () => {} };
  return new DiskThreads({ ...usual, ...given });
}
