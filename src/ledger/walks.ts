/**
 * The results of walks: measured units, units that no longer exist, and finished sweeps.
 *
 * Each walk gets its place in the order (`seq`) before it begins, so the late result of an earlier walk
 * changes nothing. A result counts at once and is written behind.
 */

import type { Changes, OwnerRecord, RootRecord, SweepRecord, UnitRecord } from '../store/index.ts';
import type { Account } from './account.ts';
import type { LedgerParts } from './options.ts';
import { type Reports, reportedId } from './reports.ts';
import type { Reservations } from './reservations.ts';

/** The result of walking a unit; see `UnitRecord`. */
export type WalkedRecord = Omit<UnitRecord, 'id' | 'kind' | 'host' | 'name'> & { readonly path: string };

interface WalksOptions extends LedgerParts {
  readonly reports: Reports;
  readonly reservations: Reservations;
}

/** Milliseconds for which an owner who has lost the last unit is remembered. */
const emptiedMs = 7 * 86_400_000;

export class Walks {
  readonly #options: WalksOptions;
  /**
   * Paths at which a walk found no unit any more, with the `seq` of that walk, so that the late result of an
   * earlier walk does not bring the unit back. No walk lasts longer than two ends of sweeps; older entries
   * are forgotten.
   */
  #goneLately = new Map<string, number>();
  #goneBefore = new Map<string, number>();
  readonly #roots = new Map<string, RootRecord>();
  /** The times at which owners lost their last unit, in milliseconds since 1970, by owner key. */
  readonly emptied = new Map<string, number>();
  /** The last sweep that ended, also one before the start of this process. */
  lastSweep: SweepRecord | null = null;
  /** Keys of owners with units in storage that app.ini no longer names, as of the last sweep. */
  unplaced: ReadonlySet<string> = new Set();

  constructor(options: WalksOptions) {
    this.#options = options;
  }

  load(roots: readonly RootRecord[], sweep: SweepRecord | null): void {
    for (const root of roots) this.#roots.set(root.path, root);
    this.lastSweep = sweep;
  }

  root(path: string): RootRecord | undefined {
    return this.#roots.get(path);
  }

  /** Returns the next place in the order of walks and reports. */
  nextSeq(): number {
    return this.#options.nextSeq();
  }

  /** Records a walk's result, unless a later walk has one. Does not write an unchanged unit again. */
  record(walked: WalkedRecord): void {
    const { usage, writeBehind, reports, reservations, host } = this.#options;
    const before = usage.unit(walked.path);
    if (before !== undefined && before.seq > walked.seq) return;
    if (this.#isGoneAfter(walked.path, walked.seq)) return;
    const { path, ...measured } = walked;
    // The worker's figures still count; see `Reach`.
    const reach = before?.reach === undefined ? {} : { reach: before.reach };
    const unit: UnitRecord = { id: path, kind: 'walked', host, name: path, ...measured, ...reach };
    this.put(unit);
    if (before === undefined || !foundTheSame(before, unit)) writeBehind.note({ units: [unit] });
    reports.settleOwnersOf(before, unit);
    if (unit.owner === null) return;
    const account = this.accountFor(unit.owner);
    reservations.measured(account.ownerKey, path, unit.seq, account);
  }

  /** Adds bytes to a unit without a walk. `located` has the owner and leaf of a unit that is new here. */
  adjustBytes(path: string, bytes: number, located: Pick<UnitRecord, 'leaf' | 'owner'> | null): void {
    const { usage, writeBehind, host, clock } = this.#options;
    const before = usage.unit(path) ?? (located && { ...located, ...newUnit, id: path, host, name: path });
    if (before === null) return;
    const sum = Math.min(Math.max(0, before.bytes + bytes), Number.MAX_SAFE_INTEGER);
    const unit: UnitRecord = { ...before, measuredAt: before.measuredAt || clock.wall(), bytes: sum };
    this.put(unit);
    writeBehind.note({ units: [unit] });
  }

  /** Sets the time of a loaded unit to that of the last sweep, which does not write unchanged units. */
  loaded(unit: UnitRecord): UnitRecord {
    const sweptAt = this.lastSweep?.startedAt ?? Number.NEGATIVE_INFINITY;
    const isOlder = unit.kind === 'walked' && !unit.partial && unit.measuredAt < sweptAt;
    return isOlder ? { ...unit, measuredAt: sweptAt } : unit;
  }

  /** Records that a walk with this `seq` found no unit at the path any more. */
  recordGone(path: string, seq: number): void {
    const { usage, writeBehind, reports, clock } = this.#options;
    const unit = usage.unit(path);
    if (unit !== undefined && unit.seq > seq) return;
    if (!this.#isGoneAfter(path, seq)) this.#goneLately.set(path, seq);
    if (unit === undefined) return;
    usage.remove(unit);
    writeBehind.note({ goneUnits: [unit.id] });
    reports.settleOwnersOf(unit);
    const ownerKey = unit.owner === null ? null : usage.owners.keyOf(unit.owner);
    if (ownerKey !== null && usage.unitCountOf(ownerKey) === 0) this.emptied.set(ownerKey, clock.wall());
  }

  /**
   * Marks a unit that a walk with this `seq` could not measure as partial. Its last known bytes still count.
   * Deltas do not wait for it, since it may never be measured again.
   */
  recordUnread(path: string, seq: number): void {
    const { usage, writeBehind, reports } = this.#options;
    const unit = usage.unit(path);
    if (unit === undefined || unit.seq > seq) return;
    const marked = { ...unit, partial: true, seq };
    this.put(marked);
    if (!unit.partial) writeBehind.note({ units: [marked] });
    reports.settleOwnersOf(marked);
  }

  /** Records the end of a sweep. `present` updates the roots; roots that are not configured are forgotten. */
  recordSweep(
    sweep: SweepRecord,
    present: readonly RootRecord[],
    isConfigured: (rootPath: string) => boolean,
  ): void {
    const gone = [...this.#roots.keys()].filter(path => !isConfigured(path));
    for (const path of gone) this.#roots.delete(path);
    for (const root of present) this.#roots.set(root.path, root);
    const isFirst = this.lastSweep === null;
    this.lastSweep = sweep;
    this.#goneBefore = this.#goneLately;
    this.#goneLately = new Map();
    this.#options.writeBehind.note({ sweep, roots: present, goneRoots: gone });
    this.#forgetEmptied();
    // After the first sweep of all, usage is complete: `partial` changes for every owner.
    if (isFirst) this.#options.tell(null);
  }

  /** Adds or replaces a unit, and adds its owner's account if it is missing. */
  put(unit: UnitRecord): void {
    if (unit.owner !== null) this.accountFor(unit.owner);
    this.#options.usage.put(unit);
  }

  /** Returns the owner's account; adds it, and an unknown owner, if missing. */
  accountFor(ownerName: string): Account {
    const { usage, writeBehind, clock } = this.#options;
    const known = usage.account(ownerName);
    if (known !== undefined) return known;
    const owner = usage.owners.named(ownerName);
    if (owner !== undefined) return usage.open(owner);
    const added = usage.owners.expect(ownerName, clock.wall());
    writeBehind.note({ owners: [added] });
    return usage.open(added);
  }

  #forgetEmptied(): void {
    const { usage, clock } = this.#options;
    const oldest = clock.wall() - emptiedMs;
    for (const [key, at] of this.emptied) {
      const isOver = at < oldest || usage.owners.byKey(key) === undefined || usage.unitCountOf(key) > 0;
      if (isOver) this.emptied.delete(key);
    }
  }

  #isGoneAfter(path: string, seq: number): boolean {
    return (this.#goneLately.get(path) ?? this.#goneBefore.get(path) ?? 0) > seq;
  }

  /** Returns a record that the store already has, so that writing it tests the store and changes nothing. */
  somethingKept(): Changes {
    if (this.lastSweep !== null) return { sweep: this.lastSweep };
    const [owner] = this.#options.usage.owners.all;
    return owner === undefined ? {} : { owners: [owner] };
  }
}

/** The values of a unit before its first walk. */
const newUnit = { kind: 'walked', bytes: 0, files: 0, partial: true, measuredAt: 0, seq: 0 } as const;

function foundTheSame(a: UnitRecord, b: UnitRecord): boolean {
  return (
    a.owner === b.owner &&
    a.leaf === b.leaf &&
    a.bytes === b.bytes &&
    a.files === b.files &&
    a.partial === b.partial &&
    a.host === b.host
  );
}

/**
 * Loads owners from the store, with the keys that follow from the current `[users] CASE`, which may have
 * changed since they were written. Of owners with the same key now, only the one known longest stays.
 */
export function loadOwners({ usage, writeBehind }: LedgerParts, kept: readonly OwnerRecord[]): void {
  const { owners } = usage;
  const rekeyed = new Set<string>();
  for (const { key: keyBefore, id, name, type, since } of kept) {
    const owner = { key: owners.keyOf(name), id, name, type, since };
    if (owner.key !== keyBefore) rekeyed.add(owner.key);
    const other = owners.byKey(owner.key);
    if (other === undefined || isKnownLonger(owner, other)) owners.set(owner);
  }
  if (rekeyed.size === 0) return;
  writeBehind.note({
    goneOwners: kept.map(({ key }) => key).filter(key => owners.byKey(key) === undefined),
    owners: [...rekeyed].flatMap(key => owners.byKey(key) ?? []),
  });
}

/**
 * Loads units from the store, also with their current keys. Of two reported units with the same id now, the
 * later report counts. Returns the last place in the order of walks and reports that a unit has. Units with a
 * new id are written after all were read, since a later one may have the same id; and before this returns, so
 * that no new report of them comes first.
 */
export async function loadUnits(
  { usage, writeBehind }: LedgerParts,
  walks: Walks,
  kept: AsyncIterable<readonly UnitRecord[]>,
): Promise<number> {
  let lastSeq = 0;
  const renamed = new Map<string, string>();
  for await (const some of kept) {
    for (const each of some) {
      lastSeq = Math.max(lastSeq, each.seq);
      const unit = rekeyedUnit(walks.loaded(each), name => usage.owners.keyOf(name));
      if (unit.id !== each.id) renamed.set(each.id, unit.id);
      const other = unit.kind === 'reported' ? usage.unit(unit.id) : undefined;
      if (other === undefined || other.seq < unit.seq) walks.put(unit);
    }
  }
  for (const [before, now] of renamed) {
    const unit = usage.unit(now);
    writeBehind.note({ goneUnits: [before], units: unit === undefined ? [] : [unit] });
  }
  await writeBehind.kept();
  return lastSeq;
}

/** Returns the unit with its current id; returns the same object if the id has not changed. */
function rekeyedUnit(unit: UnitRecord, keyOf: (ownerName: string) => string): UnitRecord {
  if (unit.kind === 'walked' || unit.owner === null) return unit;
  const id = reportedId(keyOf(unit.owner), unit.leaf, unit.name);
  return id === unit.id ? unit : { ...unit, id };
}

function isKnownLonger(a: OwnerRecord, b: OwnerRecord): boolean {
  return a.since < b.since || (a.since === b.since && a.name < b.name);
}
