/**
 * Reconciles owners whose decisions may have changed: in rounds, so that many changes cost one round, and in
 * slices, so that a round over all owners does not block other work. Then reconciles the groups that have a
 * limit of their members together, if a member or the group may have changed.
 */

import type { Documents } from '../documents/index.ts';
import type { Policy } from '../policy/index.ts';
import { inSlices, type Work, workInSlices } from '../turns.ts';

/**
 * Called with the key of an owner whose usage or groups have changed, or with null if the decisions about any
 * owner may have changed: rules, groups or settings changed, or an owner was removed. The call comes during
 * each change, so a watcher only notes the key, and reads the ledger later.
 */
export type Watcher = (ownerKey: string | null) => void;

interface ReconcileLoopOptions {
  readonly ledger: {
    readonly documents: Pick<Documents, 'owners'>;
    readonly policy: Pick<Policy, 'membersOf' | 'pooled' | 'pooledOf'>;
    watch(watcher: Watcher): () => void;
  };
  /** Least pause between two rounds, in milliseconds; default: a second. */
  readonly pauseMs?: number | undefined;
  /** Reconciles an owner; may return work to do in slices. The owner may have been removed. */
  reconcile(ownerKey: string): Work<void> | void;
  /**
   * Reconciles a group whose limit or members' sum may have changed, or which was removed. Returns true if
   * all its members have to be reconciled, too.
   */
  reconcilePool?(group: string): boolean;
  /** Ends a round over all owners (`everybody`) or some. After a rejection the next round calls it again. */
  finish(everybody: boolean): Promise<void>;
  /** Called when a round has failed. */
  onFailed(error: unknown): void;
}

/** Pause after a failed round. */
const retryMs = 10_000;
/** The pause after a round lasts at least this many times as long as the round. */
const restFactor = 4;

export class ReconcileLoop {
  readonly #options: ReconcileLoopOptions;
  /** Keys of owners to reconcile. */
  readonly #pending = new Set<string>();
  readonly #pendingPools = new Set<string>();
  /** Ids of members to reconcile because `reconcilePool` returned true for their group. */
  readonly #fellows = new Set<number>();
  /** The policy at the time of the last round. */
  #policy: ReconcileLoopOptions['ledger']['policy'] | null = null;
  #everybodyPending = false;
  /** True if all owners were reconciled since the last round that succeeded. */
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

  /** Resolves once all owners that are pending now are reconciled, or a round has failed. */
  async settled(): Promise<void> {
    if (this.#round !== null) await this.#round;
    if (this.#unwatch === null) return;
    // Another caller of `settled` may have begun the next round meanwhile.
    if (this.#round !== null || this.#isDue) await this.#begin();
  }

  /** Runs a last round, and stops. */
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
    const { pauseMs = 1000 } = this.#options;
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
    // A busy owner, who changes again meanwhile, is for the next round.
    await workInSlices(eachOf([...this.#pending], reconcileNext));
    const { policy } = ledger;
    // A changed policy may have removed members from groups, or whole groups, so all groups are reconciled.
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
    await workInSlices(eachOf([...this.#fellows], reconcileFellow));
  }
}

function* eachOf<Item>(items: Iterable<Item>, reconcile: (item: Item) => Work<void> | void): Work<void> {
  for (const item of items) {
    const work = reconcile(item);
    if (work !== undefined) yield* work;
    yield;
  }
}
