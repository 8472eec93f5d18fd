/**
 * Follows the documents and owners of the shared store, and writes there again what it has lost. Owners whom
 * only this host knows yet are put on record there, so that all hosts know them by the same id.
 *
 * The content of the store never undoes a policy that was reported as in force (divergence.ts). An answer of
 * the store counts for the moment when it was read: it never undoes a change that this host made later.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { DocumentReplica, Documents } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import type { Log } from '../log.ts';
import {
  newGeneration,
  newMark,
  type OwnerRecord,
  type PolicyChange,
  type PolicyRead,
  type PolicySince,
  type Position,
  type SharedPolicy,
  type SharedState,
  type SharedStore,
} from '../store/index.ts';
import { type Divergence, judge, type KnownPolicy, type StoreVerdict } from './divergence.ts';

interface DocumentFollowerOptions {
  readonly documents: Pick<Documents, 'applyOwners' | 'applyRemote' | 'lineage' | 'owners' | 'position'>;
  readonly replica: DocumentReplica;
  readonly store: Pick<
    SharedStore,
    'commit' | 'compareOwners' | 'policy' | 'policySince' | 'replace' | 'state'
  >;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /**
   * Milliseconds for which policy is left alone on a server that was just met. One that takes another's
   * place, or was started again, may have lost the last changes. Hosts that know them write them again as
   * soon as they find the server: a change that is made before would take their place.
   */
  readonly settleMs: number;
  /** Called before the first policy of a store is put there, with what else this host knows. */
  begin(): Promise<void>;
  /** Resolves once what others changed by now is in force here. */
  sync(): Promise<void>;
}

/** Number of times that the policy is looked at again if it changes meanwhile. */
const mostTries = 20;
/** Owners who are put on record in one change: their names are told to all hosts. */
const mostEnrolled = 500;
/** Owners whose records in the store are read at a time. */
const mostRead = 1000;
/** Milliseconds after a refusal in which nobody is put on record. */
const refusedMs = 60_000;

/** Documents of the store that are not in force here, and why. */
interface Diverged {
  readonly divergence: Divergence;
  readonly position: Position | null;
}

export class DocumentFollower {
  readonly #options: DocumentFollowerOptions;
  /** The server that the store was found on, null where it does not say; undefined: none was met yet. */
  #server: string | null | undefined;
  /** On the monotonic clock. */
  #metAt = Number.NEGATIVE_INFINITY;
  /** Null: what the store has is in force. */
  #diverged: Diverged | null = null;
  /** Tells whether this host was found to have no right to write documents. */
  #isReadOnly = false;
  /** Since the store was found empty, all owners are unsure. */
  #isEmptyDoubted = false;
  /** Another server was met, and nobody was told yet. */
  #isOtherServer = false;
  /** Server on which the policy was found to be gone. */
  #emptiedServer: string | null = null;
  /** Keys of owners whom the store may lack, or know by another id. */
  readonly #unsure = new Set<string>();
  /** On the monotonic clock. */
  #refusedUntil = 0;

  constructor(options: DocumentFollowerOptions) {
    this.#options = options;
    options.documents.owners.onFound = key => this.#unsure.add(key);
  }

  /** Resolves once all had the time to find the server. */
  async #settled(): Promise<void> {
    for (;;) {
      const leftMs = this.#metAt + this.#options.settleMs - performance.now();
      if (leftMs <= 0) return;
      await delay(leftMs);
    }
  }

  /** Why the store's policy is not in force here; null: it is. */
  get divergence(): Divergence | null {
    return this.#diverged?.divergence ?? null;
  }

  /** Tells whether the server had lost the policy when it was met. */
  get wasEmptied(): boolean {
    return this.#emptiedServer !== null && this.#emptiedServer === this.#server;
  }

  /** Gives what is in force, before the store is looked at: what is changed here meanwhile is later. */
  #known(): KnownPolicy {
    const { documents, replica } = this.#options;
    return {
      position: documents.position,
      isEmpty: replica.isEmpty,
      markOf: version => documents.lineage.markOf(version),
    };
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
      this.#meet(state);
      const { position } = known;
      const isLater =
        position !== null &&
        position.generation === state.position?.generation &&
        position.version < state.position.version;
      const since = isLater ? await store.policySince(position) : null;
      const verdict = judge(known, state, since?.markThere ?? null);
      if (await this.#follow(verdict, known, state, since)) {
        const isOtherServer = this.#isOtherServer;
        this.#isOtherServer = false;
        return { state, isOtherServer };
      }
    }
    throw new SoftquotaError('store_away', 'others change the policy all the time');
  }

  #meet({ server }: SharedState): void {
    if (server === this.#server) return;
    if (this.#server !== undefined) this.#isOtherServer = true;
    this.#doubt();
    this.#server = server;
    this.#metAt = performance.now();
  }

  /** False: the store has to be looked at again. */
  async #follow(
    verdict: StoreVerdict,
    known: KnownPolicy,
    state: SharedState,
    since: PolicySince | null,
  ): Promise<boolean> {
    const { replica, store } = this.#options;
    if (verdict.is !== 'empty') this.#isEmptyDoubted = false;
    switch (verdict.is) {
      case 'same':
        this.#diverged = null;
        this.#isReadOnly = false;
        return true;
      case 'empty':
        // Looks go on while nobody may write there: to doubt everybody once is enough.
        if (!this.#isEmptyDoubted) this.#doubt();
        this.#isEmptyDoubted = true;
        return this.#write(known, state);
      case 'lacking':
        if (this.#isReadOnly) break;
        return this.#write(known, state);
      case 'later':
        this.#diverged = null;
        return since !== null && this.#goOn(known, since, state);
      case 'instead':
        await this.#takeWhole(known, await store.policy(), state);
        return false;
      case 'unrelated': {
        if (isDeepStrictEqual(this.#diverged?.position, state.position)) break;
        const read = await store.policy();
        // A policy that was put there from here is no other one.
        if (await replica.hasSameDocuments(read.policy)) {
          await this.#takeWhole(known, read, read.state);
          return false;
        }
      }
    }
    this.#diverged = { divergence: verdict.divergence, position: state.position };
    return true;
  }

  /** Takes what was changed. */
  async #goOn(known: KnownPolicy, since: PolicySince, state: SharedState): Promise<boolean> {
    const { documents, store } = this.#options;
    if (since.markThere !== null && since.markThere !== known.position?.mark) return false;
    if (since.change === null) {
      await this.#takeWhole(known, await store.policy(), state, since.versions);
      return false;
    }
    // Something was changed here meanwhile: it is looked at again with that.
    if (documents.position !== known.position) return false;
    documents.applyRemote(since.change, since.versions);
    this.#trust(since.change.owners);
    return true;
  }

  /**
   * Takes a whole policy, unless something was changed here meanwhile, or it was read from another server
   * than the one that was `judged`, whose changes may be others.
   */
  async #takeWhole(
    known: KnownPolicy,
    read: PolicyRead,
    judged: SharedState,
    through: readonly Position[] = [],
  ): Promise<void> {
    const { documents, replica } = this.#options;
    const { position, server } = read.state;
    if (position === null || documents.position !== known.position) return;
    if (server !== judged.server) return;
    const leadsThere = through.at(-1)?.version === position.version;
    await replica.applyWhole(read.policy, leadsThere ? through : [position]);
    this.#trust(read.policy.owners);
  }

  /**
   * Puts the known policy into a store that has none, one that was emptied or is new, or in place of an older
   * one that it came from. If another host is faster, the next look finds its policy.
   */
  async #write(known: KnownPolicy, { position: before, supersedes, server }: SharedState): Promise<boolean> {
    const { documents, replica, store, log, begin } = this.#options;
    const { position } = known;
    if (before === null && this.#diverged !== null) {
      // It is left to those whose policy was there.
      this.#diverged = { ...this.#diverged, position: null };
      return true;
    }
    if (position === null) {
      // Others may know the policy of a store that was emptied.
      await this.#settled();
      await begin();
    } else if (before === null) this.#emptiedServer = server;
    const policy = await replica.policy();
    const positions = position === null ? [newGeneration()] : documents.lineage.all;
    if (documents.position !== position) return false;
    try {
      if ((await store.replace(policy, before, positions, supersedes)) === 'conflict') return false;
    } catch (error) {
      if (!(error instanceof SoftquotaError && error.code === 'store_refused') || position === null)
        throw error;
      // A host that only measures leaves it to the others.
      this.#isReadOnly = true;
      return before === null;
    }
    if (position === null) documents.applyRemote({}, positions);
    else {
      const lost = before === null ? 'the policy' : 'the last changes of the policy';
      log.warn({}, `the shared store had lost ${lost} in force: it is written again`);
    }
    this.#trust(policy.owners);
    this.#isEmptyDoubted = false;
    return false;
  }

  /** The store may have other owners than those known here. */
  #doubt(): void {
    for (const { key } of this.#options.documents.owners.all) this.#unsure.add(key);
  }

  /** The store has these owners on record. */
  #trust(owners: readonly OwnerRecord[]): void {
    for (const { key } of owners) this.#unsure.delete(key);
  }

  /** Rejects with `store_away`, and with `store_refused`. Null: it has to be drafted again. */
  async commit(change: PolicyChange, basis: Position, mark: string): Promise<Position | null> {
    return (await this.#enroll(this.#unsure)) ? null : this.#commit(change, basis, mark);
  }

  /** Puts these on record in the store, if that can be done now. */
  async enroll(ownerKeys: readonly string[]): Promise<void> {
    if (performance.now() < this.#refusedUntil) return;
    try {
      await this.#enroll(ownerKeys);
    } catch (error) {
      if (!(error instanceof SoftquotaError)) throw error;
      // This host has no right to change the policy, at least now: the others put owners on record.
      if (error.code === 'store_refused') this.#refusedUntil = performance.now() + refusedMs;
      else if (error.code !== 'store_away') throw error;
    }
  }

  /** Puts these on record, as they are known after each look; false: all of them were. */
  async #enroll(ownerKeys: Iterable<string>): Promise<boolean> {
    const { documents, sync } = this.#options;
    let hasChanged = false;
    for (let tries = 0; tries < mostTries && this.divergence === null; tries += 1) {
      const mark = documents.position?.mark;
      const server = this.#server;
      const lacking = await this.#lackingOf(ownerKeys);
      // Also without any: who knows changes that the store has lost comes first.
      await this.#settled();
      if (this.#server !== server) continue;
      if (lacking?.length === 0) break;
      hasChanged = true;
      if (lacking !== null && documents.position !== null) {
        await this.#commit({ owners: lacking }, documents.position, newMark());
      }
      await sync();
      if (documents.position?.mark !== mark) tries = -1;
    }
    return hasChanged;
  }

  /** Finds owners among these whom the store lacks, some at a time; null: it has to be looked at again. */
  async #lackingOf(ownerKeys: Iterable<string>): Promise<readonly OwnerRecord[] | null> {
    const { documents, store } = this.#options;
    const { position } = documents;
    if (position === null || this.#server === undefined) return [];
    for (;;) {
      const owners = this.#unsureOf(ownerKeys);
      if (owners.length === 0) return [];
      const { mark, lacking, others } = await store.compareOwners(owners);
      if (mark !== position.mark || documents.position !== position) return null;
      if (others.length > 0) {
        documents.applyOwners(others);
        return null;
      }
      const lacked = new Set(lacking.map(({ key }) => key));
      this.#trust(owners.filter(({ key }) => !lacked.has(key)));
      if (lacking.length > 0) return lacking.slice(0, mostEnrolled);
    }
  }

  #unsureOf(ownerKeys: Iterable<string>): readonly OwnerRecord[] {
    const { owners } = this.#options.documents;
    const found: OwnerRecord[] = [];
    for (const key of ownerKeys) {
      if (!this.#unsure.has(key)) continue;
      const owner = owners.byKey(key);
      if (owner === undefined) this.#unsure.delete(key);
      else found.push(owner);
      if (found.length === mostRead) break;
    }
    return found;
  }

  /** Null: another change came first, or the store's owners may be others than the change speaks of. */
  async #commit(change: PolicyChange, basis: Position, mark: string): Promise<Position | null> {
    const { documents, store } = this.#options;
    // A change upon a store that was not looked at yet may take the place of what it has lost.
    if (documents.position !== basis || this.#server === undefined) return null;
    const { owners = [], goneOwners = [] } = change;
    const position = await store.commit(change, basis, mark, this.#server ?? null);
    if (position !== null) this.#trust(owners);
    else for (const key of [...goneOwners, ...owners.map(owner => owner.key)]) this.#unsure.add(key);
    return position;
  }

  /** Decides what the policy is once the store has diverged. Rejects with `conflict` and `store_away`. */
  async repair(policy: 'known' | 'stored'): Promise<void> {
    const { documents, replica, store, log, sync } = this.#options;
    await sync();
    if (this.#diverged === null) {
      throw new SoftquotaError(
        'conflict',
        'the policy in the store is the policy in force: nothing to repair',
      );
    }
    const { position: seen } = this.#diverged;
    const stored = await store.policy();
    const { position, supersedes } = stored.state;
    // The policy that the administrator saw must still be the stored one.
    if (!isDeepStrictEqual(position, seen)) throw changedMeanwhile();
    if (policy === 'stored' && position === null) throw changedMeanwhile();
    const chosen: SharedPolicy = policy === 'known' ? await replica.policy() : stored.policy;
    const given = [documents.position?.generation, position?.generation, ...supersedes];
    const next = newGeneration(Math.max(documents.position?.version ?? 0, position?.version ?? 0) + 1);
    const supersededNow = [...new Set(given.flatMap(each => each ?? []))];
    const outcome = await store.replace(chosen, position, [next], supersededNow);
    if (outcome === 'conflict') throw changedMeanwhile();
    await replica.applyWhole(chosen, [next]);
    log.info({ policy, version: next.version }, 'the policy of the shared store was repaired');
    await sync();
  }
}

function changedMeanwhile(): SoftquotaError {
  return new SoftquotaError('conflict', 'the store has changed meanwhile: check it again');
}
