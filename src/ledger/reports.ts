/**
 * What trusted programs report: units that no walk finds, and bytes that came or went between walks.
 *
 * It is written first and counts then, since an acknowledgement promises that it survives a restart.
 */

import type { Leaf } from '../quota/index.ts';
import type { DeltaRecord, OwnerRecord, UnitRecord } from '../store/index.ts';
import { type Account, mustFit } from './account.ts';
import type { Book } from './book.ts';
import type { Clock } from './clock.ts';
import type { Keeper } from './keeper.ts';
import { reportedId } from './kept.ts';

/** How long a delta counts whose owner has no walked units to overtake it. */
const deltaLapseMs = 3_600_000;
const lapseCheckMs = 60_000;

export interface ReportsOptions {
  readonly book: Book;
  readonly keeper: Keeper;
  readonly clock: Clock;
  readonly host: string;
  nextSeq(): number;
}

export class Reports {
  readonly #options: ReportsOptions;
  /** Accounts with deltas. */
  readonly #unsettled = new Set<Account>();
  readonly #lapse: NodeJS.Timeout;

  constructor(options: ReportsOptions) {
    this.#options = options;
    this.#lapse = setInterval(() => this.#settle(this.#unsettled), lapseCheckMs).unref();
  }

  /** See `Ledger.addDelta`. */
  async addDelta(ownerName: string, leaf: Leaf, bytes: number): Promise<void> {
    const { book, keeper, clock, nextSeq } = this.#options;
    const at = clock.wall();
    const owner = this.#ownerFor(ownerName, at);
    mustFit(book.account(owner.name), owner, leaf, bytes);
    const record: DeltaRecord = { seq: nextSeq(), owner: owner.name, leaf, bytes, at };
    await keeper.now({ deltas: [record], owners: [owner] });
    const account = book.open(owner);
    account.addDelta({ record, lapsesAt: clock.monotonic() + deltaLapseMs });
    this.#unsettled.add(account);
    this.#settle([account]);
  }

  /** See `Ledger.reportUnit`. */
  async reportUnit(ownerName: string, leaf: Leaf, name: string, bytes: number): Promise<void> {
    const { book, keeper, clock, host, nextSeq } = this.#options;
    const measuredAt = clock.wall();
    const owner = this.#ownerFor(ownerName, measuredAt);
    const id = reportedId(owner.key, leaf, name);
    const unit: UnitRecord = {
      id,
      kind: 'reported',
      host,
      name,
      owner: owner.name,
      leaf,
      bytes,
      files: 0,
      partial: false,
      measuredAt,
      seq: nextSeq(),
    };
    mustFit(book.account(owner.name), owner, leaf, bytes - (book.unit(id)?.bytes ?? 0));
    await keeper.now({ owners: [owner], ...(bytes === 0 ? { goneUnits: [id] } : { units: [unit] }) });
    book.open(owner);
    // Several reports of one unit may have been under way: the store took them in this order too.
    const known = book.unit(id);
    if (bytes > 0) book.put(unit);
    else if (known !== undefined) book.remove(known);
  }

  /** Takes a delta that the store kept; `settle` follows once all of them are here. */
  load(account: Account, record: DeltaRecord): void {
    account.addDelta({ record, lapsesAt: this.#lapsesAt(record) });
    this.#unsettled.add(account);
  }

  /** Drops the deltas that have lapsed, or that walks have overtaken. */
  settle(): void {
    this.#settle(this.#unsettled);
  }

  /** The same for the owners of units that have just changed. */
  settleOwnersOf(...units: readonly (UnitRecord | undefined)[]): void {
    if (this.#unsettled.size === 0) return;
    const { book } = this.#options;
    const accounts = units.map(unit => (unit?.owner == null ? undefined : book.account(unit.owner)));
    this.#settle(accounts.filter(account => account !== undefined));
  }

  close(): void {
    clearInterval(this.#lapse);
  }

  #ownerFor(name: string, now: number): OwnerRecord {
    const { book } = this.#options;
    return book.account(name)?.owner ?? book.newOwner(name, now);
  }

  /** An hour after it came, as far as the clock can tell: it may have been set, so never later than an hour from now. */
  #lapsesAt({ at }: DeltaRecord): number {
    const { clock } = this.#options;
    const passedMs = Math.min(Math.max(clock.wall() - at, 0), deltaLapseMs);
    return clock.monotonic() + deltaLapseMs - passedMs;
  }

  #settle(accounts: Iterable<Account>): void {
    const { clock, keeper } = this.#options;
    const now = clock.monotonic();
    for (const account of accounts) {
      for (const delta of account.settleDeltas(now)) keeper.deltaGone(delta.seq);
      if (!account.hasDeltas) this.#unsettled.delete(account);
    }
  }
}
