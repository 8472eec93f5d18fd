/**
 * Following the shared store: what others changed is in force here soon after they were told that it is kept.
 *
 * The store's log is asked every second, and at once when it says that there is something new. Who missed a part of
 * the log reads everything: the policy at once, and then, some owners at a time, what all machines say that is stored,
 * while the log is followed already. Answers are taken as of when they were read: what this machine itself has changed since
 * then is never undone by an older one.
 */

import type { DocumentReplica } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import type { UsageShares } from '../ledger/index.ts';
import { inSlices } from '../slices.ts';
import type {
  Change,
  OwnerRecord,
  Policy,
  Position,
  SharedState,
  SharedStore,
  ShareRecord,
  SharesPage,
} from '../store/index.ts';
import { keysIn, markIn, versionOf } from './changes.ts';
import { Settling } from './settling.ts';
import { type Distrust, judge, type Known, type Verdict } from './trust.ts';
import type { VolatileDocuments } from './volatile.ts';

export interface FollowingOptions {
  readonly replica: DocumentReplica;
  readonly shares: UsageShares;
  readonly volatile: Pick<VolatileDocuments, 'read' | 'readAll'>;
  readonly store: SharedStore;
  /** This machine. */
  readonly host: string;
  /** How long shares are read, in milliseconds, until the log is looked at again; 300 unless given. */
  readonly readingMs?: number;
  /** Called before each look at the store; where it rejects, so does the look. */
  before(): Promise<void>;
  /** There is no policy, here or there: begins one. Rejects with `store_away`. */
  begin(): Promise<void>;
  /** The store has fallen back, or was emptied: what this machine said to it may be lost. */
  lost(): void;
  /** So many changes of policy that the store had lost were written again. */
  restored(count: number): void;
  /** How long after another server was met others have to write again what it lacks, in milliseconds; 0 unless given. */
  readonly settleMs?: number;
  /** Whether the store lacks some of what machines said, as far as was read by now. */
  isLacking(): Promise<boolean>;
  /** Whom the store has on record. */
  enrolled(owners: readonly OwnerRecord[]): void;
  /** From now on it is read what the store has of this machine. */
  looks(): void;
  /** All that it was found to have of it. */
  found(shares: readonly ShareRecord[]): void;
}

/** So often the policy is read again that becomes another while it is looked at. */
const mostTries = 20;

type PolicyRead = { readonly state: SharedState; readonly policy: Policy };

/** Entries of the log that are read at once. */
const mostEntries = 1000;

/** All shares that the store has, as far as they were read. */
interface Reading {
  readonly pages: AsyncIterator<SharesPage>;
  /** Owners whose shares are known here as the store has them. */
  readonly seen: Set<string>;
  /** This machine's. */
  readonly own: ShareRecord[];
}

export class Following {
  readonly #options: FollowingOptions;
  /** The number of the last entry that is in force here; null: everything has to be read. */
  #last: number | null = null;
  /** Null: all shares are known, as far as the log is. */
  #reading: Reading | null = null;
  #isReadingDue = false;
  #distrust: Distrust | null = null;
  /** Where the store's policy stood when that was found. */
  #distrusted: Position | null = null;
  /** Whether this machine was found to have no right to write policy. */
  #isReadOnly = false;
  #running: Promise<void> | null = null;
  #again: Promise<void> | null = null;

  readonly #settling: Settling;

  constructor(options: FollowingOptions) {
    this.#options = options;
    this.#settling = new Settling(options.settleMs ?? 0);
  }

  /** The server that the store is on. */
  get settling(): Pick<Settling, 'server' | 'settled'> {
    return this.#settling;
  }

  /** Why the store's policy is not in force here; null: it is. */
  get distrust(): Distrust | null {
    return this.#distrust;
  }

  /** Where the policy stood that is not in force here; null: there was none, or it is in force. */
  get distrusted(): Position | null {
    return this.#distrusted;
  }

  /** Whether everything was read once, and nothing was missed since. */
  get isComplete(): boolean {
    return this.#last !== null && this.#reading === null;
  }

  /** Shares are left to be read, by another `sync`. */
  get isReading(): boolean {
    return this.#reading !== null;
  }

  /** The next `sync` reads all shares. */
  readShares(): void {
    this.#isReadingDue = true;
  }

  /** Resolves once all that others ruled by now is in force here, and what they stored, too, unless `isReading`. Rejects with `store_away` or `store_refused`. */
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

  /**
   * Takes owners as the store has them. Who is known here by another id is who the policy in force is about, and stays
   * that one as long as that is not the store's.
   */
  meet(owners: readonly OwnerRecord[]): void {
    const { replica } = this.#options;
    const isTrusted = this.#last !== null && this.#distrust === null;
    replica.addOwners(isTrusted ? owners : owners.filter(owner => !replica.knows(owner)));
  }

  async #sync(): Promise<void> {
    await this.#options.before();
    if (this.#last === null || !(await this.#follow(this.#last))) await this.#takePolicy();
    else if (this.#isReadingDue) this.#readAgain();
    await this.#readOn(performance.now() + (this.#options.readingMs ?? 300));
  }

  /** Takes what the log tells since; false: everything has to be read. */
  async #follow(last: number): Promise<boolean> {
    const { store, lost } = this.#options;
    // Known before the store is looked at: what is ruled here meanwhile is in the store first.
    const known = this.#known();
    const state = await store.state();
    // What this one was told last may not have come to the server that takes its place.
    if (this.#settling.meet(state)) lost();
    const changes = state.lastChange === last ? [] : await this.#changesSince(last);
    if (changes === null) {
      // What the store lacks of its log it may lack of what this machine said, too.
      this.#last = null;
      lost();
      return false;
    }
    const verdict = this.#judge(known, state, markIn(changes, known.position));
    if (this.#distrust === null) {
      if (verdict.is !== 'same' && verdict.is !== 'later') return false;
      if (!this.#takeInOrder(state, changes) && !(await this.#takeWhole(known, await store.policy())))
        return false;
    } else {
      if (verdict.is === 'lacking' || !('distrust' in verdict)) return false;
      if (changes.some(({ is }) => is === 'policy')) return false;
      this.#distrust = verdict.distrust;
      this.#distrusted = state.position;
      for (const change of changes) if (change.is === 'owners') this.#meet(change.owners);
    }
    if (this.#distrust === null) {
      this.#knowHeads(state);
      await this.#readVolatile(changes);
    }
    const ownerKeys = changes.flatMap(change => (change.is === 'shares' ? change.ownerKeys : []));
    if (ownerKeys.length > 0)
      await this.#takeShares([...new Set(ownerKeys)], await store.sharesOf(ownerKeys));
    for (const ownerKey of ownerKeys) this.#reading?.seen.add(ownerKey);
    this.#last = changes.at(-1)?.number ?? last;
    return true;
  }

  /** Where this host stands where the store does, the last change of each line is known. */
  #knowHeads({ position, heads }: SharedState): void {
    const { replica } = this.#options;
    const at = replica.position;
    if (at?.generation === position?.generation && at?.mark === position?.mark) replica.knowHeads(heads);
  }

  async #readVolatile(changes: readonly Change[]): Promise<void> {
    const { volatile } = this.#options;
    const named = changes.flatMap(change => (change.is === 'volatile' ? [change.names] : []));
    if (named.includes(null)) await volatile.readAll();
    else await volatile.read(named.flatMap(names => names ?? []));
  }

  /** All entries since; null: there is a gap. */
  async #changesSince(last: number): Promise<readonly Change[] | null> {
    const all: Change[] = [];
    for (;;) {
      const changes = await this.#options.store.changesAfter(all.at(-1)?.number ?? last, mostEntries);
      if (changes === null) return null;
      all.push(...changes);
      if (changes.length < mostEntries) return all;
    }
  }

  #known(): Known {
    const { replica } = this.#options;
    const { position, isEmpty } = replica;
    return { position, isEmpty, markOf: version => replica.markOf(version) };
  }

  #judge(known: Known, state: SharedState, markThere: string | null): Verdict {
    const verdict = judge(known, state, markThere);
    return verdict.is === 'lacking' && this.#isReadOnly
      ? { is: 'distrusted', distrust: verdict.distrust }
      : verdict;
  }

  /**
   * Takes policy and owners as they were changed, one after the other. False: a change is missing or is not told whole,
   * or is older than what this machine itself has ruled meanwhile.
   */
  #takeInOrder({ position }: SharedState, changes: readonly Change[]): boolean {
    const { replica, enrolled } = this.#options;
    const begun = replica.position?.version ?? 0;
    const newest = Math.max(position?.version ?? 0, ...changes.map(versionOf));
    if (begun > newest) return false;
    for (const [index, entry] of changes.entries()) {
      if (entry.is === 'policy' && !this.#takeChange(entry)) return false;
      if (entry.is !== 'owners') continue;
      // An owner may be another by now, or gone, by what was ruled after this and is in force here already.
      const since = changes
        .slice(index + 1)
        .filter(change => change.is === 'policy' && versionOf(change) <= begun);
      const settled = since.flatMap(keysIn);
      if (settled.includes(null)) return false;
      const owners = entry.owners.filter(({ key }) => !settled.includes(key));
      replica.addOwners(owners);
      enrolled(owners);
    }
    return (replica.position?.version ?? 0) >= (position?.version ?? 0);
  }

  #takeChange({ position, lines, change }: Change & { readonly is: 'policy' }): boolean {
    const { replica, enrolled } = this.#options;
    const at = replica.position;
    if (at === null || position.generation !== at.generation) return false;
    if (position.version <= at.version) return true;
    if (position.version !== at.version + 1 || change === null) return false;
    replica.apply(change, position, lines);
    enrolled(change.owners ?? []);
    return true;
  }

  /** Takes a whole policy that follows from the known one; false: it is older than what was ruled here meanwhile. */
  async #takeWhole(known: Known, { state, policy }: PolicyRead, isInstead = false): Promise<boolean> {
    const { replica, enrolled } = this.#options;
    const [at, there] = [replica.position, state.position];
    if (there === null || at?.generation !== known.position?.generation) return false;
    if (!isInstead && at !== null) {
      if (at.generation !== there.generation || at.version > there.version) return false;
    }
    if (at?.generation === there.generation && at.version === there.version) replica.addOwners(policy.owners);
    else await replica.applyWhole(policy, { position: there, heads: state.heads });
    this.#knowHeads(state);
    enrolled(policy.owners);
    return true;
  }

  /** Policy and owners, after which the log is followed from where it stood before they were read, and shares are read. */
  async #takePolicy(triesLeft = mostTries): Promise<void> {
    const { store, begin, lost } = this.#options;
    if (triesLeft === 0) throw new SoftquotaError('store_away', 'others change the policy all the time');
    this.#reading = null;
    const known = this.#known();
    const read = await store.policy();
    if (this.#settling.meet(read.state)) lost();
    const verdict = this.#judge(known, read.state, await this.#markThere(known, read.state));
    if (verdict.is === 'lacking') {
      await this.#restore(read);
      return this.#takePolicy(triesLeft - 1);
    }
    const distrust = await this.#distrustIn(verdict, read.policy);
    if (verdict.is === 'none') await begin();
    else if (distrust === null) {
      const isInstead = verdict.is === 'instead' || verdict.is === 'unrelated';
      // Something was ruled here meanwhile: it is read again with that.
      if (!(await this.#takeWhole(known, read, isInstead))) return this.#takePolicy(triesLeft - 1);
    }
    if (distrust === null && verdict.is !== 'none') await this.#options.volatile.readAll();
    const wasDistrusted = this.#distrust !== null;
    this.#distrust = distrust;
    this.#distrusted = distrust === null ? null : read.state.position;
    if (distrust !== null) this.#meet(read.policy.owners);
    this.#last = read.state.lastChange;
    this.#readAgain();
    // What this machine said meanwhile may have gone with what was repaired.
    if (wasDistrusted && distrust === null) lost();
  }

  /** Writes again what the store has lost; where somebody else does, or changes it, the next look finds that. */
  async #restore({ state, policy }: PolicyRead): Promise<void> {
    const { replica, store, lost, restored } = this.#options;
    const lacked = state.position === null ? null : await replica.lackedBy(state.position, policy);
    if (state.position === null || lacked === null || lacked.positions.length === 0) return;
    // What this machine said besides is lost as well. Whether it was written may not become known.
    lost();
    try {
      const outcome = await store.restore(lacked.change, state.position, lacked.positions);
      if (outcome === 'kept') restored(lacked.positions.length);
    } catch (error) {
      if (!(error instanceof SoftquotaError && error.code === 'store_refused')) throw error;
      // A machine that only measures leaves it to the others.
      this.#isReadOnly = true;
    }
  }

  #readAgain(): void {
    const { store, looks } = this.#options;
    this.#isReadingDue = false;
    looks();
    this.#reading = { pages: store.sharePages()[Symbol.asyncIterator](), seen: new Set(), own: [] };
  }

  /** Reads shares until all are read, or it is time to look at the log again. */
  async #readOn(until: number): Promise<void> {
    const { host } = this.#options;
    while (this.#reading !== null) {
      const { pages, seen, own } = this.#reading;
      const { value: page } = await pages.next().catch((error: unknown) => {
        // What broke off cannot be gone on with.
        this.#readAgain();
        throw error;
      });
      for (const ownerKey of page.ownerKeys) seen.add(ownerKey);
      for (const share of page.shares) if (share.host === host) own.push(share);
      await this.#takeShares(page.ownerKeys, page.shares);
      if (page.isLast) await this.#readAll(this.#reading);
      else if (performance.now() >= until) return;
    }
  }

  /** Of all others the store has nothing. */
  async #readAll({ seen, own }: Reading): Promise<void> {
    const { shares, found } = this.#options;
    await this.#takeShares(
      shares.ownerKeys.filter(ownerKey => !seen.has(ownerKey)),
      [],
    );
    this.#reading = null;
    found(own);
  }

  async #distrustIn(verdict: Verdict, stored: Policy): Promise<Distrust | null> {
    if (!('distrust' in verdict)) return null;
    // A policy that was copied there is no other one.
    if (verdict.is === 'unrelated' && (await this.#options.replica.hasSameDocuments(stored))) return null;
    return verdict.distrust;
  }

  /** What the log has of the change that made the known version; null: nothing, or it does not matter. */
  async #markThere({ position }: Known, state: SharedState): Promise<string | null> {
    if (position === null || position.generation !== state.position?.generation) return null;
    return position.version < state.position.version ? this.#options.store.markOf(position) : null;
  }

  #meet(owners: readonly OwnerRecord[]): void {
    this.meet(owners);
    this.#options.enrolled(owners);
  }

  async #takeShares(ownerKeys: readonly string[], shares: readonly ShareRecord[]): Promise<void> {
    const { shares: known } = this.#options;
    const byOwner = Map.groupBy(shares, ({ ownerKey }) => ownerKey);
    const isHeld = await this.#heldHosts();
    await inSlices(ownerKeys, ownerKey => known.takeShares(ownerKey, byOwner.get(ownerKey) ?? [], isHeld));
  }

  /** What a machine said is known here, and is not gone because the store has lost it. */
  async #heldHosts(): Promise<(host: string) => boolean> {
    if (await this.#options.isLacking()) return () => true;
    if (this.#distrust?.why !== 'emptied') return () => false;
    const heard = new Set((await this.#options.store.hosts()).map(({ host }) => host));
    return host => !heard.has(host);
  }
}
