/**
 * The store that several hosts share: Redis, alone, with TLS, or behind Sentinels.
 *
 * An acknowledged change has been written to the master; a change of policy also by as many replicas as
 * WAIT_REPLICAS says. While Redis is away everything fails with `store_away`, within about 1.5 s at first and
 * then at once, and it is looked for until it is back. See keys.ts for what is kept where.
 */

import type { SoftquotaError } from '../../errors.ts';
import { SerialQueue } from '../../serial-queue.ts';
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
import { readAdvice } from './advice.ts';
import { createContext, type RedisContext, type RedisSettings } from './context.ts';
import { readEvents, readLevels } from './events.ts';
import { away } from './faults.ts';
import { Follower } from './follow.ts';
import { claimHost, forgetHost, leaveTask, readHosts, releaseHost, takeTask } from './hosts.ts';
import { changesAfter, markOf } from './log.ts';
import { nextNumber } from './order.ts';
import { readPolicy, readState, readVolatile } from './policy.ts';
import * as changes from './policy-changes.ts';
import { editsOf, sharePages, sharesOf, writeShares } from './shares.ts';
import { mustBeRecords } from './values.ts';
import { leaveWalk, readWalkers, takeWalk } from './walkers.ts';

/** The most that may wait in a queue; more is a sign that nobody looks at the answers. */
const mostWaiting = 2000;

export class RedisStore implements SharedStore {
  readonly #context: RedisContext;
  readonly #follower: Follower;
  /** Two, so that a policy does not wait for the shares of a hundred thousand owners. */
  readonly #policyQueue: SerialQueue;
  readonly #shareQueue: SerialQueue;
  /** When each began, in Redis's numbers. */
  readonly #lives = new Map<string, number>();
  #closed: Promise<void> | null = null;

  private constructor(settings: RedisSettings) {
    this.#context = createContext(settings, () => this.#follower.tell());
    this.#follower = new Follower(this.#context);
    const full = () => away(this.#context.connection.where, 'too much waits for it already');
    const bound = { most: mostWaiting, full };
    this.#policyQueue = new SerialQueue(bound);
    this.#shareQueue = new SerialQueue(bound);
  }

  /**
   * Rejects with `store_refused` where what lies there is another program's, or of a newer softquota, or not
   * for us.
   */
  static async open(settings: RedisSettings): Promise<RedisStore> {
    const store = new RedisStore(settings);
    const fault = await store.opened();
    if (fault?.code !== 'store_refused') return store;
    await store.close();
    throw fault;
  }

  opened(): Promise<SoftquotaError | null> {
    return this.#context.connection.opened();
  }

  async load(): Promise<Records> {
    const context = this.#open();
    const [read, shares] = await bothEnded(
      this.#policyQueue.run(() => readPolicy(context)),
      this.#shareQueue.run(async () => {
        const all: ShareRecord[] = [];
        for await (const { shares } of sharePages(context)) all.push(...shares);
        return all;
      }),
    );
    return { ...read.policy, shares };
  }

  async events(query: EventQuery): Promise<readonly EventRecord[]> {
    const context = this.#open();
    return this.#policyQueue.run(() => readEvents(context, query));
  }

  async levels(): Promise<readonly LevelRecord[]> {
    const context = this.#open();
    return this.#policyQueue.run(() => readLevels(context));
  }

  async write(written: RecordChanges): Promise<void> {
    const context = this.#open();
    mustBeRecords(written);
    const { shares, goneShares, ...others } = written;
    const edits = editsOf(written);
    const isAbout = (part: unknown) => (Array.isArray(part) ? part.length > 0 : part !== undefined);
    await bothEnded(
      Object.values(others).some(isAbout)
        ? this.#policyQueue.run(() => changes.writeRecords(context, others))
        : undefined,
      edits.length > 0 ? this.#shareQueue.run(() => writeShares(context, edits)) : undefined,
    );
  }

  async state(): Promise<SharedState> {
    return readState(this.#open());
  }

  async policy(): Promise<{ readonly state: SharedState; readonly policy: SharedPolicy }> {
    return readPolicy(this.#open());
  }

  async commit(
    change: PolicyChange,
    basis: Position,
    mark: string,
    server: string | null = null,
  ): Promise<Position | null> {
    const context = this.#open();
    mustBeRecords(change);
    return this.#policyQueue.run(() => changes.commit(context, change, basis, mark, server));
  }

  async writeVolatile(change: VolatileChange): Promise<void> {
    const context = this.#open();
    mustBeRecords(change);
    await changes.writeVolatile(context, change);
  }

  async volatile(names: readonly DocumentNames[] | null): Promise<readonly DocumentRecord[] | null> {
    return readVolatile(this.#open(), names);
  }

  async restore(
    change: Omit<PolicyChange, 'events'>,
    basis: Position,
    positions: readonly Position[],
  ): Promise<'kept' | 'conflict'> {
    const context = this.#open();
    mustBeRecords(change);
    return this.#policyQueue.run(() => changes.restore(context, change, basis, positions));
  }

  async replace(
    whole: SharedPolicy,
    basis: Position | null,
    next: Position,
    supersedes: readonly string[],
  ): Promise<'kept' | 'conflict'> {
    const context = this.#open();
    mustBeRecords(whole);
    return this.#policyQueue.run(() => changes.replace(context, whole, basis, next, supersedes));
  }

  async enroll(owners: readonly OwnerRecord[]): Promise<readonly OwnerRecord[]> {
    const context = this.#open();
    mustBeRecords({ owners });
    return this.#policyQueue.run(() => changes.enroll(context, owners));
  }

  async changesAfter(number: number, limit: number): Promise<readonly Change[] | null> {
    return changesAfter(this.#open(), number, limit);
  }

  async markOf(version: Pick<Position, 'generation' | 'version'>): Promise<string | null> {
    return markOf(this.#open(), version);
  }

  async sharesOf(ownerKeys: readonly string[]): Promise<readonly ShareRecord[]> {
    return sharesOf(this.#open(), [...new Set(ownerKeys)]);
  }

  async *sharePages(): AsyncGenerator<SharesPage> {
    const context = this.#open();
    await this.#shareQueue.run(async () => {});
    yield* sharePages(context);
  }

  follow(told: () => void): () => void {
    return this.#follower.follow(told);
  }

  async claim(claim: HostClaim): Promise<ClaimOutcome> {
    const context = this.#open();
    // Asked for before the name is taken for the first time, so that of two lives it tells which is the later
    // one.
    const since = this.#lives.get(claim.life) ?? (await nextNumber(context));
    this.#lives.set(claim.life, since);
    return claimHost(context, claim, since);
  }

  async release(claim: HostClaim): Promise<void> {
    await releaseHost(this.#open(), claim);
  }

  async takeTask(task: string, host: string): Promise<boolean> {
    return takeTask(this.#open(), task, host);
  }

  async leaveTask(task: string, host: string): Promise<void> {
    await leaveTask(this.#open(), task, host);
  }

  async walkers(): Promise<ReadonlyMap<string, string>> {
    return readWalkers(this.#open());
  }

  async takeWalk(name: string, host: string): Promise<string> {
    return takeWalk(this.#open(), name, host);
  }

  async leaveWalk(name: string, host: string): Promise<void> {
    await leaveWalk(this.#open(), name, host);
  }

  async say(text: string): Promise<void> {
    const { connection, keys } = this.#open();
    await connection.run(client => client.publish(keys.said, text));
  }

  listen(heard: (text: string) => void): () => void {
    return this.#follower.listen(heard);
  }

  async hosts(): Promise<readonly HostRecord[]> {
    return readHosts(this.#open());
  }

  async forgetHost(host: string): Promise<void> {
    const context = this.#open();
    await this.#shareQueue.run(() => forgetHost(context, host));
  }

  async advice(lacksPolicy = false): Promise<readonly ServerAdvice[]> {
    return readAdvice(this.#open(), lacksPolicy);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  #open(): RedisContext {
    if (this.#closed === null) return this.#context;
    throw away(this.#context.connection.where, 'the store has been closed');
  }

  async #close(): Promise<void> {
    const { connection, policyConnection } = this.#context;
    this.#follower.close();
    await Promise.all([this.#policyQueue.idle(), this.#shareQueue.idle()]);
    connection.close();
    policyConnection.close();
  }
}

/** Waits for both. When this rejects, the other has ended, too. */
async function bothEnded<A, B>(
  a: Promise<A> | undefined,
  b: Promise<B> | undefined,
): Promise<[Awaited<A>, Awaited<B>]> {
  await Promise.allSettled([a, b]);
  return Promise.all([a, b]) as Promise<[Awaited<A>, Awaited<B>]>;
}
