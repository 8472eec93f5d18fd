/**
 * A Redis of the bench's own, on a free port of the loopback, that keeps what it acknowledges as a user's
 * should.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from './processes.ts';

export interface RedisServer {
  readonly port: number;
  /** For looking at it. */
  readonly client: Redis;
  /** A number of INFO's. */
  figure(name: string): Promise<number>;
  stop(): Promise<void>;
}

export async function startRedis(directory: string): Promise<RedisServer> {
  mkdirSync(directory, { recursive: true });
  const port = await freePort();
  const settings = ['--save', '', '--appendonly', 'yes', '--bind', '127.0.0.1', '--dir', directory];
  const child = spawn('redis-server', ['--port', String(port), ...settings], { stdio: 'ignore' });
  const kill = () => child.kill('SIGKILL');
  process.on('exit', kill);
  const failed = once(child, 'error').then(([error]) => Promise.reject(error));
  const client = new Redis({ port, host: '127.0.0.1', retryStrategy: () => 20, maxRetriesPerRequest: 500 });
  client.on('error', () => {});
  await Promise.race([client.ping(), failed]);
  return {
    port,
    client,
    figure: async name => {
      const found = new RegExp(`^${name}:(\\d+)`, 'm').exec(await client.info());
      return Number(found?.[1]);
    },
    stop: async () => {
      client.disconnect();
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      await gone;
      process.off('exit', kill);
    },
  };
}

/** Resolves when it is so. */
export async function comes(isSo: () => Promise<boolean>, everyMs = 20): Promise<void> {
  while (!(await isSo())) await delay(everyMs);
}
