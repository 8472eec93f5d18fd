/**
 * Reconciles owners whose decisions may have changed: not at once, but in rounds, so that many changes are
 * one round, and a slice at a time, so that everybody can be reconciled while all else goes on. After them
 * come the groups that have a limit of their members together, of whom one may have changed.
 */

import type { Documents } from '../documents/index.ts';
import type { Policy } from '../policy/index.ts';
import { inSlices, type Work, workInSlices } from '../slices.ts';

/**
 * Called with the key of an owner whose usage or groups have changed, or with null where anybody's decisions
 * may have: rules, groups or settings are others, or somebody has gone. It is called at once and in the midst
 * of the change, as often as there are any, so it only notes what it was told, and looks later.
 */
export type Watcher = (ownerKey: string | null) => void;

interface ReconcileLoopOptions {
  readonly ledger: {
    readonly documents: Pick<Documents, 'owners'>;
    readonly policy: Pick<Policy, 'membersOf' | 'pooled' | 'pooledOf'>;
    watch(watcher: Watcher): () => void;
  };
  /** Milliseconds between two rounds, at least; a second unless given. */
  readonly pauseMs?: number | undefined;
  /** Milliseconds before what failed is tried again; ten seconds unless given. */
  readonly retryMs?: number | undefined;
  /** Reconciles an owner whose decisions may have changed, in slices if it is work. The owner may be gone. */
  reconcile(ownerKey: string): Work<void> | void;
  /**
   * Reconciles a group of which the members' sum, or its limit, may have changed, or which has gone. Returns
   * true where all its members are to be reconciled as well. Absent: groups are nothing to it.
   */
  reconcilePool?(group: string): boolean;
  /** Ends a round, of `everybody` or some. Where it rejects it is called again, within `retryMs`. */
  finish(everybody: boolean): Promise<void>;
  /** Called when a round could not be ended. */
  onFailed(error: unknown): void;
}

/** A long round is followed by a long rest; most of the time goes to other things. */
const restFactor = 4;

export class ReconcileLoop {
  readonly #options: ReconcileLoopOptions;
  /** Owners whose decisions may have changed since they were reconciled. */
  readonly #pending = new Set<string>();
  readonly #pendingPools = new Set<string>();
  /** The ids of members who are reconciled because of others in their groups. */
  readonly #fellows = new Set<number>();
  /** The policy when groups were reconciled last. */
  #policy: ReconcileLoopOptions['ledger']['policy'] | null = null;
  #everybodyPending = false;
  /** Since a round ended well. */
  #everybodyReconciled = false;
  #isUnfinished = false;
  #unwatch: (() => void) | null = null;
  #timer: NodeJS.Timeout | null = null;
  #round: Promise<void> | null = null;
  /** On the monotonic clock. */
  #restUntil = 0;

  constructor(options: ReconcileLoopOptions) {
    this.#options = options;
  }

  start(): void {
    this.#unwatch ??= this.#options.ledger.watch(ownerKey => this.#enqueue(ownerKey));
    this.#enqueue(null);
  }

  reconcileAll(): void {
    this.#enqueue(null);
  }

  /** Resolves once all are reconciled whose decisions may have changed by now, or a round has failed. */
  async settled(): Promise<void> {
    if (this.#round !== null) await this.#round;
    if (this.#unwatch === null) return;
    // Somebody else who waited may have begun the next one.
    if (this.#round !== null || this.#isDue) await this.#begin();
  }

  /** Ends after a last round. */
  async close(): Promise<void> {
    await this.settled();
    this.#unwatch?.();
    this.#unwatch = null;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  get #isDue(): boolean {
    return this.#everybodyPending || this.#pending.size > 0 || this.#isUnfinished;
  }

  #enqueue(ownerKey: string | null): void {
    if (ownerKey === null) this.#everybodyPending = true;
    else this.#pending.add(ownerKey);
    this.#wake();
  }

  #wake(): void {
    if (this.#timer !== null || this.#round !== null || this.#unwatch === null || !this.#isDue) return;
    const waitMs = Math.max(this.#restUntil - performance.now(), 0);
    this.#timer = setTimeout(() => void this.#begin(), waitMs).unref();
  }

  #begin(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#round ??= this.#go().finally(() => {
      this.#round = null;
      this.#wake();
    });
    return this.#round;
  }

  async #go(): Promise<void> {
    const { pauseMs = 1000, retryMs = 10_000 } = this.#options;
    const began = performance.now();
    let restMs = pauseMs;
    try {
      await this.#reconcile();
      await this.#options.finish(this.#everybodyReconciled);
      this.#everybodyReconciled = false;
      this.#isUnfinished = false;
    } catch (error) {
      this.#isUnfinished = true;
      restMs = retryMs;
      this.#options.onFailed(error);
    }
    const ended = performance.now();
    this.#restUntil = ended + Math.max(restMs, restFactor * (ended - began));
  }

  async #reconcile(): Promise<void> {
    const { ledger, reconcile, reconcilePool = () => false } = this.#options;
    const { owners } = ledger.documents;
    const reconcileNext = (ownerKey: string) => {
      this.#pending.delete(ownerKey);
      const id = owners.named(ownerKey)?.id;
      for (const group of id === undefined ? [] : ledger.policy.pooledOf(id)) this.#pendingPools.add(group);
      return reconcile(ownerKey);
    };
    if (this.#everybodyPending) {
      this.#everybodyPending = false;
      this.#everybodyReconciled = true;
      try {
        await workInSlices(eachOf(owners.all, ({ key }) => reconcileNext(key)));
      } catch (error) {
        this.#everybodyPending = true;
        throw error;
      }
    }
    await workInSlices(eachOf(this.#pending, reconcileNext));
    const { policy } = ledger;
    // A member who left a group is not in it any more, and neither may the group be there.
    if (policy !== this.#policy) {
      for (const group of [...(this.#policy?.pooled ?? []), ...policy.pooled]) this.#pendingPools.add(group);
    }
    this.#policy = policy;
    await inSlices(this.#pendingPools, group => {
      this.#pendingPools.delete(group);
      if (reconcilePool(group)) for (const id of policy.membersOf(group)) this.#fellows.add(id);
    });
    const reconcileFellow = (id: number) => {
      this.#fellows.delete(id);
      const owner = owners.byId(id);
      return owner === undefined ? undefined : reconcile(owner.key);
    };
    await workInSlices(eachOf(this.#fellows, reconcileFellow));
  }
}

function* eachOf<Item>(items: Iterable<Item>, reconcile: (item: Item) => Work<void> | void): Work<void> {
  for (const item of items) {
    const work = reconcile(item);
    if (work !== undefined) yield* work;
    yield;
  }
}
