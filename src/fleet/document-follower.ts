/**
 * Follows the documents and owners of the shared store, and writes there again what it has lost.
 *
 * The content of the store never undoes a policy that was reported as in force (divergence.ts). An answer of
 * the store counts for the moment when it was read: it never undoes a change that this host made later.
 */

import { isDeepStrictEqual } from 'node:util';
import type { DocumentReplica } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import type { Log } from '../log.ts';
import {
  newGeneration,
  type OwnerRecord,
  type PolicyRead,
  type PolicySince,
  type Position,
  type SharedState,
  type SharedStore,
} from '../store/index.ts';
import { type Divergence, judge, type KnownPolicy, type StoreVerdict } from './divergence.ts';
import { FailoverDelay } from './failover-delay.ts';

interface DocumentFollowerOptions {
  readonly replica: DocumentReplica;
  readonly store: Pick<SharedStore, 'policy' | 'policySince' | 'replace' | 'restore' | 'state'>;
  readonly log: Pick<Log, 'warn'>;
  /** Milliseconds that other hosts have, after a change of the Redis server, to write again what it lacks. */
  readonly settleMs: number;
  /** Called before the first policy of a store is put there, with what else this host knows. */
  begin(): Promise<void>;
  /** The store has these owners on record; `isWhole`: and no others. */
  enrolled(owners: readonly OwnerRecord[], isWhole: boolean): void;
}

/** Number of times that the policy is looked at again if it changes meanwhile. */
const mostTries = 20;

/** Documents of the store that are not in force here, and why. */
interface Diverged {
  readonly divergence: Divergence;
  readonly position: Position | null;
}

const nothingSince: PolicySince = { position: null, markThere: null, versions: [], change: null };

export class DocumentFollower {
  readonly #options: DocumentFollowerOptions;
  readonly failoverDelay: FailoverDelay;
  /** Null: what the store has is in force. */
  #diverged: Diverged | null = null;
  /** Tells whether this host was found to have no right to write documents. */
  #isReadOnly = false;
  /** Another server was met, and nobody was told yet. */
  #isOtherServer = false;
  /** Server on which the policy was found to be gone. */
  #emptiedServer: string | null = null;

  constructor(options: DocumentFollowerOptions) {
    this.#options = options;
    this.failoverDelay = new FailoverDelay(options.settleMs);
  }

  /** Why the store's policy is not in force here; null: it is. */
  get divergence(): Divergence | null {
    return this.#diverged?.divergence ?? null;
  }

  /** Position of the store's policy if it is not in force here; null if there is none, or it is in force. */
  get divergedPosition(): Position | null {
    return this.#diverged?.position ?? null;
  }

  /** Tells whether the server had lost the policy when it was met. */
  get wasEmptied(): boolean {
    return this.#emptiedServer !== null && this.#emptiedServer === this.failoverDelay.server;
  }

  /**
   * Gives what is in force, to be known before the store is looked at: what is changed here meanwhile is
   * later.
   */
  #known(): KnownPolicy {
    const { replica } = this.#options;
    const { position, isEmpty } = replica;
    return { position, isEmpty, markOf: version => replica.markOf(version) };
  }

  /**
   * Has what the store has in force, unless it has diverged; gives how the store stands, and whether it is on
   * another server than before. Rejects with `store_away`.
   */
  async sync(): Promise<{ readonly state: SharedState; readonly isOtherServer: boolean }> {
    const { store } = this.#options;
    for (let tries = 0; tries < mostTries; tries += 1) {
      const known = this.#known();
      const state = await store.state();
      if (this.failoverDelay.meet(state)) this.#isOtherServer = true;
      const since = await this.#since(known, state);
      const verdict = this.#judge(known, state, since);
      if (await this.#follow(verdict, known, state, since)) {
        const isOtherServer = this.#isOtherServer;
        this.#isOtherServer = false;
        return { state, isOtherServer };
      }
    }
    throw new SoftquotaError('store_away', 'others change the policy all the time');
  }

  /** Reads what has changed since the known policy, if the store may continue it. */
  async #since({ position }: KnownPolicy, state: SharedState): Promise<PolicySince> {
    const isLater =
      position !== null &&
      position.generation === state.position?.generation &&
      position.version < state.position.version;
    return isLater ? this.#options.store.policySince(position) : nothingSince;
  }

  #judge(known: KnownPolicy, state: SharedState, since: PolicySince): StoreVerdict {
    const verdict = judge(known, state, since.markThere);
    return verdict.is === 'lacking' && this.#isReadOnly
      ? { is: 'diverged', divergence: verdict.divergence }
      : verdict;
  }

  /** False: the store has to be looked at again. */
  async #follow(
    verdict: StoreVerdict,
    known: KnownPolicy,
    state: SharedState,
    since: PolicySince,
  ): Promise<boolean> {
    const { replica, store } = this.#options;
    switch (verdict.is) {
      case 'same':
        this.#diverged = null;
        this.#isReadOnly = false;
        return true;
      case 'empty':
        return this.#fill(known, state);
      case 'lacking':
        await this.#restore(await store.policy());
        return false;
      case 'later':
        this.#diverged = null;
        return this.#goOn(known, since);
      case 'instead':
        await this.#takeWhole(known, await store.policy());
        return false;
      case 'unrelated': {
        if (isDeepStrictEqual(this.#diverged?.position, state.position)) break;
        const read = await store.policy();
        // A policy that was put there from here is no other one.
        if (await replica.hasSameDocuments(read.policy)) {
          await this.#takeWhole(known, read);
          return false;
        }
      }
    }
    this.#diverged = { divergence: verdict.divergence, position: state.position };
    return true;
  }

  /** Takes what was changed. */
  async #goOn(known: KnownPolicy, since: PolicySince): Promise<boolean> {
    const { replica, store, enrolled } = this.#options;
    if (since.markThere !== null && since.markThere !== known.position?.mark) return false;
    if (since.change === null) {
      await this.#takeWhole(known, await store.policy(), since.versions);
      return false;
    }
    // Something was changed here meanwhile: it is looked at again with that.
    if (replica.position?.mark !== known.position?.mark) return false;
    replica.apply(since.change, since.versions);
    enrolled(since.change.owners, false);
    return true;
  }

  /** Takes a whole policy, unless something was changed here meanwhile. */
  async #takeWhole(known: KnownPolicy, read: PolicyRead, through: readonly Position[] = []): Promise<void> {
    const { replica, enrolled } = this.#options;
    const { position } = read.state;
    if (position === null || replica.position?.mark !== known.position?.mark) return;
    const leadsThere = through.at(-1)?.version === position.version;
    await replica.applyWhole(read.policy, leadsThere ? through : [position]);
    enrolled(read.policy.owners, true);
  }

  /**
   * Puts the known policy into a store that has none: one that was emptied, or is new. If another host is
   * faster, the next look finds its policy.
   */
  async #fill(known: KnownPolicy, { server }: SharedState): Promise<boolean> {
    const { replica, store, log, begin, enrolled } = this.#options;
    const { position } = known;
    if (this.#diverged !== null) {
      // It is left to those whose policy was there.
      this.#diverged = { ...this.#diverged, position: null };
      return true;
    }
    if (position === null) {
      // Others may know the policy of a store that was emptied.
      await this.failoverDelay.settled();
      await begin();
    } else this.#emptiedServer = server;
    const policy = await replica.policy();
    const positions = position === null ? [newGeneration()] : replica.positions;
    if (replica.position?.mark !== position?.mark) return false;
    try {
      if ((await store.replace(policy, null, positions, [])) === 'conflict') return false;
    } catch (error) {
      if (!(error instanceof SoftquotaError && error.code === 'store_refused') || position === null)
        throw error;
      // A host that only measures leaves it to the others.
      return true;
    }
    if (position === null) replica.apply({}, positions);
    else log.warn({}, 'the shared store had lost the policy in force: it is written again');
    enrolled(policy.owners, true);
    return false;
  }

  /**
   * Writes again what the store has lost; where somebody else does, or changes it, the next look finds that.
   */
  async #restore({ state, policy }: PolicyRead): Promise<void> {
    const { replica, store, log } = this.#options;
    const lacked = state.position === null ? null : await replica.lackedBy(state.position, policy);
    if (state.position === null || lacked === null || lacked.positions.length === 0) return;
    try {
      const outcome = await store.restore(lacked.change, state.position, lacked.positions);
      if (outcome === 'conflict') return;
      log.warn(
        { changes: lacked.positions.length },
        'the shared store has lost the last changes of the policy in force: they are written again',
      );
    } catch (error) {
      if (!(error instanceof SoftquotaError && error.code === 'store_refused')) throw error;
      // A host that only measures leaves it to the others.
      this.#isReadOnly = true;
    }
  }
}
