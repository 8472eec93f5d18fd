/**
 * Hosts whose shared store is about to fail: what grows on their disks and is ruled on them meanwhile, and
 * whether at the end all of them know the disks as they are, and the policy as it was acknowledged.
 */

import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
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

export class Trial {
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

export async function rulesOf(on: Server): Promise<ReadonlyMap<string, number>> {
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
