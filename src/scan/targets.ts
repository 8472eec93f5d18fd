/**
 * Walks of single units that somebody asked for by path.
 *
 * Asked twice before the walk begins, a unit is walked once; asked while it is walked, once more
 * afterwards. So the walk that answers has always begun after the question.
 */

import type { Origin } from './holds.ts';
import type { TaskResult } from './messages.ts';
import type { Pool, Start } from './pool.ts';

export type TargetOutcome =
  | 'counted'
  /** Measured, but git is at work in it: a rise counts later. */
  | 'held'
  /** No unit is there any more; it was reported as gone. */
  | 'gone'
  /** No unit is there, and none was known. */
  | 'none'
  /** It could not be read, or its storage is away: it stays as it was known. */
  | 'unread'
  | 'stopped';

/** Makes a result count; resolves once it has. */
export type Settle = (
  path: string,
  result: TaskResult,
  start: Start,
  origin: Origin,
) => Promise<TargetOutcome>;

interface Target {
  readonly path: string;
  origin: Origin;
  readonly outcome: PromiseWithResolvers<TargetOutcome>;
  hasBegun: boolean;
  walks: number;
  next: Target | null;
}

/** What vanishes at every walk is made anew all the time. */
const mostWalks = 3;

export class Targets {
  readonly #pool: Pool;
  readonly #settle: Settle;
  readonly #targets = new Map<string, Target>();

  constructor(pool: Pool, settle: Settle) {
    this.#pool = pool;
    this.#settle = settle;
  }

  /** Never rejects. */
  measure(path: string, origin: Origin): Promise<TargetOutcome> {
    const current = this.#targets.get(path);
    if (current === undefined) return this.#begin(newTarget(path, origin));
    if (current.hasBegun) current.next ??= newTarget(path, origin);
    const target = current.next ?? current;
    // What somebody said has changed is no mere confirmation.
    if (origin === 'change') target.origin = origin;
    return target.outcome.promise;
  }

  #begin(target: Target): Promise<TargetOutcome> {
    this.#targets.set(target.path, target);
    this.#add(target);
    return target.outcome.promise;
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
        this.#targets.delete(path);
        if (target.next !== null) this.#begin(target.next);
        this.#settle(path, result, start, target.origin).then(target.outcome.resolve, () =>
          target.outcome.resolve('unread'),
        );
      },
    });
  }
}

function newTarget(path: string, origin: Origin): Target {
  return { path, origin, outcome: Promise.withResolvers(), hasBegun: false, walks: 0, next: null };
}
