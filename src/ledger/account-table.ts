/**
 * The data of accounts. Each has a place in columns, by the row of its owner's key; the few with more, such
 * as reports between two walks, have an object besides.
 */

import { grown } from '../columns.ts';
import type { OwnerRegistry } from '../documents/index.ts';
import { PackedNumbers } from '../packed-numbers.ts';
import { type Leaf, leafMask, leaves, noUsage, type Usage } from '../quota/index.ts';
import type { ShareRecord } from '../store/index.ts';
import type { LeafDeltas } from './deltas.ts';
import type { SourceShare } from './source-share.ts';
import type { UnitTable } from './unit-table.ts';

/** Stand for what an account has none of. */
export const noShares: ReadonlyMap<string, ShareRecord> = new Map();
export const noSources: readonly SourceShare[] = [];
export const noDeltas: ReadonlyMap<Leaf, LeafDeltas> = new Map();

/** The data that few accounts have. */
export class AccountExtras {
  /** The sets of sources. */
  sources = noSources;
  /** The shares of other hosts, by host. */
  shares = noShares;
  /** Only leaves that have any. */
  deltas = noDeltas;
  /** The bytes of this host's units that no ref reaches. */
  unreachable = noUsage;
  /** The sums with all of these; null: they have to be added up again. */
  usage: Usage | null = null;
  ownUsage: Usage | null = null;
}

const everything = leafMask('size:all');

/** Mark for a time of the oldest walk that is to be searched for. */
const unknown = Number.NaN;
/** None of them was walked. */
const never = Number.POSITIVE_INFINITY;

export class AccountTable {
  /** The units of all accounts. */
  readonly units: UnitTable;
  readonly #owners: Pick<OwnerRegistry, 'byKey' | 'keys'>;
  readonly #onChange: (ownerKey: string) => void;
  /** The first unit of each and 1, or 0; for how many units there are and how many of them are partial. */
  #firstUnits = new Int32Array(0);
  #unitCounts = new Int32Array(0);
  #partialUnits = new Int32Array(0);
  #measuredAt = new Float64Array(0);
  /** Counts how often an account was opened or closed in each row: odd while it is open. */
  #lives = new Int32Array(0);
  /** The sums of units, without deltas; none where they have to be added up again. */
  readonly #sums = new PackedNumbers(leaves.length);
  readonly #extras = new Map<number, AccountExtras>();

  /** `onChange` is called when what an owner stores, or what is reported on top, has changed. */
  constructor(
    owners: Pick<OwnerRegistry, 'byKey' | 'keys'>,
    units: UnitTable,
    onChange: (ownerKey: string) => void,
  ) {
    this.#owners = owners;
    this.units = units;
    this.#onChange = onChange;
  }

  /** The rows of all accounts, in no order. */
  *rows(): Generator<number> {
    for (let row = 0; row < this.#lives.length; row += 1) if (this.isOpen(row)) yield row;
  }

  isOpen(row: number): boolean {
    return ((this.#lives[row] ?? 0) & 1) === 1;
  }

  /** Another number for each account that has been in this row. */
  lifeOf(row: number): number {
    return this.#lives[row] ?? 0;
  }

  /** Prepares for about so many accounts. */
  expect(accounts: number): void {
    this.#makeRoomFor(accounts - 1);
  }

  /** Opens the account of an owner who has none. */
  open(ownerKey: string): number {
    const row = this.#owners.keys.hold(ownerKey);
    if (row >= this.#lives.length) this.#makeRoomFor(row);
    this.#lives[row] = (this.#lives[row] ?? 0) + 1;
    this.#measuredAt[row] = never;
    return row;
  }

  /** Closes an account that has nothing. */
  close(row: number): void {
    this.#lives[row] = (this.#lives[row] ?? 0) + 1;
    this.#sums.delete(row);
    this.#extras.delete(row);
    this.#owners.keys.release(row);
  }

  keyOf(row: number): string {
    return this.#owners.keys.key(row);
  }

  /** An owner's name, as it is now. */
  nameOf(row: number): string {
    const key = this.keyOf(row);
    return this.#owners.byKey(key)?.name ?? key;
  }

  tell(row: number): void {
    this.#onChange(this.keyOf(row));
  }

  firstUnit(row: number): number {
    return (this.#firstUnits[row] ?? 0) - 1;
  }

  unitCount(row: number): number {
    return this.#unitCounts[row] ?? 0;
  }

  isPartial(row: number): boolean {
    return (this.#partialUnits[row] ?? 0) > 0;
  }

  addPartial(row: number, step: number): void {
    if (step !== 0) this.#partialUnits[row] = (this.#partialUnits[row] ?? 0) + step;
  }

  link(row: number, unit: number): void {
    this.units.link(unit, this.firstUnit(row), row);
    this.#firstUnits[row] = unit + 1;
    this.#unitCounts[row] = this.unitCount(row) + 1;
  }

  unlink(row: number, unit: number): void {
    this.#firstUnits[row] = this.units.unlink(unit, this.firstUnit(row)) + 1;
    this.#unitCounts[row] = this.unitCount(row) - 1;
  }

  /** When the oldest walk of the account's units began; null where none was walked. */
  measuredAt(row: number): number | null {
    if (Number.isNaN(this.#measuredAt[row])) this.#measuredAt[row] = this.#oldestWalk(row);
    const oldest = this.#measuredAt[row] ?? never;
    return oldest === never ? null : oldest;
  }

  forgetMeasuredAt(row: number): void {
    this.#measuredAt[row] = unknown;
  }

  /** Undefined: the sums have to be added up again. */
  sums(row: number): number[] | undefined {
    return this.#sums.get(row);
  }

  /** The bytes below a mask of leaves; undefined where the sums that are kept do not tell them exactly. */
  bytesUnder(row: number, mask: number): number | undefined {
    const total = this.extras(row) === undefined ? this.#sums.sum(row, everything) : undefined;
    if (total === undefined || total > Number.MAX_SAFE_INTEGER) return undefined;
    return mask === everything ? total : this.#sums.sum(row, mask);
  }

  /** Null: they have to be added up again. */
  putSums(row: number, sums: Usage | null): void {
    if (sums === null) this.#sums.delete(row);
    else this.#sums.set(row, sums);
  }

  /** The rows of accounts that have any; some may come and go meanwhile. */
  rowsWithExtras(): Iterable<number> {
    return this.#extras.keys();
  }

  extras(row: number): AccountExtras | undefined {
    // Few servers have any, and every check asks several times.
    return this.#extras.size === 0 ? undefined : this.#extras.get(row);
  }

  /** Extras of a row, made if there are none yet. */
  openExtras(row: number): AccountExtras {
    const extras = this.#extras.get(row) ?? new AccountExtras();
    this.#extras.set(row, extras);
    return extras;
  }

  /** Gives up what has nothing in it any more. */
  closeExtras(row: number): void {
    const extras = this.#extras.get(row);
    if (extras === undefined) return;
    const { sources, shares, deltas, unreachable } = extras;
    const isReachable = unreachable.every(bytes => bytes === 0);
    if (sources.length === 0 && shares.size === 0 && deltas.size === 0 && isReachable)
      this.#extras.delete(row);
  }

  #oldestWalk(row: number): number {
    let oldest = never;
    for (const unit of this.units.chain(this.firstUnit(row))) {
      if (this.units.isWalked(unit)) oldest = Math.min(oldest, this.units.measuredAt(unit));
    }
    return oldest;
  }

  #makeRoomFor(row: number): void {
    const rows = row + 1;
    this.#firstUnits = grown(this.#firstUnits, rows);
    this.#unitCounts = grown(this.#unitCounts, rows);
    this.#partialUnits = grown(this.#partialUnits, rows);
    this.#measuredAt = grown(this.#measuredAt, rows);
    this.#lives = grown(this.#lives, rows);
  }
}
