/**
 * Decides how many bytes of a repository's objects count after a walk.
 *
 * While git repacks, the same objects exist twice for a while, and for a moment a walk may find neither copy.
 * So a walk's figure counts as it is only if there is no sign of a repack. Otherwise at most the last figure
 * plus the bytes of pushes counts, and the unit is walked again until it is quiet.
 */

import { hour, type RepackSigns, showWork } from './gitfiles.ts';
import type { PushFacts, Start, UnitPushes, WalkedObjects, WalkedUnit } from './task.ts';

interface ObjectsCount {
  /** The bytes of `objects` that count, without quarantines and unfinished files. */
  readonly bytes: number;
  /** The figure is unreliable, so that of the next walk counts as it is. */
  readonly isUnsure: boolean;
  /** Time since which walks find more than is explained, on `ObjectsWalk.at`'s clock; null: they do not. */
  readonly moreSince: number | null;
  /** Delay from the next walk to the one after it. */
  readonly stepMs: number;
}

interface ObjectsWalk extends PushFacts {
  /** Bytes that the walk found in `objects`. */
  readonly bytes: number;
  readonly signs: RepackSigns;
  /** Time without a change of any directory of `objects` before the walk; negative: one changed during it. */
  readonly quietMs: number;
  /** The beginning of the walk on the monotonic clock, and its length. */
  readonly at: number;
  readonly milliseconds: number;
}

interface NextCount {
  readonly count: ObjectsCount;
  /** The time until the next walk, from now on; null: the unit is quiet. */
  readonly againMs: number | null;
}

/**
 * Time without a change after which a unit is quiet. A repack removes old packs one by one, and may take
 * seconds for each.
 */
export const quietSpanMs = 10_000;
const firstStepMs = 100;
const longestStepMs = 30_000;
/** Least delay after a walk, as a multiple of its length, so that a large unit is not walked all the time. */
const restPerWalk = 4;
/** Time after which unexplained bytes are not those of a repack. */
const patienceMs = hour;
const collectedPatienceMs = 12 * hour;

/** Decides the count after a walk, and when to walk again. `before`: null if the unit is not known. */
export function countObjects(before: ObjectsCount | null, walk: ObjectsWalk): NextCount {
  const { signs, takenBytes } = walk;
  const isQuiet = !isBusy(walk) && walk.quietMs >= quietSpanMs && !walk.hasEnded;
  const expected = before === null ? null : before.bytes + takenBytes;
  const isFirst = before === null || before.isUnsure || walk.isUnsure;
  const isMore = expected !== null && walk.bytes > expected && !isQuiet && !isFirst;
  const moreSince = isMore ? (before?.moreSince ?? walk.at) : null;
  const patience = signs.isCollected ? collectedPatienceMs : patienceMs;
  const isBelieved = isFirst || isQuiet || (moreSince !== null && walk.at - moreSince >= patience);
  const believed = isBelieved ? walk.bytes : Math.min(walk.bytes, expected ?? walk.bytes);
  // A walk during a repack may have found neither the old pack nor the new one.
  const bytes = signs.arePacksChanged ? Math.max(believed, expected ?? 0) : believed;
  const stepMs = takenBytes > 0 || before === null ? firstStepMs : before.stepMs;
  return {
    count: {
      bytes,
      isUnsure: isFirst && signs.arePacksChanged,
      moreSince,
      stepMs: isQuiet ? firstStepMs : Math.min(2 * stepMs, longestStepMs),
    },
    againMs: isQuiet ? null : Math.max(delayOf(walk, stepMs), restPerWalk * walk.milliseconds),
  };
}

/**
 * Returns the delay of the next walk: the rest of the quiet span if only that is missing, else the next step.
 */
function delayOf(walk: ObjectsWalk, stepMs: number): number {
  if (isBusy(walk) || walk.hasEnded) return stepMs;
  return Math.max(firstStepMs, quietSpanMs - walk.quietMs - walk.milliseconds + firstStepMs);
}

/** Tells whether there is a sign of a repack other than a change shortly before the walk. */
function isBusy({ signs, quietMs }: ObjectsWalk): boolean {
  return quietMs < 0 || showWork(signs);
}

export interface CountedUnit {
  readonly bytes: number;
  /** The last figure plus the bytes of pushes; undefined: the unit was not known. */
  readonly expectedBytes: number | undefined;
}

interface UnitState {
  readonly count: ObjectsCount;
  /** The number of the last walk. */
  readonly seq: number;
  /**
   * The state of the directories of `objects` and since when it has been the same; null if the host's clock
   * sets their times.
   */
  readonly directories: { readonly state: string; readonly since: number } | null;
}

/**
 * Keeps the count of each repository from one walk to the next, and has it walked again until it is quiet.
 * Any other unit counts as the walk found it.
 */
export class UnitCounts {
  readonly #pushes: UnitPushes;
  readonly #walkAgain: (path: string) => void;
  readonly #units = new Map<string, UnitState>();
  readonly #again = new Map<string, NodeJS.Timeout>();

  constructor(pushes: UnitPushes, walkAgain: (path: string) => void) {
    this.#pushes = pushes;
    this.#walkAgain = walkAgain;
  }

  /**
   * Returns the figure after a walk; null: a walk that began later was counted already. `knownBytes`: the
   * unit's figure without its pushes.
   */
  take(walked: WalkedUnit, start: Start, knownBytes: number | undefined): CountedUnit | null {
    const { objects, bytes } = walked;
    if (objects === null) return { bytes, expectedBytes: knownBytes };
    const { path } = walked.unit;
    // A unit that was gone meanwhile starts without a count.
    const before = knownBytes === undefined ? undefined : this.#units.get(path);
    if (before !== undefined && before.seq > start.seq) return null;
    const rest = bytes - objects.bytes;
    const facts = this.#pushes.walked(path, start.seq, objects);
    const { quietMs, directories } = quietOf(objects, before, start);
    const { count, againMs } = countObjects(before?.count ?? countOf(knownBytes, rest), {
      bytes: objects.bytes,
      signs: objects.signs,
      quietMs,
      at: start.monotonicMs,
      milliseconds: performance.now() - start.monotonicMs,
      ...facts,
    });
    const expectedBytes = knownBytes === undefined ? undefined : knownBytes + facts.takenBytes;
    // The part that could not be read may have bytes of a push.
    const unseen = walked.partial ? Math.max(0, (expectedBytes ?? 0) - count.bytes - rest) : 0;
    const counted = { ...count, bytes: count.bytes + unseen };
    this.#units.set(path, { count: counted, seq: start.seq, directories });
    this.#schedule(path, againMs);
    return { bytes: counted.bytes + rest, expectedBytes };
  }

  /** Tells whether the unit will be walked again, since git may be at work in it. */
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
      // The entry in `#again` stays until the result: meanwhile no sweep may trust the unit's signature.
      this.#walkAgain(path);
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
