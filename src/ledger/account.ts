/**
 * One owner's usage: the units, what is reported on top of them, what other hosts say, and the sums.
 *
 * Sums are kept up to date with each change, so that asking for them costs nothing. Where a sum would pass
 * 2^53 - 1 it is not kept, and asking for it is an error until it fits again.
 */

import type { Owners } from '../documents/index.ts';
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
import { type Delta, LeafDeltas } from './deltas.ts';

const largest = BigInt(Number.MAX_SAFE_INTEGER);

/** A program that reports units in whole sets, and when it put the set that counts now. */
export interface UnitSource {
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly reportedAt: number;
  readonly staleAfterMs: number;
}

/** An owner's part of the set of one source. */
export interface SourceShare {
  readonly source: UnitSource;
  readonly bytes: Usage;
  /** Number of units of each leaf. */
  readonly units: Usage;
}

export function unitCountIn({ units }: Pick<SourceShare, 'units'>, of: readonly Leaf[] = leaves): number {
  return of.reduce((sum, leaf) => sum + (units[leafIndex(leaf)] ?? 0), 0);
}

/** Stand for what most accounts have none of. */
const noSources: readonly SourceShare[] = [];
const noShares: ReadonlyMap<string, ShareRecord> = new Map();
const noDeltas: ReadonlyMap<Leaf, LeafDeltas> = new Map();

/** Lists of bytes are never changed: another one takes their place. */
export class Account {
  readonly ownerKey: string;
  readonly #owners: Pick<Owners, 'byKey'>;
  readonly #onChange: (ownerKey: string) => void;
  readonly #units = new Map<string, UnitRecord>();
  #partialUnits = 0;
  /** When the oldest walk of the units began; undefined: it is to be searched for. */
  #oldestWalk: number | null | undefined = null;
  #sources = noSources;
  #shares = noShares;
  /** Only leaves that have any. */
  #deltas = noDeltas;
  /** The bytes of the units that no ref reaches. */
  #unreachable = noUsage;
  /** The bytes of the units; null: they have to be added up again. So with reported ones and shares. */
  #unitBytes: Usage | null = noUsage;
  #ownUsage: Usage | null = null;
  #usage: Usage | null = null;

  /** `onChange` is called when what the owner stores, or what is reported on top, has changed. */
  constructor(ownerKey: string, owners: Pick<Owners, 'byKey'>, onChange: (ownerKey: string) => void) {
    this.ownerKey = ownerKey;
    this.#owners = owners;
    this.#onChange = onChange;
  }

  /** May be gone through more than once, and while units come and go. */
  get units(): Iterable<UnitRecord> {
    return { [Symbol.iterator]: () => this.#units.values() };
  }

  /** The owner's name as directories and reports spell it. */
  get spellings(): ReadonlySet<string> {
    const spelled = new Set<string>();
    for (const { owner } of this.#units.values()) if (owner !== null) spelled.add(owner);
    return spelled;
  }

  get isEmpty(): boolean {
    return this.#units.size === 0 && !this.hasDeltas && !this.hasShares && this.sources.length === 0;
  }

  /** On all hosts. */
  get unitCount(): number {
    return [...this.#shares.values()].reduce((sum, { units }) => sum + units, this.ownUnitCount);
  }

  get ownUnitCount(): number {
    return this.sources.reduce((sum, share) => sum + unitCountIn(share), this.#units.size);
  }

  /** The units that programs report in whole sets. They are not among `units`. */
  get sources(): readonly SourceShare[] {
    return this.#sources;
  }

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
    this.#usage ??= this.#withShares(this.ownUsage);
    return this.#usage;
  }

  get ownUsage(): Usage {
    this.#ownUsage ??= this.#withDeltas(this.#withSources(this.#sumOfUnits()));
    return this.#ownUsage;
  }

  /** Those of `usage` that no ref reaches; null: none. */
  get unreachable(): Usage | null {
    const others = [...this.#shares.values()].flatMap(({ unreachable }) => unreachable ?? []);
    if (others.length === 0) return this.#unreachable === noUsage ? null : this.#unreachable;
    return leaves.map((leaf, index) =>
      others.reduce((bytes, other) => bytes + (other[leaf] ?? 0), this.#unreachable[index] ?? 0),
    );
  }

  /** Unreachable bytes without those that other hosts report. */
  get ownUnreachable(): Usage {
    return this.#unreachable;
  }

  /** When the oldest of its units was walked, in milliseconds since 1970; null where none was. */
  get measuredAt(): number | null {
    let oldest = this.ownMeasuredAt;
    for (const { measuredAt } of this.#shares.values()) oldest = older(oldest, measuredAt);
    return oldest;
  }

  get ownMeasuredAt(): number | null {
    if (this.#oldestWalk === undefined) {
      this.#oldestWalk = null;
      for (const { kind, measuredAt } of this.#units.values()) {
        if (kind === 'walked') this.#oldestWalk = older(this.#oldestWalk, measuredAt);
      }
    }
    return this.#oldestWalk;
  }

  /** Some bytes of this host's units are last known ones. */
  get ownPartial(): boolean {
    return this.#partialUnits > 0;
  }

  /** Takes what the owner has in a source's set in place of what there was in the one before. */
  putSource(share: SourceShare): void {
    const before = this.sourceShare(share.source.name);
    this.#sources = [...this.#sources.filter(one => one !== before), share];
    if (before === undefined || !hasSameFigures(before, share)) this.#tellChange();
  }

  /** Nothing of the owner's is in that source's set any more. */
  takeSource(share: SourceShare): void {
    if (!this.#sources.includes(share)) return;
    this.#sources = this.#sources.filter(one => one !== share);
    this.#tellChange();
  }

  sourceShare(source: string): SourceShare | undefined {
    return this.#sources.find(share => share.source.name === source);
  }

  putShare(share: ShareRecord): void {
    this.#shares = new Map(this.#shares).set(share.host, share);
    this.#tellChange();
  }

  takeShare(host: string): void {
    if (!this.#shares.has(host)) return;
    this.#shares = without(this.#shares, host);
    this.#tellChange();
  }

  put(unit: UnitRecord): void {
    const before = this.#units.get(unit.id);
    this.#units.set(unit.id, unit);
    this.#unitChanged(before, unit);
  }

  take(unit: UnitRecord): void {
    this.#units.delete(unit.id);
    this.#unitChanged(unit, undefined);
  }

  /** Takes a delta that is later than all that are here. */
  addDelta(delta: Delta): void {
    const { leaf } = delta.record;
    const known = this.#deltas.get(leaf) ?? new LeafDeltas(leaf, this.units);
    known.add(delta, this.units);
    this.#deltas = new Map(this.#deltas).set(leaf, known);
    this.#tellChange();
  }

  /** Drops the deltas that walks have overtaken, or that have lapsed; gives the dropped. */
  settleDeltas(monotonicNow: number): readonly DeltaRecord[] {
    const dropped: DeltaRecord[] = [];
    for (const [leaf, deltas] of this.#deltas) {
      dropped.push(...deltas.settle(this.units, monotonicNow));
      if (deltas.isEmpty) this.#deltas = without(this.#deltas, leaf);
    }
    if (dropped.length > 0) this.#tellChange();
    return dropped;
  }

  #unitChanged(before: UnitRecord | undefined, after: UnitRecord | undefined): void {
    for (const deltas of this.#deltas.values()) deltas.unitChanged(before, after);
    this.#partialUnits += Number(after?.partial ?? false) - Number(before?.partial ?? false);
    this.#oldestWalk = undefined;
    const isSame = before?.leaf === after?.leaf && before?.bytes === after?.bytes;
    if (isSame && unreachableIn(before) === unreachableIn(after)) return;
    if (before?.reach !== undefined || after?.reach !== undefined)
      this.#unreachable = changed(this.#unreachable, before, after, unreachableIn);
    if (this.#unitBytes !== null) {
      const bytes = changed(this.#unitBytes, before, after, unit => unit.bytes);
      this.#unitBytes = bytes.every(Number.isSafeInteger) ? bytes : null;
    }
    this.#tellChange();
  }

  #tellChange(): void {
    [this.#usage, this.#ownUsage] = [null, null];
    this.#onChange(this.ownerKey);
  }

  #sumOfUnits(): Usage {
    if (this.#unitBytes !== null) return this.#unitBytes;
    const sums = [...noUsage];
    try {
      for (const { leaf, bytes } of this.#units.values()) {
        const index = leafIndex(leaf);
        sums[index] = addBytes(sums[index] ?? 0, bytes);
      }
    } catch (cause) {
      throw this.#tooLarge(cause);
    }
    this.#unitBytes = sums;
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
    const name = printable(this.#owners.byKey(this.ownerKey)?.name ?? this.ownerKey);
    return new SoftquotaError('sum_too_large', `the sum of ${name}'s units exceeds 2^53 - 1 bytes`, {
      cause,
    });
  }
}

function hasSameFigures(a: SourceShare, b: SourceShare): boolean {
  return leaves.every((_, index) => a.bytes[index] === b.bytes[index] && a.units[index] === b.units[index]);
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

/** Sums by leaf once a unit, or none, has become another one, or none. */
function changed(
  sums: Usage,
  before: UnitRecord | undefined,
  after: UnitRecord | undefined,
  bytesIn: (unit: UnitRecord) => number,
): Usage {
  const next = [...sums];
  for (const [unit, step] of [[before, -1] as const, [after, 1] as const]) {
    if (unit === undefined) continue;
    const index = leafIndex(unit.leaf);
    next[index] = (next[index] ?? 0) + step * bytesIn(unit);
  }
  return next.some(bytes => bytes !== 0) ? next : noUsage;
}

/** The bytes of a unit that no ref reaches; one that became smaller since then has lost some of them. */
export function unreachableIn(unit: UnitRecord | undefined): number {
  if (unit?.reach === undefined) return 0;
  const { reachableBytes, unreachableBytes } = unit.reach;
  return Math.min(unreachableBytes, Math.max(unit.bytes - reachableBytes, 0));
}
