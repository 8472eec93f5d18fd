/**
 * Judgements: the git user's worker looks at a refused push that deletes or replaces history. One that makes the
 * repository smaller goes on.
 *
 * The data that such a push takes away stays on the disk until the server's next garbage collection, beside
 * all that it brings. So far over the limit that the disk would hold twice what it should, it must not bring
 * more than it frees. Where GARBAGE = forgive, what it takes away is forgiven up to a most; beyond that the
 * disk would fill by such pushes alone, so they have to wait for a collection.
 */

import { type Decision, type DiskFull, isLeaf, isRepository, type Subject } from '../../quota/index.ts';
import type { Judgement, JudgeTask, PushWorker } from './services.ts';
import { inTime, type Timing } from './timing.ts';

/** Returns how a push that is refused is judged; null: it is not. */
export function mannerOf(decision: Decision | DiskFull, subject: Subject): JudgeTask['manner'] | null {
  // A push that makes the repository smaller brings its own bytes first.
  if (decision.allowed || decision.by === 'disk' || !isLeaf(subject) || !isRepository(subject)) return null;
  const { garbage } = decision;
  if (garbage !== undefined && garbage.unreachable >= garbage.most) return null;
  const isFar = decision.by === 'no_match' || decision.used - decision.limit > decision.limit;
  return isFar ? 'less' : 'any';
}

/** From the question to the end of the matter. */
export const judgedWithinMs = 60_000;
const overdueMs = 60_000;
const mostOverdue = 10_000;
/** Their lines stay in memory meanwhile. */
const mostUnderWay = 1000;
const mostLinesBytes = 64 * 1024 * 1024;

const advice = 'Delete branches and tags first, in a push of their own: these are never refused.';
const cannotTell = 'cannot be told whether this push makes the repository smaller';

export class TimedJudgements {
  readonly #worker: PushWorker;
  readonly #timing: Timing;
  readonly #underWay = new Map<string, AbortSignal>();
  /** By unit, until when it is not judged. The one that ran over its time first comes first. */
  readonly #overdue = new Map<string, number>();
  readonly #closed = new AbortController();
  #linesBytes = 0;

  constructor(worker: PushWorker, timing: Timing) {
    this.#worker = worker;
    this.#timing = timing;
  }

  /** From the beginning of a judgement to the end of its push nothing else may give refs to what it frees. */
  isUnderWay(unit: string): boolean {
    return this.#underWay.get(unit)?.aborted === false || this.#worker.isUnderWay(unit);
  }

  /**
   * Judges in a unit in which none is under way, until then on the clock. Never rejects. What comes back after
   * `over` is for nobody.
   */
  async judge(task: JudgeTask, until: number, over: AbortSignal): Promise<Judgement> {
    const { unit } = task;
    const linesBytes = task.lines.length;
    // The words of the refusal say what is left.
    if (!this.#worker.isHere) return refused('');
    if ((this.#overdue.get(unit) ?? 0) > this.#timing.now()) {
      return refused(`git took too long a moment ago, so it ${cannotTell}. ${advice}`);
    }
    if (this.#underWay.size >= mostUnderWay || this.#linesBytes + linesBytes > mostLinesBytes) {
      return refused(`too many pushes are judged now, so it ${cannotTell}. Try again later.`);
    }
    this.#underWay.set(unit, over);
    this.#linesBytes += linesBytes;
    try {
      const judged = await this.#before(until, over, signal => this.#worker.judge(task, signal));
      if (judged !== 'overdue') return judged;
      this.#noteOverdue(unit);
      return refused(`it ${cannotTell}: git took longer than ${judgedWithinMs / 1000} s. ${advice}`);
    } finally {
      this.#linesBytes -= linesBytes;
      if (this.#underWay.get(unit) === over) this.#underWay.delete(unit);
    }
  }

  /** Calls `PushWorker.bringsBack`; null also where it takes too long. */
  async bringsBack(task: JudgeTask, until: number, over: AbortSignal): Promise<boolean | null> {
    const found = await this.#before(until, over, signal => this.#worker.bringsBack(task, signal));
    return found === 'overdue' ? null : found;
  }

  /** Ends what the worker does for them. */
  close(): void {
    this.#closed.abort();
  }

  async #before<Found>(
    until: number,
    over: AbortSignal,
    find: (signal: AbortSignal) => Promise<Found>,
  ): Promise<Found | 'overdue'> {
    const end = new AbortController();
    const found = find(AbortSignal.any([end.signal, over, this.#closed.signal]));
    const leftMs = Math.max(0, until - this.#timing.now());
    const inItsTime = await inTime(this.#timing, found, leftMs, 'overdue' as const);
    if (inItsTime === 'overdue') end.abort();
    return inItsTime;
  }

  #noteOverdue(unit: string): void {
    const now = this.#timing.now();
    for (const [other, until] of this.#overdue) {
      if (until > now && this.#overdue.size < mostOverdue) break;
      this.#overdue.delete(other);
    }
    this.#overdue.delete(unit);
    this.#overdue.set(unit, now + overdueMs);
  }
}

function refused(words: string): Judgement {
  return { is: 'refused', words };
}
