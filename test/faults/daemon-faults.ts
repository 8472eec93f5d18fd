/**
 * Faults that can befall a daemon, its disk and its Redis: each begins, and is over when its function
 * resolves.
 */

import { once } from 'node:events';
import { copyFile, open, rm, stat, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Server } from '../e2e/server.ts';
import type { Server as Redis } from '../store/redis-servers.ts';
import { fill } from './small-disk.ts';

export type Fault = readonly [name: string, happens: () => Promise<unknown>];

/** Times that something hangs or is away: shorter or longer than the five seconds that hooks wait. */
const briefMs = 800;
const longMs = 6000;
const idleConnections = 2000;

export function daemonFaults(server: Server, redis: Redis): readonly Fault[] {
  const data = join(server.folder, 'data');
  const store = join(data, 'softquota.db');
  const killed = async (meanwhile: () => Promise<unknown> = async () => {}) => {
    await server.stop('SIGKILL');
    await meanwhile();
    await server.start({ ready: false });
  };
  const stopped = async (milliseconds: number) => {
    const { child } = server.daemon;
    child.kill('SIGSTOP');
    await delay(milliseconds);
    child.kill('SIGCONT');
  };
  const full = async (meanwhile: () => Promise<unknown>) => {
    const makeRoom = fill(data);
    try {
      await meanwhile();
    } finally {
      makeRoom();
    }
    await server.ready();
  };
  return [
    ['kill -9 and a start', () => killed()],
    [
      'a restart',
      async () => {
        await server.stop();
        await server.start({ ready: false });
      },
    ],
    ['a daemon that is gone for a while', () => killed(() => delay(longMs))],
    ['kill -9 twice', () => killed(() => server.start({ ready: false }).then(() => server.stop('SIGKILL')))],
    ['SIGSTOP for less than hooks wait', () => stopped(briefMs)],
    ['SIGSTOP for longer than hooks wait', () => stopped(longMs)],
    ['idle connections without end', () => idle(server)],
    ['a full disk', () => full(() => delay(briefMs))],
    ['kill -9 on a full disk', () => full(() => killed())],
    [
      'a damaged store, and its copy put back',
      async () => {
        await server.stop();
        await copyFile(store, `${store}.copy`);
        await damage(store);
        const { code } = await server.startInVain();
        if (code !== 78) throw new Error(`a daemon with a damaged store ended with ${code}`);
        await copyFile(`${store}.copy`, store);
        await rm(`${store}.copy`);
        await server.start({ ready: false });
      },
    ],
    ['a damaged cache of walks', () => killed(() => damage(join(data, 'scan.db')))],
    [
      'a Redis that hangs',
      async () => {
        redis.halt();
        await delay(longMs);
        redis.go();
      },
    ],
    [
      'a Redis that is killed',
      async () => {
        await redis.end('SIGKILL');
        await delay(briefMs);
        await redis.start();
      },
    ],
    [
      'kill -9 while Redis is away',
      async () => {
        await redis.end('SIGKILL');
        await killed();
        await redis.start();
      },
    ],
    [
      'a faulty app.ini, read anew',
      async () => {
        const from = server.daemon.lines.length;
        await writeFile(server.config, '[quota]\nENABLED = perhaps\n');
        server.daemon.child.kill('SIGHUP');
        await server.daemon.logged(/^the configuration is not changed/, from);
        await server.configure({});
      },
    ],
  ];
}

/** Overwrites the middle of a file. */
async function damage(file: string): Promise<void> {
  const { size } = await stat(file);
  const handle = await open(file, 'r+');
  await handle.write(Buffer.alloc(Math.floor(size / 2), 0xaa), 0, null, Math.floor(size / 4));
  await handle.close();
}

/** Connections that say nothing, more and more of them, and then all go. */
async function idle(server: Server): Promise<void> {
  const sockets: Socket[] = [];
  try {
    while (sockets.length < idleConnections) {
      const batch = Array.from({ length: 100 }, () => connect({ path: server.socket('gate') }));
      sockets.push(...batch);
      // Refused is as good as taken here.
      await Promise.all(batch.map(socket => once(socket, 'connect').catch(() => {})));
    }
  } finally {
    for (const socket of sockets) socket.on('error', () => {}).destroy();
  }
}
