/**
 * One owner's usage: the units, reported units and deltas, the usage on other hosts, and the sums.
 *
 * Each change updates the sums, so that reading them is cheap. To read a sum that passes 2^53 - 1 is an error
 * until it fits again.
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
import { printable } from '../text.ts';
import { type Delta, LeafDeltas } from './deltas.ts';

const largest = BigInt(Number.MAX_SAFE_INTEGER);

/** A program that reports units in whole sets, and the time of the set that counts now. */
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

/** A shared empty list, since most accounts have no sources, shares or deltas. */
const none: readonly never[] = [];

/** Never changes a list of bytes that it returned: a change makes a new list. */
export class Account {
  readonly ownerKey: string;
  readonly #owners: Pick<Owners, 'byKey'>;
  readonly #onChange: (ownerKey: string) => void;
  readonly #units = new Map<string, UnitRecord>();
  #partialUnits = 0;
  /** The time of the oldest walk of the units; undefined: to be computed. */
  #oldestWalk: number | null | undefined = null;
  /**
   * The owner's parts of the sets that programs report, whose units are not among `units`. Only `putSource`
   * and `takeSource` change it.
   */
  sources: readonly SourceShare[] = none;
  /** The usage on other hosts. Only `putShare` and `takeShare` change it. */
  shares: readonly ShareRecord[] = none;
  /** One for each leaf that has deltas. */
  #deltas: readonly LeafDeltas[] = none;
  /** The bytes of the units that no ref reaches. */
  #unreachable = noUsage;
  /** The bytes of the units; null: to be added up again. `#ownUsage` adds reports, `#usage` also shares. */
  #unitBytes: Usage | null = noUsage;
  #ownUsage: Usage | null = null;
  #usage: Usage | null = null;

  /** Calls `onChange` after each change of the owner's bytes, and of whether these are partial. */
  constructor(ownerKey: string, owners: Pick<Owners, 'byKey'>, onChange: (ownerKey: string) => void) {
    this.ownerKey = ownerKey;
    this.#owners = owners;
    this.#onChange = onChange;
  }

  /** Can be iterated more than once, also while units are added and removed. */
  get units(): Iterable<UnitRecord> {
    return { [Symbol.iterator]: () => this.#units.values() };
  }

  /** The owner's name in all spellings that directories and reports use. */
  get spellings(): ReadonlySet<string> {
    const spelled = new Set<string>();
    for (const { owner } of this.#units.values()) if (owner !== null) spelled.add(owner);
    return spelled;
  }

  get isEmpty(): boolean {
    return this.#units.size + this.#deltas.length + this.shares.length + this.sources.length === 0;
  }

  /** On all hosts. */
  get unitCount(): number {
    return this.shares.reduce((sum, { units }) => sum + units, this.ownUnitCount);
  }

  get ownUnitCount(): number {
    return this.sources.reduce((sum, share) => sum + unitCountIn(share), this.#units.size);
  }

  get hasDeltas(): boolean {
    return this.#deltas.length > 0;
  }

  /** True if a unit, on whichever host, could not be measured completely. */
  get partial(): boolean {
    return this.ownPartial || this.shares.some(({ partial }) => partial);
  }

  /** True if all of `usage` together is at most 2^53 - 1 bytes. */
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

  /** The part of `usage` that no ref reaches; null: none. */
  get unreachable(): Usage | null {
    const others = this.shares.flatMap(({ unreachable }) => unreachable ?? []);
    if (others.length === 0) return this.#unreachable === noUsage ? null : this.#unreachable;
    return leaves.map((leaf, index) =>
      others.reduce((bytes, other) => bytes + (other[leaf] ?? 0), this.#unreachable[index] ?? 0),
    );
  }

  /** Unreachable bytes without those that other hosts report. */
  get ownUnreachable(): Usage {
    return this.#unreachable;
  }

  /** The time of the oldest walk of a unit on any host, in milliseconds since 1970; null: none. */
  get measuredAt(): number | null {
    let oldest = this.ownMeasuredAt;
    for (const { measuredAt } of this.shares) oldest = older(oldest, measuredAt);
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

  /** Like `partial`, for this host's units alone. */
  get ownPartial(): boolean {
    return this.#partialUnits > 0;
  }

  /** Replaces the owner's part of a source's earlier set. */
  putSource(share: SourceShare): void {
    const before = this.sourceShare(share.source.name);
    this.sources = [...this.sources.filter(one => one !== before), share];
    if (before === undefined || !hasSameFigures(before, share)) this.#tellChange();
  }

  /** Removes the owner's part of a source's set. */
  takeSource(share: SourceShare): void {
    if (!this.sources.includes(share)) return;
    this.sources = this.sources.filter(one => one !== share);
    this.#tellChange();
  }

  sourceShare(source: string): SourceShare | undefined {
    return this.sources.find(share => share.source.name === source);
  }

  putShare(share: ShareRecord): void {
    this.shares = [...this.shares.filter(({ host }) => host !== share.host), share];
    this.#tellChange();
  }

  takeShare(host: string): void {
    const others = this.shares.filter(share => share.host !== host);
    if (others.length === this.shares.length) return;
    this.shares = others;
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

  /** Adds a delta, which must be later than all others of this account. */
  addDelta(delta: Delta): void {
    const { leaf } = delta.record;
    const known = this.#deltas.find(deltas => deltas.leaf === leaf);
    const deltas = known ?? new LeafDeltas(leaf, this.units);
    deltas.add(delta, this.units);
    if (known === undefined) this.#deltas = [...this.#deltas, deltas];
    this.#tellChange();
  }

  /** Drops deltas that walks have overtaken, or that have lapsed; returns the dropped ones. */
  settleDeltas(monotonicNow: number): readonly DeltaRecord[] {
    const dropped = this.#deltas.flatMap(deltas => deltas.settle(this.units, monotonicNow));
    if (dropped.length === 0) return dropped;
    this.#deltas = this.#deltas.filter(({ isEmpty }) => !isEmpty);
    this.#tellChange();
    return dropped;
  }

  #unitChanged(before: UnitRecord | undefined, after: UnitRecord | undefined): void {
    for (const deltas of this.#deltas) deltas.unitChanged(before, after);
    const wasPartial = this.ownPartial;
    this.#partialUnits += Number(after?.partial ?? false) - Number(before?.partial ?? false);
    this.#oldestWalk = undefined;
    const isSame = before?.leaf === after?.leaf && before?.bytes === after?.bytes;
    if (isSame && unreachableIn(before) === unreachableIn(after)) {
      if (this.ownPartial !== wasPartial) this.#tellChange();
      return;
    }
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

  /** Deltas may remove more bytes than there are; then the sum is 0. */
  #withDeltas(unitBytes: Usage): Usage {
    if (this.#deltas.length === 0) return unitBytes;
    const sums = [...unitBytes];
    for (const { leaf, bytes } of this.#deltas) {
      const index = leafIndex(leaf);
      const sum = BigInt(sums[index] ?? 0) + bytes;
      if (sum > largest) throw this.#tooLarge();
      sums[index] = sum < 0n ? 0 : Number(sum);
    }
    return sums;
  }

  #withShares(own: Usage): Usage {
    if (this.shares.length === 0) return own;
    return this.#sum([own, ...this.shares.map(({ bytes }) => leaves.map(leaf => bytes[leaf] ?? 0))]);
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

function older(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}

/** Returns the sums by leaf after a unit was added, changed or removed. */
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

/** Returns the bytes of a unit that no ref reaches; fewer if the unit has shrunk since they were measured. */
export function unreachableIn(unit: UnitRecord | undefined): number {
  if (unit?.reach === undefined) return 0;
  const { reachableBytes, unreachableBytes } = unit.reach;
  return Math.min(unreachableBytes, Math.max(unit.bytes - reachableBytes, 0));
}
