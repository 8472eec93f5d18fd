/**
 * Rises that may be none.
 *
 * For a moment a gc or repack holds the same objects twice. A walk that may have seen such a
 * moment does not raise a unit at once: the unit is walked again until it has settled. Falls count at
 * once, since objects held twice only ever add; so does a unit that was not known before.
 *
 * A push brings packs too. After one, what it brought is to count at once: packs that are new are
 * looked at a second time after a moment, and are then believed, and looked at once more when a
 * repack would be over.
 */

import type { WalkedUnit } from './messages.ts';
import { monotonic } from './shared.ts';

/** Why a unit was walked: by a sweep, since somebody said it had changed, or to see a rise once more. */
export type Origin = 'sweep' | 'change' | 'confirmation';

/** A walk's result and how to make it count. */
export interface Candidate {
  readonly walked: WalkedUnit;
  readonly origin: Origin;
  /** How long the walk took. */
  readonly milliseconds: number;
  readonly knownBytes: number | undefined;
  readonly count: () => void;
}

export interface HoldsOptions {
  /** Walks a unit again; what comes of it is given to `take`. */
  readonly walkAgain: (path: string, origin: Origin) => void;
  readonly log: (details: object, message: string) => void;
  /** Milliseconds of a clock that nobody sets. */
  readonly now?: () => number;
}

/**
 * `counted`, or `held`: it will count later, which may take as long as a gc; or `dropped`, since
 * the unit could not be walked again.
 */
export type Fate = 'counted' | 'held' | 'dropped';

interface Hold {
  readonly since: number;
  /** Since when no gc has been at work; null while one is. */
  quietSince: number | null;
  /** What the packs are, and since when. */
  packs: { readonly identity: string; readonly since: number };
  /** What counts in the end where it never settles. */
  least: Candidate;
  timer: NodeJS.Timeout | null;
  readonly waiting: ((fate: Fate) => void)[];
}

const firstDelayMs = 100;
const longestDelayMs = 5000;
/** A unit that takes long to walk is not walked all the time. */
const restPerWalk = 4;
/** How long nobody need know that a unit is held, and how long packs may go on changing without a gc. */
const patienceMs = 6000;
const longestHoldMs = 3_600_000;
const confirmAfterMs = 3000;

export class Holds {
  readonly #options: HoldsOptions;
  readonly #now: () => number;
  readonly #holds = new Map<string, Hold>();
  readonly #confirmations = new Map<string, NodeJS.Timeout>();

  constructor(options: HoldsOptions) {
    this.#options = options;
    this.#now = options.now ?? monotonic;
  }

  /** Lets a result count, now or later; resolves once that is decided or has taken some seconds. */
  take(candidate: Candidate): Promise<Fate> {
    const { path } = candidate.walked.unit;
    const hold = this.#holds.get(path);
    if (this.#isCredible(candidate, hold)) {
      this.#release(path, hold, candidate);
      return Promise.resolve('counted');
    }
    return this.#hold(path, hold, candidate);
  }

  /** Forgets a unit that is gone, or that cannot be walked. */
  drop(path: string): void {
    const hold = this.#holds.get(path);
    this.#end(path, hold, 'dropped');
    clearTimeout(this.#confirmations.get(path));
    this.#confirmations.delete(path);
  }

  /** The units whose rise is held back. */
  paths(): string[] {
    return [...this.#holds.keys()];
  }

  close(): void {
    for (const path of [...this.#holds.keys(), ...this.#confirmations.keys()]) this.drop(path);
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
      case 'collected':
        return false;
    }
  }

  #release(path: string, hold: Hold | undefined, candidate: Candidate): void {
    const { walked, origin, knownBytes, count } = candidate;
    const isRise = knownBytes !== undefined && walked.bytes > knownBytes;
    count();
    this.#end(path, hold, 'counted');
    if (isRise && origin === 'change' && walked.packs !== 'still') this.#confirm(path);
  }

  #hold(path: string, found: Hold | undefined, candidate: Candidate): Promise<Fate> {
    const now = this.#now();
    const hold = found ?? newHold(candidate, now);
    this.#holds.set(path, hold);
    note(hold, candidate, now);
    const hasNotSettled = hold.quietSince !== null && now - hold.quietSince >= patienceMs;
    if (hasNotSettled || now - hold.since >= longestHoldMs) {
      this.#options.log(
        { path },
        'the packs of a repository do not settle; the least of several walks counts',
      );
      this.#release(path, hold, hold.least);
      return Promise.resolve('counted');
    }
    if (hold.timer === null) {
      // As long again as it has taken: 100 ms, then twice as much each time.
      const again = Math.min(Math.max(now - hold.since, firstDelayMs), longestDelayMs);
      const delay = Math.max(again, restPerWalk * candidate.milliseconds);
      hold.timer = setTimeout(() => {
        hold.timer = null;
        this.#options.walkAgain(path, candidate.origin);
      }, delay).unref();
    }
    if (now - hold.since >= patienceMs) {
      tell(hold, 'held');
      return Promise.resolve('held');
    }
    return new Promise(resolve => hold.waiting.push(resolve));
  }

  #end(path: string, hold: Hold | undefined, fate: Fate): void {
    if (hold === undefined) return;
    clearTimeout(hold.timer ?? undefined);
    this.#holds.delete(path);
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

function newHold(candidate: Candidate, now: number): Hold {
  const packs = { identity: candidate.walked.packsIdentity, since: now };
  return { since: now, quietSince: null, packs, least: candidate, timer: null, waiting: [] };
}

function note(hold: Hold, candidate: Candidate, now: number): void {
  const { packs, packsIdentity, bytes } = candidate.walked;
  if (hold.packs.identity !== packsIdentity) hold.packs = { identity: packsIdentity, since: now };
  const isQuiet = packs !== 'collected';
  // What was seen during a gc says nothing about how it was left.
  const isFirstQuiet = isQuiet && hold.quietSince === null;
  if (isFirstQuiet || bytes <= hold.least.walked.bytes) hold.least = candidate;
  hold.quietSince = isQuiet ? (hold.quietSince ?? now) : null;
}

function tell(hold: Hold, fate: Fate): void {
  for (const resolve of hold.waiting.splice(0)) resolve(fate);
}
