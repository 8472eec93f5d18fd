/**
 * One owner's usage: the units, what is reported on top of them, what other hosts say, and the sums.
 *
 * Sums are kept up to date with each change, so that asking for them costs nothing. Where a sum
 * would pass 2^53 - 1 it is not kept, and asking for it is an error until it fits again.
 */

import { noRow } from '../columns.ts';
import { SoftquotaError } from '../errors.ts';
import { addBytes, type Leaf, leaves, noUsage, type Usage } from '../quota/index.ts';
import type { DeltaRecord, ShareRecord, UnitRecord } from '../store/index.ts';
import { printable } from '../text/index.ts';
import { type Delta, LeafDeltas } from './deltas.ts';
import { fitsExactly } from './must-fit.ts';
import { hasSameFigures, type SourceShare, unitCountIn } from './source-share.ts';
import type { UnitTable } from './unit-table.ts';
import { addTo, UnreachableSum, unreachableIn } from './unreachable.ts';

const largest = BigInt(Number.MAX_SAFE_INTEGER);

/** The part that all accounts have in common. */
export interface AccountBook {
  /** The units of all accounts. */
  readonly table: UnitTable;
  /** An owner's name, as it is now. */
  nameOf(ownerKey: string): string;
  /** Called when what an owner stores, or what is reported on top, has changed. */
  onChange(ownerKey: string): void;
}

/** Most owners have none: these stand for theirs. */
const noShares: ReadonlyMap<string, ShareRecord> = new Map();
const noSources: readonly SourceShare[] = [];
const noDeltas: ReadonlyMap<Leaf, LeafDeltas> = new Map();

export class Account {
  readonly ownerKey: string;
  readonly #book: AccountBook;
  /** Its number among the accounts, which its units are marked with. */
  readonly #number: number;
  /** The first of its units in the table. */
  #firstUnit = noRow;
  #units = 0;
  /** The sets of sources; most owners have none. */
  #sources = noSources;
  /** The shares of other hosts, by host. */
  #shares = noShares;
  /** Only leaves that have any. */
  #deltas = noDeltas;
  /** The sum of the units, without deltas; null if it has to be added up again. */
  #unitBytes: Usage | null = noUsage;
  #usage: Usage | null = null;
  #ownUsage: Usage | null = null;
  #fits: boolean | null = null;
  /** Undefined where it has to be looked for. */
  #measuredAt: number | null | undefined = null;
  #partialUnits = 0;
  /** Null: none of its units has anything that no ref reaches, and no share of another host has come. */
  #unreachable: UnreachableSum | null = null;

  constructor(ownerKey: string, number: number, book: AccountBook) {
    this.ownerKey = ownerKey;
    this.#number = number;
    this.#book = book;
  }

  /** May be gone through more than once. */
  get units(): Iterable<UnitRecord> {
    return { [Symbol.iterator]: () => this.#book.table.recordsOf(this.#firstUnit, this.#number) };
  }

  /** The owner's name as directories and reports spell it. */
  get spellings(): ReadonlySet<string> {
    const spelled = new Set<string>();
    let last: string | null = null;
    for (const row of this.#book.table.chain(this.#firstUnit)) {
      const name = this.#book.table.owner(row);
      if (name !== null && name !== last) spelled.add(name);
      last = name;
    }
    return spelled;
  }

  get isEmpty(): boolean {
    return (
      this.#units === 0 && this.#deltas.size === 0 && this.#shares.size === 0 && this.#sources.length === 0
    );
  }

  /** On all hosts. */
  get unitCount(): number {
    return [...this.#shares.values()].reduce((sum, { units }) => sum + units, this.ownUnitCount);
  }

  /** On this host. */
  get ownUnitCount(): number {
    return this.#sources.reduce((sum, share) => sum + unitCountIn(share), this.#units);
  }

  /** The units that programs report in whole sets. They are not among `units`. */
  get sources(): readonly SourceShare[] {
    return this.#sources;
  }

  /** The shares of other hosts. */
  get shares(): Iterable<ShareRecord> {
    return this.#shares.values();
  }

  get hasShares(): boolean {
    return this.#shares.size > 0;
  }

  get hasDeltas(): boolean {
    return this.#deltas.size > 0;
  }

  /** Some of its bytes are last known ones. */
  get partial(): boolean {
    return (
      this.ownPartial || (this.#shares.size > 0 && [...this.#shares.values()].some(({ partial }) => partial))
    );
  }

  /** Tells whether all of `usage` can be added up exactly. */
  get fits(): boolean {
    this.#fits ??= fitsExactly(() => this.usage);
    return this.#fits;
  }

  /** Bytes per leaf; throws `sum_too_large`. */
  get usage(): Usage {
    this.#usage ??= this.#withShares(this.ownUsage);
    return this.#usage;
  }

  /** The same without what other hosts say. */
  get ownUsage(): Usage {
    this.#ownUsage ??= this.#withDeltas(this.#withSources(this.#sumOfUnits()));
    return this.#ownUsage;
  }

  /** Those of `usage` that no ref reaches; null: none. The same list until they are others. */
  get unreachable(): Usage | null {
    if (this.#unreachable === null && this.#shares.size === 0) return null;
    this.#unreachable ??= new UnreachableSum();
    return this.#unreachable.with(this.#shares);
  }

  /** The same without what other hosts say. */
  get ownUnreachable(): Usage {
    return this.#unreachable?.own ?? noUsage;
  }

  /**
   * When the oldest of its units was walked, in milliseconds since 1970; null where none was. A reported
   * unit is as its program last said, however long ago that is, and makes nothing old.
   */
  get measuredAt(): number | null {
    if (this.#shares.size === 0) return this.ownMeasuredAt;
    let oldest = this.ownMeasuredAt;
    for (const { measuredAt } of this.#shares.values()) oldest = older(oldest, measuredAt);
    return oldest;
  }

  /** The same of the units of this host. */
  get ownMeasuredAt(): number | null {
    if (this.#measuredAt === undefined) this.#measuredAt = this.#oldestWalk();
    return this.#measuredAt;
  }

  /** Some bytes of this host's units are last known ones. */
  get ownPartial(): boolean {
    return this.#partialUnits > 0;
  }

  /** Takes what the owner has in a source's set in place of what there was in the one before. */
  putSource(share: SourceShare): void {
    const before = this.sourceShare(share.source.name);
    this.#sources = [...this.#sources.filter(one => one !== before), share];
    if (before !== undefined && hasSameFigures(before, share)) return;
    this.#recount();
    this.#book.onChange(this.ownerKey);
  }

  /** Nothing of the owner's is in that source's set any more. */
  takeSource(share: SourceShare): void {
    if (!this.#sources.includes(share)) return;
    this.#sources = this.#sources.filter(one => one !== share);
    this.#recount();
    this.#book.onChange(this.ownerKey);
  }

  sourceShare(source: string): SourceShare | undefined {
    return this.#sources.find(share => share.source.name === source);
  }

  /** Takes what another host says in place of what it said before. */
  putShare(share: ShareRecord): void {
    this.#shares = new Map(this.#shares).set(share.host, share);
    this.#forgetSum();
    this.#book.onChange(this.ownerKey);
  }

  takeShare(host: string): void {
    if (!this.#shares.has(host)) return;
    this.#shares = without(this.#shares, host, noShares);
    this.#forgetSum();
    this.#book.onChange(this.ownerKey);
  }

  /**
   * The same unit with a text of the owner's name that is here already: those that come from a thread or the
   * store each have their own.
   */
  withOwnSpelling(unit: UnitRecord): UnitRecord {
    const first = this.#firstUnit === noRow ? null : this.#book.table.owner(this.#firstUnit);
    const known = [this.ownerKey, first].find(name => name === unit.owner);
    return known === undefined || known === null ? unit : { ...unit, owner: known };
  }

  /** Takes a unit in, which is in no account. */
  put(row: number, unit: UnitRecord): void {
    this.#book.table.link(row, this.#firstUnit, this.#number);
    this.#firstUnit = row;
    this.#units += 1;
    this.#changed(undefined, unit);
  }

  /** Takes a unit in as it comes from the store: before anything of the owner's was asked for or reported. */
  load(row: number): void {
    const { table } = this.#book;
    table.link(row, this.#firstUnit, this.#number);
    this.#firstUnit = row;
    this.#units += 1;
    if (table.isPartial(row)) this.#partialUnits += 1;
    if (table.hasUnreachable(row)) this.#changeUnreachable(undefined, table.record(row));
    this.#measuredAt = undefined;
    this.#unitBytes = null;
    this.#recount();
  }

  /** One of its units has become another. */
  replaced(before: UnitRecord, after: UnitRecord): void {
    this.#changed(before, after);
  }

  /** Lets one of its units go. */
  take(row: number, unit: UnitRecord): void {
    this.#firstUnit = this.#book.table.unlink(row, this.#firstUnit);
    this.#units -= 1;
    this.#changed(unit, undefined);
  }

  /** Takes a delta that is later than all that are here. */
  addDelta(delta: Delta): void {
    const { leaf } = delta.record;
    const deltas = this.#deltas.get(leaf) ?? new LeafDeltas(leaf, this.units);
    if (!this.#deltas.has(leaf)) this.#deltas = new Map(this.#deltas).set(leaf, deltas);
    deltas.add(delta, this.units);
    this.#recount();
    this.#book.onChange(this.ownerKey);
  }

  /** Drops the deltas that walks have overtaken, or that have lapsed; gives the dropped. */
  settleDeltas(monotonicNow: number): readonly DeltaRecord[] {
    const dropped: DeltaRecord[] = [];
    for (const [leaf, deltas] of this.#deltas) {
      const over = deltas.settle(this.units, monotonicNow);
      if (over.length === 0) continue;
      dropped.push(...over);
      if (deltas.isEmpty) this.#deltas = without(this.#deltas, leaf, noDeltas);
      this.#recount();
    }
    if (dropped.length > 0) this.#book.onChange(this.ownerKey);
    return dropped;
  }

  #changed(before: UnitRecord | undefined, after: UnitRecord | undefined): void {
    for (const deltas of this.#deltas.values()) deltas.unitChanged(before, after);
    this.#partialUnits += Number(after?.partial ?? false) - Number(before?.partial ?? false);
    this.#measuredAt = undefined;
    const isOtherwise = this.#changeUnreachable(before, after);
    if (before?.leaf === after?.leaf && before?.bytes === after?.bytes) {
      if (isOtherwise) this.#book.onChange(this.ownerKey);
      return;
    }
    this.#recount();
    if (this.#unitBytes !== null) {
      const next = [...this.#unitBytes];
      if (before !== undefined) addTo(next, before.leaf, -before.bytes);
      if (after !== undefined) addTo(next, after.leaf, after.bytes);
      this.#unitBytes = next.every(Number.isSafeInteger) ? next : null;
    }
    this.#book.onChange(this.ownerKey);
  }

  #changeUnreachable(before: UnitRecord | undefined, after: UnitRecord | undefined): boolean {
    if (this.#unreachable === null && unreachableIn(after) === 0) return false;
    this.#unreachable ??= new UnreachableSum();
    return this.#unreachable.unitChanged(before, after);
  }

  #recount(): void {
    this.#forgetSum();
    this.#ownUsage = null;
  }

  #forgetSum(): void {
    this.#usage = null;
    this.#fits = null;
  }

  #oldestWalk(): number | null {
    const { table } = this.#book;
    let oldest: number | null = null;
    for (const row of table.chain(this.#firstUnit)) {
      if (table.isWalked(row)) oldest = older(oldest, table.measuredAt(row));
    }
    return oldest;
  }

  #sumOfUnits(): Usage {
    if (this.#unitBytes !== null) return this.#unitBytes;
    const sums = [...noUsage];
    try {
      const { table } = this.#book;
      for (const row of table.chain(this.#firstUnit)) {
        const index = table.leafIndex(row);
        sums[index] = addBytes(sums[index] ?? 0, table.bytes(row));
      }
    } catch (cause) {
      throw this.#tooLarge(cause);
    }
    this.#unitBytes = sums;
    return sums;
  }

  #withSources(unitBytes: Usage): Usage {
    if (this.#sources.length === 0) return unitBytes;
    return this.#sum([unitBytes, ...this.#sources.map(({ bytes }) => bytes)]);
  }

  /** Deltas may say that more went than was there: a sum is never below 0. */
  #withDeltas(unitBytes: Usage): Usage {
    if (this.#deltas.size === 0) return unitBytes;
    return unitBytes.map((bytes, index) => {
      const leaf = leaves[index];
      const deltas = leaf === undefined ? undefined : this.#deltas.get(leaf);
      if (deltas === undefined) return bytes;
      const sum = BigInt(bytes) + deltas.bytes;
      if (sum > largest) throw this.#tooLarge();
      return sum < 0n ? 0 : Number(sum);
    });
  }

  #withShares(own: Usage): Usage {
    if (this.#shares.size === 0) return own;
    const shares = [...this.#shares.values()].map(({ bytes }) => leaves.map(leaf => bytes[leaf] ?? 0));
    return this.#sum([own, ...shares]);
  }

  #sum(parts: readonly Usage[]): Usage {
    try {
      return leaves.map((_leaf, index) => parts.reduce((sum, part) => addBytes(sum, part[index] ?? 0), 0));
    } catch (cause) {
      throw this.#tooLarge(cause);
    }
  }

  #tooLarge(cause?: unknown): SoftquotaError {
    const name = printable(this.#book.nameOf(this.ownerKey));
    return new SoftquotaError('sum_too_large', `the sum of ${name}'s units exceeds 2^53 - 1 bytes`, {
      cause,
    });
  }
}

/** A map without a key; `none` where nothing is left. */
function without<Key, Value>(
  map: ReadonlyMap<Key, Value>,
  key: Key,
  none: ReadonlyMap<Key, Value>,
): ReadonlyMap<Key, Value> {
  const left = new Map(map);
  left.delete(key);
  return left.size === 0 ? none : left;
}

function older(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}
