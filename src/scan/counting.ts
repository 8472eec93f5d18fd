/**
 * The rule by which a repository counts its objects after a walk.
 *
 * While git repacks, the same objects are there twice for a while, and for a moment perhaps not at all. So a
 * walk is believed only where nothing shows that it may have seen such a moment. Else no more counts than
 * was counted before with what pushes brought, and the unit is walked again until it is quiet.
 */

import type { RepackSigns } from './gitfiles.ts';
import { hour } from './gitfiles.ts';
import type { ListedQuarantine } from './quarantine.ts';
import { monotonic } from './shared.ts';
import type { Start, WalkedObjects, WalkedUnit } from './task.ts';

interface ObjectsCount {
  /** The bytes of `objects` that count, without quarantines and unfinished files. */
  readonly bytes: number;
  /** It may be anything, so the next walk counts as it is. */
  readonly isUnsure: boolean;
  /** Time since which walks see more than is explained, on `ObjectsWalk.at`'s clock; null: they do not. */
  readonly moreSince: number | null;
  /** The step to the walk after the next one. */
  readonly stepMs: number;
}

/** Facts about pushes that a walk needs. */
export interface PushFacts {
  /** Bytes of pushes that ended between the beginnings of the last walk and of this one. */
  readonly takenBytes: number;
  /** One ended during the walk, or may have. */
  readonly hasEnded: boolean;
  /** Nobody knows what some push brought that ended before it. */
  readonly isUnsure: boolean;
}

interface ObjectsWalk extends PushFacts {
  /** The result of the look. */
  readonly bytes: number;
  readonly signs: RepackSigns;
  /** For how long no directory of `objects` had changed when it began; negative: one changed meanwhile. */
  readonly quietMs: number;
  /** The beginning of the walk, in milliseconds of a clock that nobody sets, and its length. */
  readonly at: number;
  readonly milliseconds: number;
}

interface NextCount {
  readonly count: ObjectsCount;
  /** The time until the next walk, from now on; null: the unit is quiet. */
  readonly againMs: number | null;
}

/** Milliseconds without a change. A repack removes old packs one by one, and may take seconds for each. */
export const quietSpanMs = 10_000;
export const firstStepMs = 100;
export const longestStepMs = 30_000;
/** A unit that takes long to walk is not walked all the time. */
const restPerWalk = 4;
/** Time after which it is no repack. */
const patienceMs = hour;
const collectedPatienceMs = 12 * hour;

/** `before`: null where nothing is known of the unit. */
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
  // A walk beside a repack may have seen neither the old pack nor the new one.
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

/** Once where only the time is missing, else step by step. */
function delayOf(walk: ObjectsWalk, stepMs: number): number {
  if (isBusy(walk) || walk.hasEnded) return stepMs;
  return Math.max(firstStepMs, quietSpanMs - walk.quietMs - walk.milliseconds + firstStepMs);
}

/** Tells whether there is another sign of a repack than that too little time has gone by. */
function isBusy({ signs, quietMs }: ObjectsWalk): boolean {
  const { isChanged, isWriting, isCollected, isMaintained } = signs;
  return isChanged || quietMs < 0 || isWriting || isCollected || isMaintained;
}

/** The pushes into units, as far as walks have to know of them. */
export interface UnitPushes {
  /** The quarantines that a walk looks at right before and right after it. */
  listed(path: string): readonly ListedQuarantine[];
  /** A walk that took its place in the order at `seq` has ended; it counts what earlier pushes brought. */
  walked(path: string, seq: number, walk: Pick<WalkedObjects, 'before' | 'after'>): PushFacts;
}

export interface CountedUnit {
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

/**
 * Keeps the count of each repository from one walk to the next, and begins the walks that follow until it is
 * quiet. Any other unit counts what a walk saw.
 */
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
      ...facts,
    });
    const expectedBytes = knownBytes === undefined ? undefined : knownBytes + facts.takenBytes;
    // Bytes of a push may be among those that could not be read.
    const unseen = walked.partial ? Math.max(0, (expectedBytes ?? 0) - count.bytes - rest) : 0;
    const counted = { ...count, bytes: count.bytes + unseen };
    this.#units.set(path, { count: counted, seq: start.seq, directories });
    this.#schedule(path, againMs);
    return { bytes: counted.bytes + rest, expectedBytes };
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
