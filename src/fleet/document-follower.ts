/**
 * Follows the documents and owners of the shared store, and writes there again what it has lost. Puts owners
 * on record that only this host knows yet, so that all hosts know them by the same id.
 *
 * The content of the store never undoes a policy that was reported as in force (divergence.ts). An answer of
 * the store is as old as its request: it never undoes a later change of this host.
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
   * Milliseconds without changes of policy after another server was found. One that takes another's place, or
   * was started again, may have lost the last changes. Hosts that know them write them again as soon as they
   * find the server; an earlier change would take their place.
   */
  readonly settleMs: number;
  /** Called before the first policy is put into a store, to write other data of this host there. */
  begin(): Promise<void>;
  /** Resolves once all changes of other hosts up to now are in force here. */
  sync(): Promise<void>;
}

/** Limit of attempts to read the policy if it changes meanwhile. */
const mostTries = 20;
/** Limit of owners who are put on record in one change, since all hosts read their names. */
const mostEnrolled = 500;
/** Owners whose records in the store are read at a time. */
const mostRead = 1000;
/** Milliseconds after a refusal before owners are put on record again. */
const refusedMs = 60_000;

/** A policy in the store that is not in force here, and why. */
interface Diverged {
  readonly divergence: Divergence;
  readonly position: Position | null;
}

export class DocumentFollower {
  readonly #options: DocumentFollowerOptions;
  /** The server that the store was found on; null: it does not say; undefined: none was found yet. */
  #server: string | null | undefined;
  /** The time when the server was found, on the monotonic clock. */
  #metAt = Number.NEGATIVE_INFINITY;
  /** Null: the policy in the store is in force. */
  #diverged: Diverged | null = null;
  /** Tells whether this host was found to have no right to write documents. */
  #isReadOnly = false;
  /** All owners were marked as unsure since the store was found empty. */
  #isEmptyDoubted = false;
  /** Another server was found, and `sync` has not returned that yet. */
  #isOtherServer = false;
  /** The server on which the policy was found to be lost. */
  #emptiedServer: string | null = null;
  /** Keys of owners whom the store may lack, or have with another id. */
  readonly #unsure = new Set<string>();
  /** The time until which no owners are put on record, on the monotonic clock. */
  #refusedUntil = 0;

  constructor(options: DocumentFollowerOptions) {
    this.#options = options;
    options.documents.owners.onFound = key => this.#unsure.add(key);
  }

  /** Resolves once all hosts had time to find the server. */
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

  /** Tells whether the present server was found to have lost the policy. */
  get wasEmptied(): boolean {
    return this.#emptiedServer !== null && this.#emptiedServer === this.#server;
  }

  /** Returns the policy in force. Called before the store is read, to notice changes here meanwhile. */
  #known(): KnownPolicy {
    const { documents, replica } = this.#options;
    return {
      position: documents.position,
      isEmpty: replica.isEmpty,
      markOf: version => documents.lineage.markOf(version),
    };
  }

  /**
   * Takes over the policy of the store, unless it has diverged. Returns the state of the store, and whether
   * it is on another server than before. Rejects with `store_away`.
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

  /** Acts on a verdict. False: the store has to be read again. */
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
        // Syncs go on while no host may write there; marking all owners as unsure once is enough.
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
        // If this host itself has put the policy there, it is the same.
        if (await replica.hasSameDocuments(read.policy)) {
          await this.#takeWhole(known, read, read.state);
          return false;
        }
      }
    }
    this.#diverged = { divergence: verdict.divergence, position: state.position };
    return true;
  }

  /** Applies the changes since the known policy. False: the store has to be read again. */
  async #goOn(known: KnownPolicy, since: PolicySince, state: SharedState): Promise<boolean> {
    const { documents, store } = this.#options;
    if (since.markThere !== null && since.markThere !== known.position?.mark) return false;
    if (since.change === null) {
      await this.#takeWhole(known, await store.policy(), state, since.versions);
      return false;
    }
    // After a change here, the store is compared again.
    if (documents.position !== known.position) return false;
    if (!(await documents.applyRemote(since.change, since.versions))) return false;
    this.#trust(since.change.owners);
    return true;
  }

  /**
   * Applies a whole policy, unless something was changed here meanwhile, or it was read from another server
   * than the `judged` one, which may have other changes.
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
   * Writes the known policy into a store without one (emptied or new), or in place of an older version of it.
   * If another host is faster, the next read finds its policy.
   */
  async #write(known: KnownPolicy, { position: before, supersedes, server }: SharedState): Promise<boolean> {
    const { documents, replica, store, log, begin } = this.#options;
    const { position } = known;
    if (before === null && this.#diverged !== null) {
      // Hosts that had the store's policy in force write it again.
      this.#diverged = { ...this.#diverged, position: null };
      return true;
    }
    if (position === null) {
      // Other hosts may know the policy of an emptied store.
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
      // A host that only measures has no right to write: other hosts do it.
      this.#isReadOnly = true;
      return before === null;
    }
    if (position === null) await documents.applyRemote({}, positions);
    else {
      const lost = before === null ? 'the policy' : 'the last changes of the policy';
      log.warn({}, `the shared store had lost ${lost} in force: it is written again`);
    }
    this.#trust(policy.owners);
    this.#isEmptyDoubted = false;
    return false;
  }

  /** Marks all owners as unsure: the store may have other records. */
  #doubt(): void {
    for (const { key } of this.#options.documents.owners.all) this.#unsure.add(key);
  }

  /** Marks owners as known to the store. */
  #trust(owners: readonly OwnerRecord[]): void {
    for (const { key } of owners) this.#unsure.delete(key);
  }

  /**
   * Commits a change of policy, after its unsure owners. Null: it has to be drafted again. Rejects with
   * `store_away` and `store_refused`.
   */
  async commit(change: PolicyChange, basis: Position, mark: string): Promise<Position | null> {
    await this.#enroll(this.#unsure);
    return this.#commit(this.#asStored(change), basis, mark);
  }

  /** Gives up also keys that get another owner, and none that are on record neither here nor in the store. */
  #asStored(change: PolicyChange): PolicyChange {
    const known = this.#options.documents.owners;
    const { owners = [], goneOwners = [] } = change;
    const replaced = owners.filter(({ key, id }) => (known.byKey(key)?.id ?? id) !== id);
    const kept = goneOwners.filter(key => known.byKey(key) !== undefined);
    return { ...change, goneOwners: [...kept, ...replaced.map(({ key }) => key)] };
  }

  /** Commits a change. Null: another change came first, or the store has other owners than it assumes. */
  async #commit(change: PolicyChange, basis: Position, mark: string): Promise<Position | null> {
    const { documents, store } = this.#options;
    // A change upon a store that was not read yet could take the place of changes that it has lost.
    if (documents.position !== basis || this.#server === undefined) return null;
    const { owners = [], goneOwners = [] } = change;
    const position = await store.commit(change, basis, mark, this.#server);
    if (position !== null) this.#trust(owners);
    else for (const key of [...goneOwners, ...owners.map(owner => owner.key)]) this.#unsure.add(key);
    return position;
  }

  /** Returns the name of an owner whom the store may lack. */
  unrecordedName(ownerKey: string): string | undefined {
    return this.#unsure.has(ownerKey) ? this.#options.documents.owners.byKey(ownerKey)?.name : undefined;
  }

  /** Puts owners on record in the store, if that is possible now. */
  async enroll(ownerKeys: readonly string[]): Promise<void> {
    if (performance.now() < this.#refusedUntil) return;
    try {
      await this.#enroll(ownerKeys);
    } catch (error) {
      if (!(error instanceof SoftquotaError)) throw error;
      // This host has no right to change the policy, at least now: other hosts put owners on record.
      if (error.code === 'store_refused') this.#refusedUntil = performance.now() + refusedMs;
      else if (error.code !== 'store_away') throw error;
    }
  }

  /** Puts owners on record, as they are known after each sync. */
  async #enroll(ownerKeys: Iterable<string>): Promise<void> {
    const { documents, store, sync } = this.#options;
    for (let tries = 0; tries < mostTries && this.divergence === null; ) {
      // Waits even if there are none: hosts that know changes which the store has lost come first.
      await this.#settled();
      const { position } = documents;
      const server = this.#server;
      const owners = this.#unsureOf(ownerKeys);
      if (owners.length === 0 || position === null || server === undefined) return;
      const { mark, lacking, others } = await store.compareOwners(owners);
      const isSame = mark === position.mark && documents.position === position && this.#server === server;
      if (isSame && others.length > 0) documents.applyOwners(others);
      else if (isSame) {
        const lacked = new Set(lacking.map(({ key }) => key));
        this.#trust(owners.filter(({ key }) => !lacked.has(key)));
        if (lacking.length === 0) continue;
        await this.#commit({ owners: lacking.slice(0, mostEnrolled) }, position, newMark());
      }
      await sync();
      tries = documents.position?.mark === position.mark ? tries + 1 : 0;
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

  /** Sets the policy after a divergence. Rejects with `conflict` and `store_away`. */
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
    if ((await store.replace(chosen, position, [next], supersededNow)) === 'conflict')
      throw changedMeanwhile();
    await replica.applyWhole(chosen, [next]);
    log.info({ policy, version: next.version }, 'the policy of the shared store was repaired');
    await sync();
  }
}

function changedMeanwhile(): SoftquotaError {
  return new SoftquotaError('conflict', 'the store has changed meanwhile: check it again');
}
