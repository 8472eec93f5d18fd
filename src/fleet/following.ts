/**
 * Following the shared store: what others changed is in force here soon after they were told that it is kept.
 *
 * The store's log is asked every second, and at once when it says that there is something new. Who missed a part of
 * the log reads everything.
 */

import type { Sharing } from '../ledger/index.ts';
import type { Change, Policy, SharedState, SharedStore } from '../store/index.ts';
import { type Distrust, judge, type Known } from './trust.ts';

export interface FollowingOptions {
  readonly sharing: Sharing;
  readonly store: SharedStore;
  /** There is no policy, here or there: begins one. Rejects with `store_away`. */
  begin(): Promise<void>;
  /** The store has fallen back, or was emptied: what this machine said to it may be lost. */
  lost(): void;
  /** Whom the store has on record. */
  enrolled(owners: Parameters<Sharing['takeOwners']>[0]): void;
}

/** Entries of the log that are read at once. */
const mostEntries = 1000;

export class Following {
  readonly #options: FollowingOptions;
  /** The number of the last entry that is in force here; null: everything has to be read. */
  #last: number | null = null;
  #distrust: Distrust | null = null;
  #running: Promise<void> | null = null;
  #again: Promise<void> | null = null;

  constructor(options: FollowingOptions) {
    this.#options = options;
  }

  /** Why the store's policy is not in force here; null: it is. */
  get distrust(): Distrust | null {
    return this.#distrust;
  }

  /** Whether everything was read once, and nothing was missed since. */
  get isComplete(): boolean {
    return this.#last !== null;
  }

  /** Resolves once all that others changed by now is in force here. Rejects with `store_away` or `store_refused`. */
  sync(): Promise<void> {
    if (this.#running === null) {
      this.#running = this.#sync().finally(() => {
        this.#running = null;
      });
      return this.#running;
    }
    // What is being read may be older than this call.
    const running = this.#running;
    this.#again ??= running
      .catch(() => {})
      .then(() => {
        this.#again = null;
        return this.sync();
      });
    return this.#again;
  }

  /** Everything is read at the next time. */
  readEverything(): void {
    this.#last = null;
  }

  async #sync(): Promise<void> {
    // Known before the store is looked at: what is ruled here meanwhile is in the store first.
    const known = this.#known();
    const state = await this.#options.store.state();
    if (this.#last !== null && state.lastChange < this.#last) this.#fallenBack();
    const changes = this.#last === null ? null : await this.#changesUpTo(this.#last);
    await this.#takePolicy(known, state, changes);
    if (changes === null) await this.#takeEverything(state);
    else await this.#takeUsage(changes);
  }

  #fallenBack(): void {
    this.#last = null;
    this.#options.lost();
  }

  /** All entries since; null: there is a gap. */
  async #changesUpTo(last: number): Promise<readonly Change[] | null> {
    const all: Change[] = [];
    for (;;) {
      const changes = await this.#options.store.changesAfter(all.at(-1)?.number ?? last, mostEntries);
      if (changes === null) return null;
      all.push(...changes);
      if (changes.length < mostEntries) return all;
    }
  }

  #known(): Known {
    const { position, isPolicyEmpty } = this.#options.sharing;
    return { position, isEmpty: isPolicyEmpty };
  }

  async #takePolicy(known: Known, state: SharedState, changes: readonly Change[] | null): Promise<void> {
    const { begin } = this.#options;
    const verdict = judge(known, state, changes ?? (await this.#logLeft()));
    if (verdict.is === 'distrusted' || (verdict.is === 'unrelated' && !(await this.#isSameThere()))) {
      this.#distrust = verdict.distrust;
      return;
    }
    // What this machine said meanwhile may have gone with what was repaired.
    if (this.#distrust !== null) this.#options.lost();
    this.#distrust = null;
    switch (verdict.is) {
      case 'same':
        return;
      case 'none':
        return begin();
      case 'later':
        if (changes !== null && this.#follows(changes)) return;
        return this.#takeWhole();
      case 'instead':
      case 'unrelated':
        return this.#takeWhole();
    }
  }

  /** A policy that was copied there is no other one. */
  async #isSameThere(): Promise<boolean> {
    const { sharing, store } = this.#options;
    const { policy } = await store.policy();
    const textOf = ({ documents }: Policy) =>
      documents
        .map(({ kind, key, text }) => JSON.stringify([kind, key, text]))
        .sort()
        .join();
    return textOf(policy) === textOf(sharing.policy);
  }

  /** What is left of the log, to look whether the known policy is among what came before the store's. */
  async #logLeft(): Promise<readonly Change[]> {
    return (await this.#options.store.changesAfter(0, mostEntries)) ?? [];
  }

  /** Takes the changes one after the other; false: one of them is missing, or is not told whole. */
  #follows(changes: readonly Change[]): boolean {
    const { sharing } = this.#options;
    for (const entry of changes) {
      if (entry.is !== 'policy') continue;
      const at = sharing.position;
      if (at === null || entry.position.generation !== at.generation) return false;
      if (entry.position.version <= at.version) continue;
      if (entry.position.version !== at.version + 1 || entry.change === null) return false;
      sharing.takeOver(entry.change, entry.position);
      this.#options.enrolled(entry.change.owners ?? []);
    }
    return true;
  }

  async #takeWhole(): Promise<void> {
    const { sharing, store } = this.#options;
    const { state, policy } = await store.policy();
    if (state.position === null) return;
    const at = sharing.position;
    // Something that was ruled here meanwhile may be later than what was read.
    if (at?.generation === state.position.generation && at.version >= state.position.version) return;
    sharing.takeOverWhole(policy, state.position);
    this.#options.enrolled(policy.owners);
  }

  /** Owners and usage, after which the log is followed from where it stood before they were read. */
  async #takeEverything({ lastChange }: SharedState): Promise<void> {
    const { sharing, store } = this.#options;
    const { owners, shares } = await store.load();
    sharing.takeOwners(owners);
    this.#options.enrolled(owners);
    sharing.takeShares(
      sharing.policy.owners.map(({ key }) => key),
      shares,
    );
    this.#last = lastChange;
  }

  async #takeUsage(changes: readonly Change[]): Promise<void> {
    const { sharing, store } = this.#options;
    for (const change of changes) {
      if (change.is !== 'owners') continue;
      sharing.takeOwners(change.owners);
      this.#options.enrolled(change.owners);
    }
    const ownerKeys = [
      ...new Set(changes.flatMap(change => (change.is === 'shares' ? change.ownerKeys : []))),
    ];
    if (ownerKeys.length > 0) sharing.takeShares(ownerKeys, await store.sharesOf(ownerKeys));
    this.#last = changes.at(-1)?.number ?? this.#last;
  }
}
