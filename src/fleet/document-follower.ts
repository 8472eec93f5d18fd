/**
 * Follows the documents and owners of the shared store: change by change from the log, or all of them again
 * if changes were missed.
 *
 * The content of the store never undoes a policy that was reported as in force (divergence.ts). An answer of
 * the store counts for the moment when it was read: it never undoes a change that this host made later.
 */

import type { DocumentReplica } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import {
  type Change,
  newGeneration,
  type OwnerRecord,
  type Position,
  type SharedPolicy,
  type SharedState,
  type SharedStore,
} from '../store/index.ts';
import { keysIn, markIn, versionOf } from './changes.ts';
import { type Divergence, judge, type KnownPolicy, type StoreVerdict } from './divergence.ts';
import { FailoverDelay } from './failover-delay.ts';
import type { Tell } from './messages.ts';
import type { VolatileDocuments } from './volatile.ts';

interface DocumentFollowerOptions {
  readonly replica: DocumentReplica;
  readonly volatile: Pick<VolatileDocuments, 'read' | 'readAll'>;
  readonly store: Pick<SharedStore, 'markOf' | 'policy' | 'replace' | 'restore'>;
  readonly tell: Tell;
  /**
   * Milliseconds that other hosts have, after a change of the Redis server, to write again what it lacks; 0
   * unless given.
   */
  readonly settleMs?: number;
}

/** Number of times that the policy is read again if it changes while it is read. */
const mostTries = 20;

type PolicyRead = { readonly state: SharedState; readonly policy: SharedPolicy };

/** Documents of the store that are not in force here, and why. */
interface Diverged {
  readonly divergence: Divergence;
  /** Null: there were none. */
  readonly position: Position | null;
}

export class DocumentFollower {
  readonly #options: DocumentFollowerOptions;
  readonly #failoverDelay: FailoverDelay;
  /** Null: what the store has is in force. */
  #diverged: Diverged | null = null;
  /** Everything was read once, and nothing was missed since. */
  #isCurrent = false;
  /** Tells whether this host was found to have no right to write documents. */
  #isReadOnly = false;

  constructor(options: DocumentFollowerOptions) {
    this.#options = options;
    this.#failoverDelay = new FailoverDelay(options.settleMs ?? 0);
  }

  /** The server that the store is on. */
  get failoverDelay(): Pick<FailoverDelay, 'hasMet' | 'server' | 'settled'> {
    return this.#failoverDelay;
  }

  /** Why the store's policy is not in force here; null: it is. */
  get divergence(): Divergence | null {
    return this.#diverged?.divergence ?? null;
  }

  /** Position of the store's policy if it is not in force here; null if there is none, or it is in force. */
  get divergedPosition(): Position | null {
    return this.#diverged?.position ?? null;
  }

  /** A part of the log was missed: all has to be read. */
  missed(): void {
    this.#isCurrent = false;
    // A store that lacks some of its log may lack some of what this host said, too.
    this.#options.tell({ is: 'store fell back' });
  }

  /** The last that this host said may not have come to the server that takes another's place. */
  meetServer(state: SharedState): void {
    if (this.#failoverDelay.meet(state)) this.#options.tell({ is: 'store fell back' });
  }

  /**
   * Takes owners as the store has them. Who is known here by another id is who the policy in force is about,
   * and stays that one as long as that is not the store's.
   */
  meet(owners: readonly OwnerRecord[]): void {
    const { replica } = this.#options;
    const isInForce = this.#isCurrent && this.#diverged === null;
    replica.addOwners(isInForce ? owners : owners.filter(owner => !replica.knows(owner)));
  }

  /**
   * Gives what is in force, to be known before the store is looked at: what is changed here meanwhile is in
   * the store first.
   */
  known(): KnownPolicy {
    const { replica } = this.#options;
    const { position, isEmpty } = replica;
    return { position, isEmpty, markOf: version => replica.markOf(version) };
  }

  /** Takes what the log tells; false: all has to be read. */
  async follow(known: KnownPolicy, state: SharedState, changes: readonly Change[]): Promise<boolean> {
    const verdict = this.#judge(known, state, markIn(changes, known.position));
    if (this.#diverged === null) {
      if (verdict.is !== 'same' && verdict.is !== 'later') return false;
      if (!this.#takeInOrder(state, changes)) {
        if (!(await this.#takeWhole(known, await this.#options.store.policy()))) return false;
      }
      await this.#readVolatile(changes);
      return true;
    }
    if (verdict.is === 'lacking' || !('divergence' in verdict)) return false;
    if (changes.some(({ is }) => is === 'policy')) return false;
    this.#diverged = { divergence: verdict.divergence, position: state.position };
    for (const change of changes) if (change.is === 'owners') this.#meetEnrolled(change.owners);
    return true;
  }

  /** Takes documents and owners as they stand. Gives the number in the log from which it goes on. */
  async takeAll(triesLeft = mostTries): Promise<number> {
    const { store, replica, volatile, tell } = this.#options;
    if (triesLeft === 0) throw new SoftquotaError('store_away', 'others change the policy all the time');
    const known = this.known();
    const read = await store.policy();
    this.meetServer(read.state);
    const verdict = this.#judge(known, read.state, await this.#markThere(known, read.state));
    if (verdict.is === 'lacking') {
      await this.#restore(read);
      return this.takeAll(triesLeft - 1);
    }
    // A policy that was copied there is no other one.
    const isCopy = verdict.is === 'unrelated' && (await replica.hasSameDocuments(read.policy));
    const divergence = 'divergence' in verdict && !isCopy ? verdict.divergence : null;
    if (verdict.is === 'none') await this.#begin();
    else if (divergence === null) {
      const isInstead = verdict.is === 'instead' || verdict.is === 'unrelated';
      // Something was changed here meanwhile: it is read again with that.
      if (!(await this.#takeWhole(known, read, isInstead))) return this.takeAll(triesLeft - 1);
      // A policy that was made for this host alone, or elsewhere, has other sessions.
      await volatile.readAll({ hadOurs: !isInstead });
    }
    const wasDiverged = this.#diverged !== null;
    this.#diverged = divergence === null ? null : { divergence, position: read.state.position };
    if (divergence !== null) this.#meetEnrolled(read.policy.owners);
    this.#isCurrent = true;
    // The repair may have dropped what this host said meanwhile.
    if (wasDiverged && divergence === null) tell({ is: 'store fell back' });
    return read.state.lastChange;
  }

  /** The first policy of a store: what is known here of owners, and nothing else. */
  async #begin(): Promise<void> {
    const { replica, store } = this.#options;
    const next = newGeneration();
    const outcome = await store.replace(await replica.policy(), null, next, []);
    // If another host was faster, the next look finds its policy.
    if (outcome === 'kept') replica.apply({}, next);
  }

  async #readVolatile(changes: readonly Change[]): Promise<void> {
    const { volatile } = this.#options;
    const named = changes.flatMap(change => (change.is === 'volatile' ? [change.names] : []));
    if (named.includes(null)) await volatile.readAll({ hadOurs: true });
    else await volatile.read(named.flatMap(names => names ?? []));
  }

  #judge(known: KnownPolicy, state: SharedState, markThere: string | null): StoreVerdict {
    const verdict = judge(known, state, markThere);
    return verdict.is === 'lacking' && this.#isReadOnly
      ? { is: 'diverged', divergence: verdict.divergence }
      : verdict;
  }

  /**
   * Takes documents and owners as they were changed, one after the other. False: a change is missing or is
   * not told whole, or is older than what this host itself has changed meanwhile.
   */
  #takeInOrder({ position }: SharedState, changes: readonly Change[]): boolean {
    const { replica, tell } = this.#options;
    const begun = replica.position?.version ?? 0;
    const newest = Math.max(position?.version ?? 0, ...changes.map(versionOf));
    if (begun > newest) return false;
    for (const [index, entry] of changes.entries()) {
      if (entry.is === 'policy' && !this.#takeChange(entry)) return false;
      if (entry.is !== 'owners') continue;
      // An owner may be another by now, or gone, by what was changed after this and is in force here already.
      const since = changes
        .slice(index + 1)
        .filter(change => change.is === 'policy' && versionOf(change) <= begun);
      const settled = since.flatMap(keysIn);
      if (settled.includes(null)) return false;
      const owners = entry.owners.filter(({ key }) => !settled.includes(key));
      replica.addOwners(owners);
      tell({ is: 'owners enrolled', owners });
    }
    return (replica.position?.version ?? 0) >= (position?.version ?? 0);
  }

  #takeChange({ position, change }: Change & { readonly is: 'policy' }): boolean {
    const { replica, tell } = this.#options;
    const at = replica.position;
    if (at === null || position.generation !== at.generation) return false;
    if (position.version <= at.version) return true;
    if (position.version !== at.version + 1 || change === null) return false;
    replica.apply(change, position);
    tell({ is: 'owners enrolled', owners: change.owners ?? [] });
    return true;
  }

  /**
   * Takes a whole policy that follows from the known one; false: it is older than what was changed here
   * meanwhile.
   */
  async #takeWhole(known: KnownPolicy, { state, policy }: PolicyRead, isInstead = false): Promise<boolean> {
    const { replica, tell } = this.#options;
    const [at, there] = [replica.position, state.position];
    if (there === null || at?.generation !== known.position?.generation) return false;
    if (!isInstead && at !== null) {
      if (at.generation !== there.generation || at.version > there.version) return false;
    }
    if (at?.generation === there.generation && at.version === there.version) replica.addOwners(policy.owners);
    else await replica.applyWhole(policy, there);
    tell({ is: 'owners enrolled', owners: policy.owners });
    return true;
  }

  /**
   * Writes again what the store has lost; where somebody else does, or changes it, the next look finds that.
   */
  async #restore({ state, policy }: PolicyRead): Promise<void> {
    const { replica, store, tell } = this.#options;
    const lacked = state.position === null ? null : await replica.lackedBy(state.position, policy);
    if (state.position === null || lacked === null || lacked.positions.length === 0) return;
    // The rest of what this host said is lost as well. Whether it was written may not become known.
    tell({ is: 'store fell back' });
    try {
      const outcome = await store.restore(lacked.change, state.position, lacked.positions);
      if (outcome === 'kept') tell({ is: 'changes restored', count: lacked.positions.length });
    } catch (error) {
      if (!(error instanceof SoftquotaError && error.code === 'store_refused')) throw error;
      // A host that only measures leaves it to the others.
      this.#isReadOnly = true;
    }
  }

  /**
   * Gives what the log has of the change that made the known version; null: nothing, or it does not matter.
   */
  async #markThere({ position }: KnownPolicy, state: SharedState): Promise<string | null> {
    if (position === null || position.generation !== state.position?.generation) return null;
    return position.version < state.position.version ? this.#options.store.markOf(position) : null;
  }

  #meetEnrolled(owners: readonly OwnerRecord[]): void {
    this.meet(owners);
    this.#options.tell({ is: 'owners enrolled', owners });
  }
}
