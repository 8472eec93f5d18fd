/**
 * The store that several hosts share: Redis, alone, with TLS, behind Sentinels, or as a Cluster.
 *
 * An acknowledged change has been written to the master; a change of policy also by as many replicas as
 * WAIT_REPLICAS says. While Redis is away everything fails with `store_away`, within about 1.5 s at first and
 * then at once, and it is looked for until it is back. See keys.ts for what is kept where.
 */

import { SoftquotaError } from '../../errors.ts';
import type {
  DocumentRecord,
  EventQuery,
  EventRecord,
  LevelRecord,
  OwnerRecord,
  Position,
  RecordChanges,
  Records,
  ShareRecord,
} from '../record-store.ts';
import type {
  Basis,
  Change,
  ClaimOutcome,
  DocumentNames,
  HostClaim,
  HostRecord,
  PolicyChange,
  ServerAdvice,
  SharedPolicy,
  SharedState,
  SharedStore,
  SharesPage,
  VolatileChange,
} from '../shared.ts';
import { redisAddressOf } from './address.ts';
import { readAdvice } from './advice.ts';
import { Connection, type SharedStoreLog } from './connection.ts';
import { readEvents, readLevels } from './events.ts';
import { examineServer } from './examine.ts';
import { away } from './faults.ts';
import { Follower } from './follow.ts';
import * as governing from './governing.ts';
import { claimHost, forgetHost, leaveTask, readHosts, releaseHost, takeTask } from './hosts.ts';
import { redisKeys } from './keys.ts';
import { changesAfter, markOf } from './log.ts';
import { dropMarks, hasMarks, putMarks } from './marks.ts';
import { nextNumber } from './order.ts';
import { readPolicy, readState, readVolatile } from './policy.ts';
import { SerialQueue } from './serial-queue.ts';
import { editsOf, restoreShares, sharePages, sharesOf, writeShares } from './shares.ts';
import { mustBeRecords } from './values.ts';
import { leaveWalk, readWalkers, takeWalk } from './walkers.ts';

export interface RedisSettings {
  /** `redis://`, `rediss://`, `redis+sentinel://H1:P,H2:P/MASTER/0` or `redis+cluster://H1:P,H2:P`. */
  readonly address: string;
  /** Of every key and channel: letters, digits, `_` and `-`. */
  readonly prefix: string;
  /** Replicas that must have a change of policy before it is acknowledged; 0 by default. */
  readonly waitReplicas?: number;
  readonly log?: SharedStoreLog;
  /** For how long a host that is not heard of keeps its name, in milliseconds; 10 s by default. */
  readonly aliveMs?: number;
  /**
   * For how long a name is left to the daemon that may have it, where the store may have lost that, in
   * milliseconds: 3 s by default. Living ones keep their names more often.
   */
  readonly renewalMs?: number;
  /** Events that are kept at most; of more, the oldest go. */
  readonly mostEvents?: number;
  /**
   * The host that writes events and levels, by a name that it has after a restart, too: what it sent before,
   * and comes later, is refused. Unless given, they are written as they come.
   */
  readonly writer?: string;
}

/**
 * Rejects with `store_refused` where what lies there is another program's, or of a newer softquota, or not
 * for us.
 */
export async function openRedisStore(settings: RedisSettings): Promise<SharedStore> {
  if (!/^[\w-]+$/.test(settings.prefix)) {
    throw new SoftquotaError(
      'configuration',
      '[store] PREFIX: expected are letters, digits, "_" and "-", at least one',
    );
  }
  const store = new RedisStore(settings);
  const fault = await store.opened();
  if (fault?.code !== 'store_refused') return store;
  await store.close();
  throw fault;
}

/** What may wait in a queue; more is a sign that nobody looks at the answers. */
const mostWaiting = 2000;

class RedisStore implements SharedStore {
  readonly #settings: governing.GoverningSettings;
  readonly #follower: Follower;
  readonly #aliveMs: number;
  readonly #renewalMs: number;
  readonly #hasPassword: boolean;
  readonly #isLocal: boolean;
  readonly #isCluster: boolean;
  /** Two, so that a policy does not wait for the shares of a hundred thousand owners. */
  readonly #policyLane: SerialQueue;
  readonly #shareLane: SerialQueue;
  /** When each began, in Redis's numbers. */
  readonly #lives = new Map<string, number>();
  #closed: Promise<void> | null = null;

  constructor({
    address: text,
    prefix,
    waitReplicas = 0,
    log,
    aliveMs = 10_000,
    renewalMs = 3000,
    ...rest
  }: RedisSettings) {
    const address = redisAddressOf(text);
    const keys = redisKeys(prefix);
    const follower = new Follower(address, keys);
    this.#follower = follower;
    this.#aliveMs = aliveMs;
    this.#renewalMs = renewalMs;
    const look = { address, examine: examineServer(keys, address) };
    const main = new Connection({ ...look, log, ready: () => follower.tell() });
    this.#settings = {
      keys,
      main,
      governing: waitReplicas === 0 ? main : new Connection(look),
      waitReplicas,
      mostEvents: rest.mostEvents ?? 100_000,
      writer: rest.writer ?? null,
    };
    const full = () => away(main.where, 'too much waits for it already');
    this.#policyLane = new SerialQueue(mostWaiting, full);
    this.#shareLane = new SerialQueue(mostWaiting, full);
    this.#hasPassword = address.password !== null;
    this.#isCluster = address.kind === 'cluster';
    this.#isLocal = address.places.every(({ host }) => /^(?:localhost|127\..*|::1)$/.test(host));
  }

  opened(): Promise<SoftquotaError | null> {
    return this.#settings.main.opened();
  }

  async load(): Promise<Records> {
    const { main, keys } = this.#open();
    const [read, shares] = await bothEnded(
      this.#policyLane.run(() => readPolicy(main, keys)),
      this.#shareLane.run(async () => {
        const all: ShareRecord[] = [];
        for await (const { shares } of sharePages(main, keys)) all.push(...shares);
        return all;
      }),
    );
    return { ...read.policy, shares };
  }

  async events(query: EventQuery): Promise<readonly EventRecord[]> {
    const { main, keys } = this.#open();
    return this.#policyLane.run(() => readEvents(main, keys, query));
  }

  async levels(): Promise<readonly LevelRecord[]> {
    const { main, keys } = this.#open();
    return this.#policyLane.run(() => readLevels(main, keys));
  }

  async write(changes: RecordChanges): Promise<void> {
    const { main, keys } = this.#open();
    mustBeRecords(changes);
    const { shares, goneShares, ...others } = changes;
    const edits = editsOf(changes);
    const isAbout = (part: unknown) => (Array.isArray(part) ? part.length > 0 : part !== undefined);
    await bothEnded(
      Object.values(others).some(isAbout)
        ? this.#policyLane.run(() => governing.writeRegister(this.#settings, others))
        : undefined,
      edits.length > 0 ? this.#shareLane.run(() => writeShares(main, keys, edits)) : undefined,
    );
  }

  async state(): Promise<SharedState> {
    const { main, keys } = this.#open();
    return readState(main, keys);
  }

  async policy(): Promise<{ readonly state: SharedState; readonly policy: SharedPolicy }> {
    const { main, keys } = this.#open();
    return readPolicy(main, keys);
  }

  async commit(
    change: PolicyChange,
    basis: Basis,
    mark: string,
    server: string | null = null,
  ): Promise<Position | null> {
    const settings = this.#open();
    mustBeRecords(change);
    return this.#policyLane.run(() => governing.commit(settings, change, basis, mark, server));
  }

  async writeVolatile(change: VolatileChange): Promise<void> {
    const settings = this.#open();
    mustBeRecords(change);
    await governing.writeVolatile(settings, change);
  }

  async volatile(names: readonly DocumentNames[] | null): Promise<readonly DocumentRecord[] | null> {
    const { main, keys } = this.#open();
    return readVolatile(main, keys, names);
  }

  async restore(
    change: Omit<PolicyChange, 'events'>,
    basis: Position,
    positions: readonly Position[],
  ): Promise<'kept' | 'conflict'> {
    const settings = this.#open();
    mustBeRecords(change);
    return this.#policyLane.run(() => governing.restore(settings, change, basis, positions));
  }

  async replace(
    whole: SharedPolicy,
    basis: Position | null,
    next: Position,
    supersedes: readonly string[],
  ): Promise<'kept' | 'conflict'> {
    const settings = this.#open();
    mustBeRecords(whole);
    return this.#policyLane.run(() => governing.replace(settings, whole, basis, next, supersedes));
  }

  async enroll(owners: readonly OwnerRecord[]): Promise<readonly OwnerRecord[]> {
    const settings = this.#open();
    mustBeRecords({ owners });
    return this.#policyLane.run(() => governing.enroll(settings, owners));
  }

  async changesAfter(number: number, limit: number): Promise<readonly Change[] | null> {
    const { main, keys } = this.#open();
    return changesAfter(main, keys, number, limit);
  }

  async markOf(version: Pick<Position, 'generation' | 'version'>): Promise<string | null> {
    const { main, keys } = this.#open();
    return markOf(main, keys, version);
  }

  async sharesOf(ownerKeys: readonly string[]): Promise<readonly ShareRecord[]> {
    const { main, keys } = this.#open();
    return sharesOf(main, keys, [...new Set(ownerKeys)]);
  }

  async *sharePages(): AsyncGenerator<SharesPage> {
    const { main, keys } = this.#open();
    await this.#shareLane.run(async () => {});
    yield* sharePages(main, keys);
  }

  async restoreShares(shares: readonly ShareRecord[]): Promise<void> {
    const { main, keys } = this.#open();
    mustBeRecords({ shares });
    await this.#shareLane.run(() => restoreShares(main, keys, shares));
  }

  async mark(host: string, mark: string): Promise<void> {
    const { main, keys } = this.#open();
    if (this.#isCluster) await putMarks(main, keys, host, mark);
  }

  async isMarked(host: string, mark: string): Promise<boolean> {
    const { main, keys } = this.#open();
    return !this.#isCluster || hasMarks(main, keys, host, mark);
  }

  follow(told: () => void): () => void {
    return this.#follower.follow(told);
  }

  async claim(claim: HostClaim): Promise<ClaimOutcome> {
    const { main, keys } = this.#open();
    // Asked for before the name is taken for the first time, so that of two lives it tells which is the later
    // one.
    const since = this.#lives.get(claim.life) ?? (await nextNumber(main, keys));
    this.#lives.set(claim.life, since);
    return claimHost(main, keys, claim, { since, aliveMs: this.#aliveMs, renewalMs: this.#renewalMs });
  }

  async release(claim: HostClaim): Promise<void> {
    const { main, keys } = this.#open();
    await releaseHost(main, keys, claim);
  }

  async takeTask(task: string, host: string): Promise<boolean> {
    const { main, keys } = this.#open();
    return takeTask(main, keys, task, host, this.#aliveMs);
  }

  async leaveTask(task: string, host: string): Promise<void> {
    const { main, keys } = this.#open();
    await leaveTask(main, keys, task, host);
  }

  async walkers(): Promise<ReadonlyMap<string, string>> {
    const { main, keys } = this.#open();
    return readWalkers(main, keys);
  }

  async takeWalk(name: string, host: string): Promise<string> {
    const { main, keys } = this.#open();
    return takeWalk(main, keys, name, host);
  }

  async leaveWalk(name: string, host: string): Promise<void> {
    const { main, keys } = this.#open();
    await leaveWalk(main, keys, name, host);
  }

  async say(text: string): Promise<void> {
    const { main, keys } = this.#open();
    await main.run(client => client.publish(keys.said, text));
  }

  listen(heard: (text: string) => void): () => void {
    return this.#follower.listen(heard);
  }

  async hosts(): Promise<readonly HostRecord[]> {
    const { main, keys } = this.#open();
    return readHosts(main, keys);
  }

  async forgetHost(host: string): Promise<void> {
    const { main, keys } = this.#open();
    await this.#shareLane.run(() => forgetHost(main, keys, host));
    if (this.#isCluster) await dropMarks(main, keys, host);
  }

  async advice(): Promise<readonly ServerAdvice[]> {
    const { main, waitReplicas } = this.#open();
    return readAdvice(main, {
      waitReplicas,
      isOpen: !this.#hasPassword && !this.#isLocal,
    });
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  #open(): governing.GoverningSettings {
    if (this.#closed === null) return this.#settings;
    throw away(this.#settings.main.where, 'the store has been closed');
  }

  async #close(): Promise<void> {
    const { main, governing: changing } = this.#settings;
    this.#follower.close();
    await Promise.all([this.#policyLane.idle(), this.#shareLane.idle()]);
    main.close();
    changing.close();
  }
}

/** Whatever becomes of one, the other has ended too when this rejects. */
async function bothEnded<A, B>(
  a: Promise<A> | undefined,
  b: Promise<B> | undefined,
): Promise<[Awaited<A>, Awaited<B>]> {
  await Promise.allSettled([a, b]);
  return Promise.all([a, b]) as Promise<[Awaited<A>, Awaited<B>]>;
}
