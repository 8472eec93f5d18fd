/**
 * The shared store, or the way to it, fails for a while: hosts serve what they know, and then all is as the
 * disks and the rulers say.
 */

import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { isLong } from '../run-length.ts';
import { comes, type Server as Redis, startServer, startSingle } from '../store/redis-servers.ts';
import { until } from './ask.ts';
import { counted } from './count.ts';
import { fleetHost } from './fleet-hosts.ts';
import { Passage, type Way } from './passage.ts';
import type { Server } from './server.ts';

const owners = ['alice', 'bob'] as const;
type Owner = (typeof owners)[number];

/** Two seconds are promised; the rest is for a host that does ten other things. */
const refusedWithinMs = 4000;

/** The answer of /readyz while the store is away. */
const away = /the shared store has not been usable since 20\d\d-/;

class Trial {
  readonly servers: Server[] = [];
  readonly #t: Test;
  /**
   * The limits that the one rule may have: what was acknowledged last, then what nobody knows whether it was
   * made.
   */
  #limits: number[] = [];
  #asked = 0;

  private constructor(t: Test) {
    this.#t = t;
  }

  /** Two hosts over the Redis at `address`, with something of both owners on each, and a rule. */
  static async begin(t: Test, address: string): Promise<Trial> {
    const trial = new Trial(t);
    for (const host of ['one', 'two']) {
      const server = await fleetHost(t, { address, host, started: false });
      for (const owner of owners) await trial.#write(server, owner, 1000);
      await server.start();
      trial.servers.push(server);
    }
    await trial.one.admin('/admin/quota/rules', {
      body: { name: 'total', limit: -1, subjects: ['size:all'] },
    });
    trial.#limits = [-1];
    await trial.settled('at first');
    return trial;
  }

  get one(): Server {
    return this.#at(0);
  }

  get two(): Server {
    return this.#at(1);
  }

  #at(index: number): Server {
    const server = this.servers.at(index);
    if (server === undefined) throw new Error(`there is no host ${index}`);
    return server;
  }

  /** An owner's disk on a host grows, and its daemon is told. */
  async #grow(on: Server, owner: Owner, bytes: number): Promise<void> {
    const folder = await this.#write(on, owner, bytes);
    const { status, text } = await on.ask('gate', '/v1/changed', { body: { path: folder } });
    if (status !== 202) throw new Error(`changed: ${status} ${text}`);
  }

  /** Everybody's disk on every host. */
  async growAll(bytes: number): Promise<void> {
    for (const server of this.servers) for (const owner of owners) await this.#grow(server, owner, bytes);
  }

  /** The status of an attempt to set the one limit. */
  async limit(on: Server, limit: number): Promise<number> {
    const { status } = await on.ask('admin', '/api/v1/admin/quota/rules/total', {
      method: 'PATCH',
      body: { limit },
    });
    if (status < 300) this.#limits = [limit];
    else this.#limits.push(limit);
    return status;
  }

  /** Breaks the store, has all of it go on meanwhile, and mends it. */
  async survives(
    what: string,
    { begin, end }: { readonly begin: () => unknown; readonly end: () => unknown },
  ): Promise<void> {
    await begin();
    await this.growAll(700);
    await this.serves(what);
    await this.countsHere(what);
    await this.growAll(70);
    await end();
    await this.settled(what);
  }

  /**
   * While the store is away: everybody is answered, and says how it stands; nothing is ruled, from the first
   * moment on.
   */
  async serves(what: string): Promise<void> {
    for (const server of this.servers) await this.#refuses(server, `${what}, at once`);
    for (const server of this.servers) {
      // A store that can be read and not written is taken to be back for a moment each time that it is read.
      await until(
        async () => ((await isStale(server)) && away.test(await server.reasons()) ? true : null),
        () => `${what}: answers are not called stale, or nobody says why\n${server.daemon.log}`,
      );
      await this.#refuses(server, what);
    }
  }

  async #refuses(server: Server, what: string): Promise<void> {
    const began = performance.now();
    const status = await this.limit(server, 1000 + ++this.#asked);
    const ms = performance.now() - began;
    this.#t.equal(status, 503, `${what}: nothing is ruled`);
    this.#t.ok(ms < refusedWithinMs, `${what}: and that is said after ${ms.toFixed(0)} ms`);
  }

  /** Checks that each host counts what it measured itself, whether or not others hear of it. */
  async countsHere(what: string): Promise<void> {
    for (const server of this.servers) {
      const own = await onDisk(server, 'alice');
      const used = await server.usageIs('alice', bytes => bytes >= own);
      this.#t.ok(used >= own, `${what}: what is on a host's own disk counts there`);
    }
  }

  /**
   * Resolves once all know the disks as they are, and the same policy, with all that was acknowledged in it.
   */
  async settled(what: string): Promise<void> {
    for (const server of this.servers) await server.ready();
    for (const owner of owners) {
      const sizes = await Promise.all(this.servers.map(server => onDisk(server, owner)));
      const total = sizes.reduce((sum, size) => sum + size, 0);
      for (const server of this.servers) await server.usageIs(owner, bytes => bytes === total);
    }
    for (const server of this.servers) {
      await until(
        async () => ((await isStale(server)) ? null : true),
        () => `${what}: answers are still called stale`,
      );
    }
    const policies = await this.#samePolicies(what);
    const limit = policies.get('total');
    const mayBe = limit === undefined ? this.#limits.length === 0 : this.#limits.includes(limit);
    this.#t.ok(mayBe, `${what}: the limit ${limit} is one of ${this.#limits}`);
    this.#limits = limit === undefined ? [] : [limit];
  }

  /** From now on only what is there now has to be. */
  async takeAsItIs(): Promise<void> {
    const policies = await this.#samePolicies('as it is');
    const limit = policies.get('total');
    this.#limits = limit === undefined ? [] : [limit];
  }

  async #samePolicies(what: string): Promise<ReadonlyMap<string, number>> {
    let last: readonly string[] = [];
    return until(
      async () => {
        const policies = await Promise.all(this.servers.map(rulesOf));
        last = policies.map(policy => JSON.stringify([...policy].sort()));
        return new Set(last).size === 1 ? (policies[0] ?? null) : null;
      },
      () => `${what}: the hosts have different policies: ${last.join('\n')}`,
    );
  }

  async #write(on: Server, owner: Owner, bytes: number): Promise<string> {
    const folder = join(on.folder, 'lfs', owner);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, randomUUID()), Buffer.alloc(bytes));
    return folder;
  }
}

async function rulesOf(on: Server): Promise<ReadonlyMap<string, number>> {
  const rules: { name: string; limit: number }[] = await on.admin('/admin/quota/rules?limit=1000');
  return new Map(rules.map(({ name, limit }) => [name, limit]));
}

/** Tells whether a check is answered, and as one that may be behind the times. */
async function isStale(on: Server): Promise<boolean> {
  const { status, text } = await on.ask('gate', '/v1/check?owner=alice&subject=size:git:lfs');
  if (status !== 200 && status !== 413) throw new Error(`a check is not answered: ${status} ${text}`);
  return JSON.parse(text).stale;
}

async function onDisk(on: Server, owner: Owner): Promise<number> {
  const folder = join(on.folder, 'lfs', owner);
  return existsSync(folder) ? counted(folder) : 0;
}

/** For how much longer Redis is stopped: in a long run a minute. */
const stoppedMs = isLong ? 60_000 : 0;

const ways: Readonly<Record<string, Way>> = {
  'the way refuses all': { does: 'refuses' },
  'the way takes seconds': { does: 'delays', ms: 1500 },
  'the way cuts each connection': { does: 'cuts', afterBytes: 100 },
};

t.test('a Redis that hangs, is killed, becomes a replica or is full, and a bad way to it', async t => {
  const { servers } = await startSingle(t);
  const [redis] = servers;
  const passage = await Passage.to(t, redis.port);
  const trial = await Trial.begin(t, `redis://127.0.0.1:${passage.port}/0`);
  for (const [what, way] of Object.entries(ways)) {
    await trial.survives(what, {
      begin: () => passage.become(way),
      end: () => passage.become({ does: 'passes' }),
    });
  }
  await trial.survives('hangs', {
    begin: () => redis.halt(),
    end: async () => {
      await delay(stoppedMs);
      await trial.serves('still stopped');
      redis.go();
    },
  });
  await trial.survives('is killed', { begin: () => redis.end('SIGKILL'), end: () => redis.start() });

  const copy = await startServer(t, {
    directory: redis.directory,
    settings: ['--replicaof', '127.0.0.1', String(redis.port), '--repl-diskless-sync-delay', '0'],
  });
  const isLinked = async (from: typeof copy) =>
    (await from.cli('info', 'replication')).includes('master_link_status:up');
  await trial.survives('becomes a replica', {
    begin: async () => {
      await comes('the copy', () => isLinked(copy));
      await copy.cli('replicaof', 'no', 'one');
      await redis.cli('replicaof', '127.0.0.1', String(copy.port));
      await comes('the replica', () => isLinked(redis));
    },
    end: () => redis.cli('replicaof', 'no', 'one'),
  });
  await trial.survives('is full', {
    begin: () => redis.cli('config', 'set', 'maxmemory', '1'),
    end: () => redis.cli('config', 'set', 'maxmemory', '0'),
  });
});

/** All say that the policy in the store is not the known one, and rule nothing; the known one decides. */
async function hasDiverged(t: Test, trial: Trial, said: RegExp): Promise<void> {
  for (const server of trial.servers) {
    await until(
      async () => (said.test(await server.reasons()) ? true : null),
      () => `${said} is not said\n${server.daemon.log}`,
    );
    t.match(await server.softquota(['doctor', '--json']), { stdout: /policy_diverged/ });
    t.equal(await trial.limit(server, 5), 503, 'nothing is ruled');
    t.equal((await rulesOf(server)).get('total'), 7, 'the known policy is in force');
  }
}

async function repaired(on: Server, option: '--known' | '--stored'): Promise<string> {
  const { code, stdout, stderr } = await on.softquota(['store', 'repair', option, '--yes']);
  if (code !== 0) throw new Error(`repair: ${code}\n${stdout}${stderr}`);
  return stdout;
}

const repairNothing = (on: Server) => on.softquota(['store', 'repair', '--known', '--yes']);

/** Keeps nothing of what it had. */
async function forgetFiles({ directory }: Redis): Promise<void> {
  for (const name of await readdir(directory)) await rm(join(directory, name), { recursive: true });
}

/** Another policy in the store than the hosts know. */
const becomesAnother = (redis: Redis) => redis.cli('hset', 'softquota:policy', 'generation', 'another');

t.test('a Redis started without its files, with older ones, and with those of another policy', async t => {
  const { address, servers } = await startSingle(t);
  const [redis] = servers;
  const trial = await Trial.begin(t, address);
  t.equal(await trial.limit(trial.one, 7), 200);
  await trial.settled('known everywhere');

  await redis.end('SIGKILL');
  await forgetFiles(redis);
  await trial.growAll(300);
  await redis.start();
  await trial.settled('without its files');

  await redis.cli('save');
  const backup = join(redis.directory, '..', 'backup.rdb');
  await copyFile(join(redis.directory, 'dump.rdb'), backup);
  t.equal(await trial.limit(trial.one, 3), 200);
  t.equal(await trial.limit(trial.two, 7), 200);
  await trial.growAll(500);
  await trial.settled('after the backup');
  await redis.end('SIGKILL');
  await forgetFiles(redis);
  await copyFile(backup, join(redis.directory, 'dump.rdb'));
  // With an append-only file asked for, Redis would not look at the snapshot.
  await redis.start('--appendonly', 'no');
  await trial.growAll(100);
  await trial.settled('with older files, to which the hosts write the changes again');
  t.match(await repairNothing(trial.two), { code: 1, stderr: /nothing to repair/ });

  await becomesAnother(redis);
  await hasDiverged(t, trial, /does not continue the known one/);
  await repaired(trial.one, '--known');
  await trial.settled('the known one, by decision');
  await becomesAnother(redis);
  await hasDiverged(t, trial, /does not continue the known one/);
  await repaired(trial.one, '--stored');
  await trial.takeAsItIs();
  await trial.settled('the other one, by decision');
  t.equal((await rulesOf(trial.two)).get('total'), 7);
});
