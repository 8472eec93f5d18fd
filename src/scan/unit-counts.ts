/**
 * Keeps the count of each repository, from one walk to the next, by the rule of `counting.ts`, and begins the
 * walks that follow until it is quiet. Any other unit counts what a walk saw.
 */

import { countObjects, firstStepMs, type ObjectsCount } from './counting.ts';
import type { ListedQuarantine } from './quarantine.ts';
import { monotonic } from './shared.ts';
import type { Start, WalkedObjects, WalkedUnit } from './task.ts';

/** Facts about pushes that a walk needs. */
export interface PushFacts {
  /** Bytes of pushes that ended between the beginnings of the last walk and of this one. */
  readonly takenBytes: number;
  /** One ended during the walk, or may have. */
  readonly hasEnded: boolean;
  /** Nobody knows what some push brought that ended before it. */
  readonly isUnsure: boolean;
}

/** The pushes into units, as far as walks have to know of them. */
export interface UnitPushes {
  /** The quarantines that a walk looks at right before and right after it. */
  listed(path: string): readonly ListedQuarantine[];
  /** A walk that took its place in the order at `seq` has ended; it counts what earlier pushes brought. */
  walked(path: string, seq: number, walk: Pick<WalkedObjects, 'before' | 'after'>): PushFacts;
}

export interface CountedUnit {
  /** The bytes that the unit counts. */
  readonly bytes: number;
  /** The bytes that the last figure and pushes lead to; undefined: the unit was not known. */
  readonly expectedBytes: number | undefined;
}

interface UnitCountsOptions {
  readonly pushes: UnitPushes;
  readonly walkAgain: (path: string) => void;
}

interface UnitState {
  readonly count: ObjectsCount;
  /** The place of the last walk in the order. */
  readonly seq: number;
  /** Only where no clock tells: the directories of `objects` as they were seen last, and since when. */
  readonly directories: { readonly state: string; readonly since: number } | null;
}

export class UnitCounts {
  readonly #options: UnitCountsOptions;
  readonly #units = new Map<string, UnitState>();
  readonly #again = new Map<string, NodeJS.Timeout>();

  constructor(options: UnitCountsOptions) {
    this.#options = options;
  }

  /**
   * Returns the figure after a walk; null: a walk that began later was counted already. `knownBytes`: the
   * unit's figure without its pushes.
   */
  take(walked: WalkedUnit, start: Start, knownBytes: number | undefined): CountedUnit | null {
    const { objects, bytes } = walked;
    if (objects === null) return { bytes, expectedBytes: knownBytes };
    const { path } = walked.unit;
    // A unit that was gone meanwhile begins anew.
    const before = knownBytes === undefined ? undefined : this.#units.get(path);
    if (before !== undefined && before.seq > start.seq) return null;
    const rest = bytes - objects.bytes;
    const facts = this.#options.pushes.walked(path, start.seq, objects);
    const { quietMs, directories } = quietOf(objects, before, start);
    const { count, againMs } = countObjects(before?.count ?? countOf(knownBytes, rest), {
      bytes: objects.bytes,
      signs: objects.signs,
      quietMs,
      at: start.monotonicMs,
      milliseconds: monotonic() - start.monotonicMs,
      takenBytes: facts.takenBytes,
      hasPushEnded: facts.hasEnded,
      isUnsure: facts.isUnsure,
    });
    this.#units.set(path, { count, seq: start.seq, directories });
    this.#schedule(path, againMs);
    const expectedBytes = knownBytes === undefined ? undefined : knownBytes + facts.takenBytes;
    return { bytes: count.bytes + rest, expectedBytes };
  }

  /** Tells whether the unit is walked again, since git may be at work in it. */
  isUnsettled(path: string): boolean {
    return this.#again.has(path);
  }

  /** Forgets a unit that is gone. */
  drop(path: string): void {
    this.#units.delete(path);
    this.#schedule(path, null);
  }

  close(): void {
    for (const timer of this.#again.values()) clearTimeout(timer);
    this.#again.clear();
  }

  #schedule(path: string, againMs: number | null): void {
    clearTimeout(this.#again.get(path));
    this.#again.delete(path);
    if (againMs === null) return;
    const timer = setTimeout(() => {
      // Stays until the walk has come to something: no sweep may take the unit for unchanged meanwhile.
      this.#options.walkAgain(path);
    }, againMs).unref();
    this.#again.set(path, timer);
  }
}

/** Derives the count of the objects before this daemon's first walk from the unit's figure. */
function countOf(knownBytes: number | undefined, rest: number): ObjectsCount | null {
  if (knownBytes === undefined) return null;
  return { bytes: Math.max(0, knownBytes - rest), isUnsure: true, moreSince: null, stepMs: firstStepMs };
}

function quietOf(
  { signs }: WalkedObjects,
  before: UnitState | undefined,
  { monotonicMs }: Start,
): { readonly quietMs: number; readonly directories: UnitState['directories'] } {
  if (signs.quietMs !== null) return { quietMs: signs.quietMs, directories: null };
  const known = before?.directories;
  const isSame = known?.state === signs.directories && !signs.isChanged;
  const since = isSame ? known.since : monotonicMs;
  return { quietMs: monotonicMs - since, directories: { state: signs.directories, since } };
}
