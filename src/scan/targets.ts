/**
 * Walks of single units that somebody asked for by path.
 *
 * Asked twice before the walk begins, a unit is walked once; asked while it is walked, once more
 * afterwards. So the walk that answers has always begun after the question. After each walk a unit owes
 * rest: anybody who may push may ask, and must not keep the walkers busy by asking again and again for a
 * large one. A little of it may be put off, so that the end of a push does not wait until the unit has rested
 * from what followed the last one.
 */

import type { Pool } from './pool.ts';
import { monotonic } from './shared.ts';
import type { Start, TaskResult } from './task.ts';

/** Why a unit is walked: by a sweep, since somebody said it had changed, or since git was at work in it. */
export type WalkReason = 'sweep' | 'change' | 'again';

export type TargetOutcome =
  | 'counted'
  /** No unit is there any more; it was reported as gone. */
  | 'gone'
  /** No unit is there, and none was known. */
  | 'none'
  /** It could not be read, or its storage is away: it stays as it was known. */
  | 'unread'
  | 'stopped';

/** Makes a result count; resolves once it has. */
type Settle = (path: string, result: TaskResult, start: Start, origin: WalkReason) => Promise<TargetOutcome>;

interface Target {
  readonly path: string;
  origin: WalkReason;
  readonly outcome: PromiseWithResolvers<TargetOutcome>;
  hasBegun: boolean;
  walks: number;
  next: Target | null;
}

/** Number of walks after which a unit that is missing each time is created again and again. */
const mostWalks = 3;

/** Rest that a unit owes after a walk, as a multiple of the walk's time. */
const restPerWalk = 4;
/** A unit that owes no more is walked at once. */
const putOffMs = 4000;

export class Targets {
  readonly #pool: Pick<Pool, 'add'>;
  readonly #settle: Settle;
  readonly #targets = new Map<string, Target>();
  /** Times until which units would rest if they put off nothing, on the monotonic clock. */
  readonly #rests = new Map<string, number>();

  constructor(pool: Pick<Pool, 'add'>, settle: Settle) {
    this.#pool = pool;
    this.#settle = settle;
  }

  /** Never rejects. */
  measure(path: string, origin: WalkReason): Promise<TargetOutcome> {
    const current = this.#targets.get(path);
    if (current === undefined) return this.#begin(newTarget(path, origin));
    if (current.hasBegun) current.next ??= newTarget(path, origin);
    const target = current.next ?? current;
    // A unit that was reported as changed may have changed inside, too.
    if (origin === 'change') target.origin = origin;
    return target.outcome.promise;
  }

  #begin(target: Target): Promise<TargetOutcome> {
    const { path } = target;
    this.#targets.set(path, target);
    const restMs = (this.#rests.get(path) ?? 0) - putOffMs - monotonic();
    if (restMs > 0) setTimeout(() => this.#add(target), restMs).unref();
    else this.#add(target);
    return target.outcome.promise;
  }

  #rest(path: string, begunMs: number): void {
    const now = monotonic();
    const restsUntil = Math.max(now, this.#rests.get(path) ?? 0) + restPerWalk * (now - begunMs);
    this.#rests.set(path, restsUntil);
    const forget = () => {
      // Not by the time: a timer may be early by a part of a millisecond.
      if (this.#rests.get(path) === restsUntil) this.#rests.delete(path);
    };
    setTimeout(forget, restsUntil - now).unref();
  }

  #add(target: Target): void {
    const { path } = target;
    this.#pool.add({
      task: { path },
      urgency: 'soon',
      begin: () => {
        target.hasBegun = true;
      },
      done: (result, start) => {
        target.walks += 1;
        if (result.outcome === 'vanished' && target.walks < mostWalks) {
          this.#add(target);
          return;
        }
        this.#rest(path, start.monotonicMs);
        this.#targets.delete(path);
        if (target.next !== null) this.#begin(target.next);
        this.#settle(path, result, start, target.origin).then(target.outcome.resolve, () =>
          target.outcome.resolve('unread'),
        );
      },
    });
  }
}

function newTarget(path: string, origin: WalkReason): Target {
  return { path, origin, outcome: Promise.withResolvers(), hasBegun: false, walks: 0, next: null };
}
