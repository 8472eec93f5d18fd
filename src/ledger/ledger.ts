/**
 * Policy and usage in memory, kept true to the store: decides, and records what was measured.
 *
 * What is measured counts at once and is written behind; what a trusted program reports is written first,
 * because its acknowledgement promises that it survives a restart. The order of walks and
 * reports is told by sequence numbers, never by a clock.
 */

import { type Kind, type Policy, policyKinds, type View } from '../policy/index.ts';
import {
  type Decision,
  decide,
  type Explanation,
  explain,
  type Leaf,
  noUsage,
  type Standing,
  type Subject,
} from '../quota/index.ts';
import type {
  Changes,
  DocumentRecord,
  EventQuery,
  EventRecord,
  LevelRecord,
  OwnerRecord,
  Register,
  RootRecord,
  Store,
  SweepRecord,
  UnitRecord,
} from '../store/index.ts';
import type { Account } from './account.ts';
import type { Amendment } from './amendment.ts';
import type { Answer, OwnerUsage } from './answer.ts';
import { Book } from './book.ts';
import type { Author } from './chronicle.ts';
import { type Clock, systemClock } from './clock.ts';
import { Governing } from './governing.ts';
import { type Away, Keeper } from './keeper.ts';
import { rekeyed } from './kept.ts';
import type { Noted } from './notes.ts';
import type { LedgerOptions, LedgerSettings, ReadableBook } from './options.ts';
import { Reports } from './reports.ts';
import { Sharing } from './sharing.ts';
import { inSlices } from './slices.ts';
import { UnitSources } from './unit-sources.ts';
import { type WalkedUnit, Walks } from './walks.ts';
import { type Watcher, Watchers } from './watchers.ts';

export class Ledger {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #keeper: Keeper;
  readonly #book: Book;
  readonly #watchers = new Watchers();
  readonly #governing: Governing;
  readonly #reports: Reports;
  readonly #walks: Walks;
  /** What programs report in whole sets. */
  readonly sources: UnitSources;
  /** What goes between machines that share the quota. */
  readonly sharing: Sharing;
  #settings: LedgerSettings;
  #seq = 0;

  private constructor(options: LedgerOptions) {
    this.#store = options.store;
    this.#settings = options.settings;
    this.#clock = options.clock ?? systemClock;
    this.#book = new Book(options.foldCase, ownerKey => this.#watchers.tell(ownerKey));
    const keeperOf = (store: Pick<Store, 'write'>, probe: () => Changes) =>
      new Keeper({ store, log: options.log, now: () => this.#clock.wall(), probe });
    this.#keeper = keeperOf(options.store, () => this.#walks.somethingKept());
    this.#governing = new Governing({
      book: this.#book,
      keeper: this.#keeper,
      now: () => this.#clock.wall(),
      changed: ownerKey => this.#watchers.tell(ownerKey),
    });
    this.sharing = new Sharing({
      book: this.#book,
      keeper: this.#keeper,
      governing: this.#governing,
      host: options.host,
      sourceUnits: (account, leaves, most) => this.sources.unitsOf(account, leaves, most),
      // Of before there was anything.
      keeperFor: register => keeperOf(register, () => ({ goneEventsBefore: 0 })),
    });
    this.#reports = new Reports({
      book: this.#book,
      keeper: this.#keeper,
      clock: this.#clock,
      host: options.host,
      nextSeq: () => this.nextSeq(),
    });
    this.#walks = new Walks({
      book: this.#book,
      keeper: this.#keeper,
      reports: this.#reports,
      host: options.host,
      now: () => this.#clock.wall(),
    });
    this.sources = new UnitSources({
      book: this.#book,
      store: options.unitSources,
      clock: this.#clock,
      log: options.log,
      accountFor: ownerName => this.#walks.accountFor(ownerName),
    });
  }

  /** Some owner's figures may be out of date. */
  get isStale(): boolean {
    return this.sharing.isStale || this.sources.list.some(({ isStale }) => isStale);
  }

  /** Opens the ledger with all that the store holds; rejects with `store_refused`. */
  static async open(options: LedgerOptions): Promise<Ledger> {
    const ledger = new Ledger(options);
    try {
      await ledger.#load(options.kinds ?? []);
    } catch (error) {
      ledger.#reports.close();
      await ledger.sources.close();
      throw error;
    }
    return ledger;
  }

  get settings(): LedgerSettings {
    return this.#settings;
  }

  /** Takes changed settings for the next decision on. */
  reconfigure(settings: LedgerSettings): void {
    this.#settings = settings;
    this.#watchers.tell(null);
  }

  /** Has the watcher told of every change of usage or policy from now on; gives what ends that. */
  watch(watcher: Watcher): () => void {
    return this.#watchers.add(watcher);
  }

  /** Rules, groups and assignments, and whatever else is kept, as they are in force. */
  get view(): View {
    return this.#governing.view;
  }

  get policy(): Policy {
    return this.#governing.policy;
  }

  /**
   * Changes what administrators rule, after all such changes asked for before. What `change` drafts is in the store and
   * in force, as a whole, once this resolves; rejects with what `change` throws, or `store_away`, and then nothing is
   * changed, unless the message says that this is not known. The same write has the events that say who did what: `by` asked for it, or else softquota did it by itself.
   */
  govern<T>(change: (amendment: Amendment) => T, by: Author | null = null): Promise<T> {
    return this.#governing.govern(change, by);
  }

  /** What such a change would give now, without making it; throws what `change` throws. */
  rehearse<T>(change: (amendment: Amendment) => T): T {
    return this.#governing.rehearse(change);
  }

  /** Writes behind, as is done with what is measured. */
  note(noted: Noted): void {
    this.sharing.keeper.note(noted);
  }

  /** What happened, newest first; what waits to be written is not among it. */
  events(query: EventQuery): Promise<readonly EventRecord[]> {
    return (this.sharing.register ?? this.#store).events(query);
  }

  /** This machine's own store, where what happened is kept unless it is shared. */
  get ownRegister(): Pick<Register, 'events' | 'levels' | 'write'> {
    return this.#store;
  }

  /** How near to their limits owners were when it was last told. */
  levels(): Promise<readonly LevelRecord[]> {
    return (this.sharing.register ?? this.#store).levels();
  }

  /** Null while the store takes what is measured. */
  get storeAway(): Away | null {
    return this.#keeper.away;
  }

  /** The last sweep that ended, of this life or an earlier one. */
  get lastSweep(): SweepRecord | null {
    return this.#walks.lastSweep;
  }

  get book(): ReadableBook {
    return this.#book;
  }

  rootRecord(path: string): RootRecord | undefined {
    return this.#walks.root(path);
  }

  /** May this owner start something that grows this subject now? Throws `sum_too_large`. */
  decide(ownerName: string, subject: Subject, addingBytes = 0): Answer {
    const owner = this.ownerUsage(ownerName);
    return { owner, decision: this.decideFor(owner, subject, addingBytes) };
  }

  /** The same for an owner who has been looked up. */
  decideFor(owner: OwnerUsage, subject: Subject, addingBytes = 0): Decision {
    return decide(this.#settings, this.#standing(owner), owner.usage, subject, addingBytes);
  }

  /** `decideFor` of one subject after the other, by the policy of now: what bears on the owner is looked up once. */
  deciderFor(owner: OwnerUsage): (subject: Subject) => Decision {
    const settings = this.#settings;
    const standing = this.#standing(owner);
    return subject => decide(settings, standing, owner.usage, subject);
  }

  /** The whole reasoning of what `decide` answers. */
  explain(ownerName: string, subject: Subject): Explanation {
    const owner = this.ownerUsage(ownerName);
    return explain(this.#settings, this.#standing(owner), owner.usage, subject);
  }

  /** Whether such an owner was ever heard of. */
  isKnown(ownerName: string): boolean {
    return this.#book.account(ownerName) !== undefined;
  }

  /** What an owner uses; one never heard of uses nothing. Throws `sum_too_large`. */
  ownerUsage(ownerName: string): OwnerUsage {
    return this.#usageOf(this.#book.account(ownerName), ownerName);
  }

  /** Every owner with this in the key, in no order, but for those whose bytes cannot be added up exactly. */
  *owners(keyPart = ''): Generator<OwnerUsage> {
    for (const account of this.#book.accounts) {
      const { key, name } = account.owner;
      if (key.includes(keyPart) && account.fits) yield this.#usageOf(account, name);
    }
  }

  /** Undefined: never heard of. */
  ownerRecord(ownerName: string): OwnerRecord | undefined {
    return this.#book.account(ownerName)?.owner;
  }

  /** Every owner as the store knows them, in no order. */
  ownerRecords(): readonly OwnerRecord[] {
    return [...this.#book.accounts].map(({ owner }) => owner);
  }

  /** All that was laid down, as the store keeps it; what is passing is left out. */
  documentRecords(): readonly DocumentRecord[] {
    return [...this.#governing.recordsToKeep()];
  }

  /** The owners whose units together pass 2^53 - 1 bytes. */
  ownersTooLarge(): readonly string[] {
    return [...this.#book.accounts].filter(account => !account.fits).map(account => account.owner.name);
  }

  /** Names that are the same owner's, though directories spell them differently. */
  spellings(): readonly (readonly string[])[] {
    return [...this.#book.accounts]
      .map(account => [...new Set([...account.units].flatMap(unit => unit.owner ?? []))].sort())
      .filter(names => names.length > 1);
  }

  /** An owner's units, largest first. */
  unitsOf(ownerName: string): readonly UnitRecord[] {
    return [...(this.#book.account(ownerName)?.units ?? [])].sort((a, b) => b.bytes - a.bytes);
  }

  /** Whether walks of this machine found units of an owner. */
  hasWalked(ownerName: string): boolean {
    for (const { kind } of this.#book.account(ownerName)?.units ?? []) if (kind === 'walked') return true;
    return false;
  }

  /** The next place in the order of walks and reports. */
  nextSeq(): number {
    return ++this.#seq;
  }

  /** Takes a walk's result, unless what a later walk found was taken already. */
  record(walked: WalkedUnit): void {
    this.#walks.record(walked);
  }

  /** A walk that began at `seq` found no unit there any more. */
  recordGone(path: string, seq: number): void {
    this.#walks.gone(path, seq);
  }

  /** What walks found of these kinds counts here no more, nor does what a walk under way will find. */
  async dropWalked(leaves: ReadonlySet<Leaf>): Promise<void> {
    const seq = this.nextSeq();
    const dropped = [...this.#book.units].filter(({ kind, leaf }) => kind === 'walked' && leaves.has(leaf));
    await inSlices(dropped, ({ name }) => this.recordGone(name, seq));
  }

  /** It could not be measured: what is known of it goes on counting, and is marked. */
  recordUnread(path: string): void {
    this.#walks.unread(path);
  }

  /** Walked units whose last walk began before `seq`. */
  walkedBefore(seq: number): readonly UnitRecord[] {
    return [...this.#book.units].filter(unit => unit.kind === 'walked' && unit.seq < seq);
  }

  /** A sweep has ended. `present` replaces what is remembered of those roots; `isConfigured` says which to forget. */
  recordSweep(
    sweep: SweepRecord,
    present: readonly RootRecord[],
    isConfigured: (rootPath: string) => boolean,
  ): void {
    this.#walks.swept(sweep, present, isConfigured);
  }

  /** Resolves with whether all that was recorded and noted by now is in the store; false: the store is away. */
  async kept(): Promise<boolean> {
    const kept = await Promise.all([this.#keeper.kept(), this.sharing.keeper.kept()]);
    return kept.every(isKept => isKept);
  }

  /**
   * Bytes that came or went between walks, as a trusted program tells. They count once they are kept, until
   * every walked unit of that owner and leaf was walked anew, or, without any, for an hour. Rejects with
   * `store_away` or `sum_too_large`, and then they do not count.
   */
  addDelta(ownerName: string, leaf: Leaf, bytes: number): Promise<void> {
    return this.#reports.addDelta(ownerName, leaf, bytes);
  }

  /**
   * A reported unit's size in place of what was reported before; 0 takes the unit out. Rejects with
   * `store_away` or `sum_too_large`, and then nothing is changed.
   */
  reportUnit(ownerName: string, leaf: Leaf, name: string, bytes: number): Promise<void> {
    return this.#reports.reportUnit(ownerName, leaf, name, bytes);
  }

  /** Writes what waits, and closes the store. */
  async close(): Promise<void> {
    this.#reports.close();
    await this.sources.close();
    await this.sharing.close();
    await this.#keeper.close();
    await this.#store.close();
  }

  async #load(kinds: readonly Kind<unknown>[]): Promise<void> {
    const kept = await this.#store.load();
    this.#governing.load([...policyKinds, ...kinds], kept.documents, kept.adopted);
    const found = rekeyed(kept, name => this.#book.keyOf(name));
    for (const key of found.goneOwners) this.#keeper.ownerGone(key);
    for (const id of found.goneUnits) this.#keeper.unitGone(id);
    for (const owner of found.changedOwners) this.#keeper.owner(owner);
    for (const unit of found.changedUnits) this.#keeper.unit(unit);
    for (const owner of found.owners) this.#book.open(owner);
    this.#walks.load(kept.roots, kept.sweep);
    for (const unit of found.units) {
      this.#walks.put(unit);
      this.#seq = Math.max(this.#seq, unit.seq);
    }
    for (const share of kept.shares) this.#book.accountByKey(share.ownerKey)?.putShare(share);
    for (const record of kept.deltas) {
      this.#seq = Math.max(this.#seq, record.seq);
      this.#reports.load(this.#walks.accountFor(record.owner), record);
    }
    this.#reports.settle();
    await this.sources.load();
  }

  #usageOf(account: Account | undefined, askedName: string): OwnerUsage {
    return {
      id: account?.owner.id ?? null,
      name: account?.owner.name ?? askedName,
      type: account?.owner.type ?? 'user',
      usage: account?.usage ?? noUsage,
      measuredAt: account?.measuredAt ?? this.lastSweep?.finishedAt ?? null,
      partial: this.lastSweep === null || (account?.partial ?? false),
      stale: this.sharing.isStale || (account !== undefined && this.sources.makesStale(account)),
    };
  }

  #standing(owner: OwnerUsage): Standing {
    return this.policy.standing(owner.id, this.#settings.defaultGroups);
  }
}
