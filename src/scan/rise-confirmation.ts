/**
 * Rises that may be none.
 *
 * For a moment a gc or repack holds the same objects twice. A walk that may have seen such a
 * moment does not raise a unit at once: the unit is walked again until it has settled. Falls count at
 * once, since objects held twice only ever add; so does a unit that was not known before.
 *
 * A push brings packs too. After one, what it brought is to count at once: the objects in a new pack tell
 * it from that of a repack (see copies.ts). Where they do not, new packs are looked at a second time after a
 * moment, and are then believed, and looked at once more when a repack would be over.
 *
 * Pushes without a pause keep a unit from ever settling, and can start one gc after the other. So what
 * of a rise is certain counts while the rest is held, at the latest after two seconds where a walk takes less
 * (see `Readings`). A gc alone raises nobody by that: nothing that it may be holding twice is certain. What
 * is left, at most what came within one moment, counts once the unit settles, or after an hour.
 */

import type { WalkedUnit } from './messages.ts';
import { longSpanMs, Readings, shortSpanMs } from './readings.ts';
import { monotonic } from './shared.ts';

/** Why a unit was walked: by a sweep, since somebody said it had changed, or to see a rise once more. */
export type WalkReason = 'sweep' | 'change' | 'confirmation';

/** A walk's result and how to make it count. */
export interface Candidate {
  readonly walked: WalkedUnit;
  readonly origin: WalkReason;
  /** How long the walk took. */
  readonly milliseconds: number;
  readonly knownBytes: number | undefined;
  /** Makes so many bytes of it count. */
  readonly count: (bytes: number) => void;
}

export interface HoldsOptions {
  /** Walks a unit again; what comes of it is given to `take`. */
  readonly walkAgain: (path: string, origin: WalkReason) => void;
  readonly log: (details: object, message: string) => void;
  /** Milliseconds of a clock that nobody sets. */
  readonly now?: () => number;
}

/** A unit of which not all counts that a walk found. */
export interface HeldRise {
  readonly path: string;
  /** The bytes that do not count yet. */
  readonly bytes: number;
  readonly why: 'a gc is at work' | 'packs come and go';
}

/**
 * `counted`, or `held`: what is certain of it counts, the rest later, which may take as long as a gc; or
 * `dropped`, since the unit could not be walked again.
 */
export type RiseOutcome = 'counted' | 'held' | 'dropped';

interface Hold {
  readonly since: number;
  readonly readings: Readings;
  /** The packs, and since when they exist. */
  packs: { readonly identity: string; readonly since: number };
  held: HeldRise;
  timer: NodeJS.Timeout | null;
  /** The longest first. */
  readonly waiting: { readonly since: number; readonly resolve: (fate: RiseOutcome) => void }[];
}

const firstDelayMs = 100;
const longestDelayMs = 5000;
/** A unit that takes long to walk is not walked all the time. */
const restPerWalk = 4;
const longestHoldMs = 3_600_000;
const confirmAfterMs = 3000;

export class RiseConfirmation {
  readonly #options: HoldsOptions;
  readonly #now: () => number;
  readonly #riseConfirmation = new Map<string, Hold>();
  readonly #confirmations = new Map<string, NodeJS.Timeout>();

  constructor(options: HoldsOptions) {
    this.#options = options;
    this.#now = options.now ?? monotonic;
  }

  /** Lets a result count, now or later; resolves once that is decided or has taken some seconds. */
  async take(candidate: Candidate): Promise<RiseOutcome> {
    if (this.takeAtOnce(candidate)) return 'counted';
    const { path } = candidate.walked.unit;
    return this.#hold(path, this.#riseConfirmation.get(path), candidate);
  }

  /** Lets a result count that is no rise or a credible one; does nothing with others, and returns false. */
  takeAtOnce(candidate: Candidate): boolean {
    const { path } = candidate.walked.unit;
    const hold = this.#riseConfirmation.get(path);
    if (!this.#isCredible(candidate, hold)) return false;
    this.#release(path, hold, candidate);
    return true;
  }

  /** Forgets a unit that is gone, or that cannot be walked. */
  drop(path: string): void {
    const hold = this.#riseConfirmation.get(path);
    this.#end(path, hold, 'dropped');
    clearTimeout(this.#confirmations.get(path));
    this.#confirmations.delete(path);
  }

  /** The units of which something is held back. */
  all(): HeldRise[] {
    return [...this.#riseConfirmation.values()].map(({ held }) => held);
  }

  at(path: string): HeldRise | undefined {
    return this.#riseConfirmation.get(path)?.held;
  }

  close(): void {
    for (const path of [...this.#riseConfirmation.keys(), ...this.#confirmations.keys()]) this.drop(path);
  }

  #isCredible({ walked, origin, knownBytes }: Candidate, hold: Hold | undefined): boolean {
    if (knownBytes === undefined || walked.bytes <= knownBytes || walked.outcome === 'too large') return true;
    switch (walked.packs) {
      case 'still':
        return true;
      case 'fresh':
        return (
          origin === 'change' &&
          hold?.packs.identity === walked.packsIdentity &&
          this.#now() - hold.packs.since >= firstDelayMs
        );
      case 'changed':
        return false;
      case 'collected':
        // There may be nothing that the gc holds twice.
        return walked.certainBytes === walked.bytes;
    }
  }

  #release(path: string, hold: Hold | undefined, { walked, origin, knownBytes, count }: Candidate): void {
    const isRise = knownBytes !== undefined && walked.bytes > knownBytes;
    count(walked.bytes);
    this.#end(path, hold, 'counted');
    if (isRise && origin === 'change' && walked.packs !== 'still') this.#confirm(path);
  }

  #hold(path: string, found: Hold | undefined, candidate: Candidate): Promise<RiseOutcome> {
    const { walked, count, knownBytes = 0 } = candidate;
    const now = this.#now();
    const hold = found ?? newHold(walked, now);
    this.#riseConfirmation.set(path, hold);
    if (hold.packs.identity !== walked.packsIdentity)
      hold.packs = { identity: walked.packsIdentity, since: now };
    hold.readings.add({ ...walked, at: now });
    const isLong = now - hold.since >= longestHoldMs;
    if (isLong)
      this.#options.log({ path }, 'a repository does not settle; the least of several walks counts');
    const certain = isLong ? hold.readings.least() : hold.readings.certainBytes();
    const countedBytes = Math.min(certain ?? 0, walked.bytes);
    if (countedBytes === walked.bytes) {
      this.#release(path, hold, candidate);
      return Promise.resolve('counted');
    }
    if (countedBytes > knownBytes) count(countedBytes);
    hold.held = heldOf(walked, Math.max(countedBytes, knownBytes));
    if (isLong) {
      this.#end(path, hold, 'held');
      return Promise.resolve('held');
    }
    const { promise, resolve } = Promise.withResolvers<RiseOutcome>();
    hold.waiting.push({ since: now, resolve });
    tell(hold, 'held', now - shortSpanMs);
    if (hold.timer === null) {
      const delay = Math.max(delayOf(hold, now), restPerWalk * candidate.milliseconds);
      hold.timer = setTimeout(() => {
        hold.timer = null;
        this.#options.walkAgain(path, candidate.origin);
      }, delay).unref();
    }
    return promise;
  }

  #end(path: string, hold: Hold | undefined, fate: RiseOutcome): void {
    if (hold === undefined) return;
    clearTimeout(hold.timer ?? undefined);
    this.#riseConfirmation.delete(path);
    tell(hold, fate);
  }

  #confirm(path: string): void {
    if (this.#confirmations.has(path)) return;
    const timer = setTimeout(() => {
      this.#confirmations.delete(path);
      this.#options.walkAgain(path, 'confirmation');
    }, confirmAfterMs).unref();
    this.#confirmations.set(path, timer);
  }
}

/**
 * Waits as long again as nothing has changed: 100 ms, then twice as much each time, but not past the time
 * when somebody is to be told something.
 */
function delayOf({ since, packs, waiting: [longest] }: Hold, now: number): number {
  const again = Math.min(Math.max(now - packs.since, firstDelayMs), longestDelayMs);
  const ends = [since + shortSpanMs, since + longSpanMs, (longest?.since ?? now) + shortSpanMs];
  return Math.min(again, ...ends.filter(end => end > now).map(end => end - now));
}

function newHold(walked: WalkedUnit, now: number): Hold {
  const packs = { identity: walked.packsIdentity, since: now };
  return { since: now, readings: new Readings(), packs, held: heldOf(walked, 0), timer: null, waiting: [] };
}

function heldOf({ unit: { path }, bytes, packs }: WalkedUnit, countedBytes: number): HeldRise {
  const why = packs === 'collected' ? 'a gc is at work' : 'packs come and go';
  return { path, bytes: bytes - countedBytes, why };
}

/** Tells those who have waited since then or longer. */
function tell(hold: Hold, fate: RiseOutcome, since = Number.POSITIVE_INFINITY): void {
  const others = hold.waiting.findIndex(waiting => waiting.since > since);
  for (const { resolve } of hold.waiting.splice(0, others < 0 ? hold.waiting.length : others)) resolve(fate);
}
