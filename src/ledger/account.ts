/**
 * One owner's usage: the units, what is reported on top of them, what other hosts say, and the sums.
 *
 * Sums are kept up to date with each change, so that asking for them costs nothing. Where a sum would pass
 * 2^53 - 1 it is not kept, and asking for it is an error until it fits again.
 *
 * All of it is in the columns of `AccountTable`: an account is only a way to them, which is made when
 * somebody asks for one.
 */

import { SoftquotaError } from '../errors.ts';
import {
  addBytes,
  bytesUnder,
  type Leaf,
  leafIndex,
  leafMask,
  leaves,
  noUsage,
  type Usage,
} from '../quota/index.ts';
import type { DeltaRecord, ShareRecord, UnitRecord } from '../store/index.ts';
import { printable } from '../text/index.ts';
import { type AccountExtras, type AccountTable, noDeltas, noShares, noSources } from './account-table.ts';
import { type Delta, LeafDeltas } from './deltas.ts';
import { hasSameFigures, type SourceShare, unitCountIn } from './source-share.ts';

const largest = BigInt(Number.MAX_SAFE_INTEGER);

export class Account {
  readonly #table: AccountTable;
  readonly #row: number;
  readonly #life: number;

  /** The account that is open in this row. */
  constructor(table: AccountTable, row: number) {
    this.#table = table;
    this.#row = row;
    this.#life = table.lifeOf(row);
  }

  get ownerKey(): string {
    return this.#table.keyOf(this.#row);
  }

  /** May be gone through more than once. */
  get units(): Iterable<UnitRecord> {
    return { [Symbol.iterator]: () => this.#records() };
  }

  /** The owner's name as directories and reports spell it. */
  get spellings(): ReadonlySet<string> {
    const spelled = new Set<string>();
    const { units } = this.#table;
    const key = this.ownerKey;
    for (const unit of units.chain(this.#firstUnit)) spelled.add(units.spelling(unit) ?? key);
    return spelled;
  }

  get isEmpty(): boolean {
    return this.#unitCount === 0 && !this.hasDeltas && !this.hasShares && this.sources.length === 0;
  }

  /** On all hosts. */
  get unitCount(): number {
    return [...this.#shares.values()].reduce((sum, { units }) => sum + units, this.ownUnitCount);
  }

  /** On this host. */
  get ownUnitCount(): number {
    return this.sources.reduce((sum, share) => sum + unitCountIn(share), this.#unitCount);
  }

  /** The units that programs report in whole sets. They are not among `units`. */
  get sources(): readonly SourceShare[] {
    return this.#table.extras(this.#row)?.sources ?? noSources;
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
    return this.ownPartial || (this.hasShares && [...this.#shares.values()].some(({ partial }) => partial));
  }

  /** Tells whether all of `usage` can be added up exactly. */
  get fits(): boolean {
    try {
      bytesUnder(this.usage, leafMask('size:all'));
      return true;
    } catch {
      return false;
    }
  }

  /** Bytes per leaf; throws `sum_too_large`. */
  get usage(): Usage {
    const extras = this.#table.extras(this.#row);
    if (extras === undefined) return this.#sumOfUnits();
    extras.usage ??= this.#withShares(this.ownUsage);
    return extras.usage;
  }

  /** Usage without what other hosts report. */
  get ownUsage(): Usage {
    const extras = this.#table.extras(this.#row);
    if (extras === undefined) return this.#sumOfUnits();
    extras.ownUsage ??= this.#withDeltas(this.#withSources(this.#sumOfUnits()));
    return extras.ownUsage;
  }

  /** Those of `usage` that no ref reaches; null: none. */
  get unreachable(): Usage | null {
    if (this.#table.extras(this.#row) === undefined) return null;
    const own = this.ownUnreachable;
    const others = [...this.#shares.values()].flatMap(({ unreachable }) => unreachable ?? []);
    const sum = leaves.map((leaf, index) =>
      others.reduce((bytes, other) => bytes + (other[leaf] ?? 0), own[index] ?? 0),
    );
    return sum.some(bytes => bytes > 0) ? sum : null;
  }

  /** Unreachable bytes without those that other hosts report. */
  get ownUnreachable(): Usage {
    return this.#table.extras(this.#row)?.unreachable ?? noUsage;
  }

  /**
   * When the oldest of its units was walked, in milliseconds since 1970; null where none was. A reported
   * unit is as its program last said, however long ago that is, and makes nothing old.
   */
  get measuredAt(): number | null {
    let oldest = this.ownMeasuredAt;
    for (const { measuredAt } of this.#shares.values()) oldest = older(oldest, measuredAt);
    return oldest;
  }

  /** Time of the oldest walk of this host's units. */
  get ownMeasuredAt(): number | null {
    return this.#table.measuredAt(this.#row);
  }

  /** Some bytes of this host's units are last known ones. */
  get ownPartial(): boolean {
    return this.#table.isPartial(this.#row);
  }

  /** Takes what the owner has in a source's set in place of what there was in the one before. */
  putSource(share: SourceShare): void {
    const before = this.sourceShare(share.source.name);
    const sources = [...this.sources.filter(one => one !== before), share];
    const isSame = before !== undefined && hasSameFigures(before, share);
    if (isSame) this.#table.openExtras(this.#row).sources = sources;
    else this.#change({ sources });
  }

  /** Nothing of the owner's is in that source's set any more. */
  takeSource(share: SourceShare): void {
    if (this.sources.includes(share)) this.#change({ sources: this.sources.filter(one => one !== share) });
  }

  sourceShare(source: string): SourceShare | undefined {
    return this.sources.find(share => share.source.name === source);
  }

  /** Takes what another host says in place of what it said before. */
  putShare(share: ShareRecord): void {
    this.#change({ shares: new Map(this.#shares).set(share.host, share) });
  }

  takeShare(host: string): void {
    if (this.#shares.has(host)) this.#change({ shares: without(this.#shares, host) });
  }

  /** Takes a unit in, which is in no account. */
  put(row: number, unit: UnitRecord): void {
    this.#table.link(this.#row, row);
    this.#changed(undefined, unit);
  }

  /** Takes a unit in as it comes from the store: before anything of the owner's was asked for or reported. */
  load(row: number): void {
    const table = this.#table;
    table.link(this.#row, row);
    if (table.units.isPartial(row)) table.addPartial(this.#row, 1);
    if (table.units.hasUnreachable(row)) this.#changeUnreachable(undefined, table.units.record(row));
    table.forgetMeasuredAt(this.#row);
    table.putSums(this.#row, null);
  }

  /** One of its units has become another. */
  replaced(before: UnitRecord, after: UnitRecord): void {
    this.#changed(before, after);
  }

  /** Lets one of its units go. */
  take(row: number, unit: UnitRecord): void {
    this.#table.unlink(this.#row, row);
    this.#changed(unit, undefined);
  }

  /** Takes a delta that is later than all that are here. */
  addDelta(delta: Delta): void {
    const { leaf } = delta.record;
    const known = this.#deltas.get(leaf) ?? new LeafDeltas(leaf, this.units);
    known.add(delta, this.units);
    this.#change({ deltas: new Map(this.#deltas).set(leaf, known) });
  }

  /** Drops the deltas that walks have overtaken, or that have lapsed; gives the dropped. */
  settleDeltas(monotonicNow: number): readonly DeltaRecord[] {
    let left = this.#deltas;
    const dropped: DeltaRecord[] = [];
    for (const [leaf, deltas] of this.#deltas) {
      dropped.push(...deltas.settle(this.units, monotonicNow));
      if (deltas.isEmpty) left = without(left, leaf);
    }
    if (dropped.length > 0) this.#change({ deltas: left });
    return dropped;
  }

  get #firstUnit(): number {
    return this.#table.firstUnit(this.#row);
  }

  get #unitCount(): number {
    return this.#table.unitCount(this.#row);
  }

  get #shares(): ReadonlyMap<string, ShareRecord> {
    return this.#table.extras(this.#row)?.shares ?? noShares;
  }

  get #deltas(): ReadonlyMap<Leaf, LeafDeltas> {
    return this.#table.extras(this.#row)?.deltas ?? noDeltas;
  }

  /** The records of its units; others may change meanwhile, and the account may be closed. */
  *#records(): Generator<UnitRecord> {
    const table = this.#table;
    if (table.lifeOf(this.#row) !== this.#life) return;
    for (const unit of [...table.units.chain(this.#firstUnit)]) {
      if (table.lifeOf(this.#row) !== this.#life) return;
      if (table.units.accountOf(unit) === this.#row) yield table.units.record(unit);
    }
  }

  #changed(before: UnitRecord | undefined, after: UnitRecord | undefined): void {
    const table = this.#table;
    for (const deltas of this.#deltas.values()) deltas.unitChanged(before, after);
    table.addPartial(this.#row, Number(after?.partial ?? false) - Number(before?.partial ?? false));
    table.forgetMeasuredAt(this.#row);
    const isOtherwise = this.#changeUnreachable(before, after);
    if (before?.leaf === after?.leaf && before?.bytes === after?.bytes) {
      if (isOtherwise) table.tell(this.#row);
      return;
    }
    this.#recount();
    const next = table.sums(this.#row);
    if (next !== undefined) {
      if (before !== undefined) addTo(next, before.leaf, -before.bytes);
      if (after !== undefined) addTo(next, after.leaf, after.bytes);
      table.putSums(this.#row, next.every(Number.isSafeInteger) ? next : null);
    }
    table.tell(this.#row);
  }

  /** Tells whether the sum of unreachable bytes is another by it. */
  #changeUnreachable(before: UnitRecord | undefined, after: UnitRecord | undefined): boolean {
    const [was, is] = [unreachableIn(before), unreachableIn(after)];
    if (was === is && (is === 0 || before?.leaf === after?.leaf)) return false;
    const unreachable = [...this.ownUnreachable];
    if (before !== undefined) addTo(unreachable, before.leaf, -was);
    if (after !== undefined) addTo(unreachable, after.leaf, is);
    this.#table.openExtras(this.#row).unreachable = unreachable;
    this.#table.closeExtras(this.#row);
    return true;
  }

  /** Changes what the account has besides its units. */
  #change(changes: Partial<Pick<AccountExtras, 'deltas' | 'shares' | 'sources'>>): void {
    Object.assign(this.#table.openExtras(this.#row), changes);
    this.#recount();
    this.#table.closeExtras(this.#row);
    this.#table.tell(this.#row);
  }

  #recount(): void {
    const extras = this.#table.extras(this.#row);
    if (extras !== undefined) [extras.usage, extras.ownUsage] = [null, null];
  }

  #sumOfUnits(): Usage {
    const known = this.#table.sums(this.#row);
    if (known !== undefined) return known;
    const sums = [...noUsage];
    try {
      const { units } = this.#table;
      for (const unit of units.chain(this.#firstUnit)) {
        const index = units.leafIndex(unit);
        sums[index] = addBytes(sums[index] ?? 0, units.bytes(unit));
      }
    } catch (cause) {
      throw this.#tooLarge(cause);
    }
    this.#table.putSums(this.#row, sums);
    return sums;
  }

  #withSources(unitBytes: Usage): Usage {
    if (this.sources.length === 0) return unitBytes;
    return this.#sum([unitBytes, ...this.sources.map(({ bytes }) => bytes)]);
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
    const name = printable(this.#table.nameOf(this.#row));
    return new SoftquotaError('sum_too_large', `the sum of ${name}'s units exceeds 2^53 - 1 bytes`, {
      cause,
    });
  }
}

function without<Key, Value>(map: ReadonlyMap<Key, Value>, key: Key): ReadonlyMap<Key, Value> {
  const left = new Map(map);
  left.delete(key);
  return left;
}

function older(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}

/** Adds to the bytes of one leaf. */
function addTo(sums: number[], leaf: Leaf, bytes: number): void {
  const index = leafIndex(leaf);
  sums[index] = (sums[index] ?? 0) + bytes;
}

/**
 * The bytes of a unit that no ref reaches. A unit that has become smaller since they were measured has lost
 * some of them; what came since is not among them.
 */
export function unreachableIn(unit: UnitRecord | undefined): number {
  if (unit?.reach === undefined) return 0;
  const { reachableBytes, unreachableBytes } = unit.reach;
  return Math.min(unreachableBytes, Math.max(unit.bytes - reachableBytes, 0));
}
