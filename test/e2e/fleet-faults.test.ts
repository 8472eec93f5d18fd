/**
 * Redis hangs, dies or cannot be written for a while: hosts serve what they know, and then all is as the
 * disks say.
 */

import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { isLong } from '../run-length.ts';
import { type Server as Redis, startServer, startSingle } from '../store/redis-servers.ts';
import { until } from './ask.ts';
import { counted } from './count.ts';
import { fleetHost } from './fleet-hosts.ts';
import type { Server } from './server.ts';

const owners = ['alice', 'bob'] as const;
type Owner = (typeof owners)[number];

/** Two seconds are promised; the rest is for a host that does ten other things. */
const refusedWithinMs = 4000;

/** The answer of /readyz while the store is away. */
const away = /the shared store has not been usable since 20\d\d-/;

/** For how much longer Redis is stopped: in a long run a minute. */
const stoppedMs = isLong ? 60_000 : 0;

const lfsOf = (on: Server, owner: Owner) => join(on.folder, 'lfs', owner);

async function write(on: Server, owner: Owner, bytes: number): Promise<void> {
  await mkdir(lfsOf(on, owner), { recursive: true });
  await writeFile(join(lfsOf(on, owner), randomUUID()), Buffer.alloc(bytes));
}

/** An owner's disk on a host grows, and its daemon is told. */
async function grow(on: Server, owner: Owner, bytes: number): Promise<void> {
  await write(on, owner, bytes);
  const { status, text } = await on.ask('gate', '/v1/changed', { body: { path: lfsOf(on, owner) } });
  if (status !== 202) throw new Error(`changed: ${status} ${text}`);
}

/** The status of an attempt to set the one limit. */
async function limit(on: Server, bytes: number): Promise<number> {
  const question = { method: 'PATCH', body: { limit: bytes } };
  return (await on.ask('admin', '/api/v1/admin/quota/rules/total', question)).status;
}

/** Tells whether a check is answered, and as one that may be behind the times. */
async function isStale(on: Server): Promise<boolean> {
  const { status, text } = await on.ask('gate', '/v1/check?owner=alice&subject=size:git:lfs');
  if (status !== 200 && status !== 413) throw new Error(`a check is not answered: ${status} ${text}`);
  return JSON.parse(text).stale;
}

const linked = (replica: Redis) =>
  until(async () =>
    (await replica.cli('info', 'replication')).includes('master_link_status:up') ? true : null,
  );

t.test(
  'while Redis hangs, is gone or takes nothing all are answered, nothing is ruled, and nothing is lost',
  async t => {
    const { address, servers } = await startSingle(t);
    const [redis] = servers;
    const hosts: Server[] = [];
    for (const host of ['one', 'two']) {
      const server = await fleetHost(t, { address, host, started: false });
      for (const owner of owners) await write(server, owner, 1000);
      await server.start();
      hosts.push(server);
    }
    await hosts[0]?.admin('/admin/quota/rules', {
      body: { name: 'total', limit: -1, subjects: ['size:all'] },
    });
    /** The limit that was acknowledged, and those of which nobody knows whether they were made. */
    let limits = [-1];

    const growAll = async (bytes: number) => {
      for (const server of hosts) for (const owner of owners) await grow(server, owner, bytes);
    };
    const refuses = async (server: Server, what: string) => {
      const begun = performance.now();
      const bytes = 1000 + limits.length;
      limits.push(bytes);
      t.equal(await limit(server, bytes), 503, `${what}: nothing is ruled`);
      const ms = performance.now() - begun;
      t.ok(ms < refusedWithinMs, `${what}: and that is said after ${ms.toFixed(0)} ms`);
    };
    const serves = async (what: string) => {
      for (const server of hosts) await refuses(server, `${what}, at once`);
      for (const server of hosts) {
        await until(
          async () => ((await isStale(server)) && away.test(await server.reasons()) ? true : null),
          () => `${what}: answers are not called stale, or nobody says why\n${server.daemon.log}`,
        );
        await refuses(server, what);
        const own = await counted(lfsOf(server, 'alice'));
        await server.usageIs('alice', bytes => bytes >= own);
      }
    };
    /** Resolves once all know the disks as they are, and the same policy. */
    const settled = async (what: string) => {
      for (const server of hosts) await server.ready();
      for (const owner of owners) {
        const sizes = await Promise.all(hosts.map(server => counted(lfsOf(server, owner))));
        const total = sizes.reduce((sum, size) => sum + size, 0);
        for (const server of hosts) await server.usageIs(owner, bytes => bytes === total);
      }
      for (const server of hosts) await until(async () => ((await isStale(server)) ? null : true));
      const known = await until(async () => {
        const rules = await Promise.all(hosts.map(server => server.admin('/admin/quota/rules/total')));
        const [first, second] = rules.map(rule => Number(rule.limit));
        return first === second && first !== undefined ? first : null;
      });
      t.ok(limits.includes(known), `${what}: the limit ${known} is one of ${limits}`);
      limits = [known];
    };

    await settled('at first');
    const copy = await startServer(t, {
      directory: redis.directory,
      settings: ['--replicaof', '127.0.0.1', String(redis.port), '--repl-diskless-sync-delay', '0'],
    });
    const faults = {
      hangs: {
        begin: () => redis.halt(),
        end: async () => {
          await delay(stoppedMs);
          await serves('still stopped');
          redis.go();
        },
      },
      'is killed': { begin: () => redis.end('SIGKILL'), end: () => redis.start() },
      // Then Redis can be read, and not be written.
      'becomes a replica': {
        begin: async () => {
          await linked(copy);
          await copy.cli('replicaof', 'no', 'one');
          await redis.cli('replicaof', '127.0.0.1', String(copy.port));
          await linked(redis);
        },
        end: () => redis.cli('replicaof', 'no', 'one'),
      },
      'is full': {
        begin: () => redis.cli('config', 'set', 'maxmemory', '1'),
        end: () => redis.cli('config', 'set', 'maxmemory', '0'),
      },
    };
    for (const [what, { begin, end }] of Object.entries(faults)) {
      await begin();
      await growAll(700);
      await serves(what);
      await growAll(70);
      await end();
      await settled(what);
    }
  },
);
