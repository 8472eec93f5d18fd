/**
 * What walks found: units as they are measured, units that are gone, and the sweeps that all that belongs to.
 *
 * The order of walks is told by the place that each took before it began (`seq`), so the late result of an earlier
 * walk changes nothing. All of it counts at once and is written behind.
 */

import type { Changes, OwnerRecord, RootRecord, SweepRecord, UnitRecord } from '../store/index.ts';
import type { Account } from './account.ts';
import type { Book } from './book.ts';
import { Departed } from './departed.ts';
import type { Keeper } from './keeper.ts';
import type { Reports } from './reports.ts';

/** What a walk found a unit to hold; see `UnitRecord`. */
export type WalkedUnit = Omit<UnitRecord, 'id' | 'kind' | 'host' | 'name'> & { readonly path: string };

export interface WalksOptions {
  readonly book: Book;
  readonly keeper: Keeper;
  readonly reports: Pick<Reports, 'settleOwnersOf'>;
  readonly host: string;
  /** Milliseconds since 1970. */
  now(): number;
}

export class Walks {
  readonly #options: WalksOptions;
  readonly #departed = new Departed();
  readonly #roots = new Map<string, RootRecord>();
  #sweep: SweepRecord | null = null;

  constructor(options: WalksOptions) {
    this.#options = options;
  }

  /** What the store has of an earlier life. */
  load(roots: readonly RootRecord[], sweep: SweepRecord | null): void {
    for (const root of roots) this.#roots.set(root.path, root);
    this.#sweep = sweep;
  }

  /** The last sweep that ended, of this life or an earlier one. */
  get lastSweep(): SweepRecord | null {
    return this.#sweep;
  }

  root(path: string): RootRecord | undefined {
    return this.#roots.get(path);
  }

  record(walked: WalkedUnit): void {
    const { book, keeper, reports, host } = this.#options;
    const before = book.unit(walked.path);
    if (before !== undefined && before.seq > walked.seq) return;
    if (this.#departed.after(walked.path, walked.seq)) return;
    const { path, ...measured } = walked;
    const unit: UnitRecord = { id: path, kind: 'walked', host, name: path, ...measured };
    this.put(unit);
    keeper.unit(unit);
    reports.settleOwnersOf(before, unit);
  }

  gone(path: string, seq: number): void {
    const { book, keeper, reports } = this.#options;
    const unit = book.unit(path);
    if (unit !== undefined && unit.seq > seq) return;
    this.#departed.add(path, seq);
    if (unit === undefined) return;
    book.remove(unit);
    keeper.unitGone(unit.id);
    reports.settleOwnersOf(unit);
  }

  unread(path: string): void {
    const unit = this.#options.book.unit(path);
    if (unit === undefined || unit.partial) return;
    const marked = { ...unit, partial: true };
    this.put(marked);
    this.#options.keeper.unit(marked);
  }

  swept(
    sweep: SweepRecord,
    present: readonly RootRecord[],
    isConfigured: (rootPath: string) => boolean,
  ): void {
    const gone = [...this.#roots.keys()].filter(path => !isConfigured(path));
    for (const path of gone) this.#roots.delete(path);
    for (const root of present) this.#roots.set(root.path, root);
    this.#sweep = sweep;
    this.#departed.swept();
    this.#options.keeper.swept(sweep, present, gone);
  }

  /** Puts a unit in, and opens its owner's account where there is none yet. */
  put(unit: UnitRecord): void {
    if (unit.owner !== null) this.accountFor(unit.owner);
    this.#options.book.put(unit);
  }

  /** The owner's account; where there is none it is opened, and kept. */
  accountFor(ownerName: string): Account {
    const { book, keeper, now } = this.#options;
    const known = book.account(ownerName);
    if (known !== undefined) return known;
    const owner: OwnerRecord = book.newOwner(ownerName, now());
    keeper.owner(owner);
    return book.open(owner);
  }

  /** Something that is in the store already: writing it again changes nothing. */
  somethingKept(): Changes {
    if (this.#sweep !== null) return { sweep: this.#sweep };
    const [account] = this.#options.book.accounts;
    return account === undefined ? {} : { owners: [account.owner] };
  }
}
