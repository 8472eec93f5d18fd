/**
 * The rule by which a repository counts its objects after a walk.
 *
 * While git repacks, the same objects are there twice for a while, and for a moment perhaps not at all. So a
 * walk is believed only where nothing shows that it may have seen such a moment. Else no more counts than
 * was counted before with what pushes brought, and the unit is walked again until it is quiet.
 */

import { hour } from './gitfiles.ts';
import type { RepackSigns } from './repack-signs.ts';

export interface ObjectsCount {
  /** The bytes of `objects` that count, without quarantines and unfinished files. */
  readonly bytes: number;
  /** It may be anything, so the next walk counts as it is. */
  readonly isUnsure: boolean;
  /**
   * Time since which walks have seen more than could be explained, on the clock of `ObjectsWalk.at`; null:
   * they do not.
   */
  readonly moreSince: number | null;
  /** The step to the walk after the next one. */
  readonly stepMs: number;
}

/** The facts of a walk. */
export interface ObjectsWalk {
  /** The result of the look. */
  readonly bytes: number;
  readonly signs: RepackSigns;
  /** For how long no directory of `objects` had changed when it began; negative: one changed meanwhile. */
  readonly quietMs: number;
  /** The beginning of the walk, in milliseconds of a clock that nobody sets, and its length. */
  readonly at: number;
  readonly milliseconds: number;
  /** Bytes of pushes that ended between the beginnings of the last walk and of this one. */
  readonly takenBytes: number;
  /** A push ended during the walk, or may have. */
  readonly hasPushEnded: boolean;
  /** Nobody knows what some push brought that ended before it. */
  readonly isUnsure: boolean;
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
  const isQuiet = !isBusy(walk) && walk.quietMs >= quietSpanMs && !walk.hasPushEnded;
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
  if (isBusy(walk) || walk.hasPushEnded) return stepMs;
  return Math.max(firstStepMs, quietSpanMs - walk.quietMs - walk.milliseconds + firstStepMs);
}

/** Tells whether there is another sign of a repack than that too little time has gone by. */
function isBusy({ signs, quietMs }: ObjectsWalk): boolean {
  const { isChanged, isWriting, isCollected, isMaintained } = signs;
  return isChanged || quietMs < 0 || isWriting || isCollected || isMaintained;
}
