/**
 * Judgements: the git user's worker looks at a refused push that deletes or replaces history. One that makes
 * the repository smaller goes on.
 *
 * The data that such a push takes away stays on the disk until the server's next garbage collection, beside
 * all that it brings. So far over the limit that the disk would hold twice what it should, it must not bring
 * more than it frees. Where GARBAGE = forgive, what it takes away is forgiven up to a most; far beyond that
 * the disk would fill by such pushes alone, so they have to wait for a collection.
 *
 * Each repository has one at a time, from the beginning of its judgement to the end of its push. Where git
 * then did less than was judged, nothing more is judged there until the owner is below the limit.
 */

import { EventEmitter, once } from 'node:events';
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { SoftquotaError } from '../../errors.ts';
import type { Ledger } from '../../ledger/index.ts';
import {
  type Decision,
  type DiskFull,
  isDiskFilled,
  isLeaf,
  isRepository,
  type Leaf,
  type Subject,
} from '../../quota/index.ts';
import { type JudgedPush, type PushJudgement, workerAnswers } from '../../wire/index.ts';
import { within } from '../../within.ts';
import type { WorkerLink } from '../worker.ts';

/** Returns how a push that is refused, and brings so much, is judged; null: it is not. */
export function mannerOf(
  decision: Decision | DiskFull,
  subject: Subject,
  bringsBytes: number,
): JudgedPush['manner'] | null {
  // A push that makes the repository smaller brings its own bytes first.
  if (decision.allowed || decision.by === 'disk' || !isLeaf(subject) || !isRepository(subject)) return null;
  if (decision.per === 'push' || decision.per === 'file') return null;
  if (isDiskFilled(decision, bringsBytes)) return null;
  const isFar = decision.by === 'no_match' || decision.used - decision.limit > decision.limit;
  return isFar ? 'less' : 'any';
}

interface JudgementsOptions {
  readonly link: Pick<WorkerLink, 'ask' | 'connection' | 'isClosed' | 'isHere'>;
  /** Returns the owner of the unit at this path; null: it has none. */
  ownerOf(unit: string): string | null;
  /** Tells whether a push into this unit is refused. */
  isRefused(unit: string): boolean;
}

/** From the question to the end of the matter. */
export const judgedWithinMs = 60_000;
const overdueMs = 60_000;
const mostOverdue = 10_000;
/** Their lines stay in memory meanwhile. */
const mostUnderWay = 1000;
const mostLinesBytes = 64 * 1024 * 1024;
const mostOfOwner = 2;
/** Longer than a client waits for the answer. */
const answerMs = 120_000;
const pushMs = 86_400_000;
const askAgainMs = 1000;
const lookEveryMs = 5000;

const advice = 'Delete branches and tags first, in a push of their own: these are never refused.';
const cannotTell = 'cannot be told whether this push makes the repository smaller';
const ways = 'Delete branches and tags first, in separate pushes: these are never refused.';
const inWorker = `git cannot tell here whether this push makes the repository smaller. ${ways}`;
const notKept = `an earlier push was accepted because less was to remain, but git did only a part of it. ${ways}`;

export class Judgements {
  readonly #options: JudgementsOptions;
  readonly #places = availableParallelism();
  /** The owner of each that runs. */
  #running: readonly string[] = [];
  readonly #ends = new EventEmitter();
  /** By unit, the signal that comes where nobody waits for the judgement any more. */
  readonly #judged = new Map<string, AbortSignal>();
  /** Units with a push that was judged and goes on. */
  readonly #going = new Set<string>();
  readonly #notKept = new Set<string>();
  /** By unit, until when it is not judged. The one that ran over its time first comes first. */
  readonly #overdue = new Map<string, number>();
  readonly #closed = new AbortController();
  readonly #looking: NodeJS.Timeout;
  #linesBytes = 0;

  constructor(options: JudgementsOptions) {
    this.#options = options;
    this.#ends.setMaxListeners(0);
    this.#looking = setInterval(() => this.look(), lookEveryMs).unref();
  }

  /** From the beginning of a judgement to the end of its push nothing else may give refs to what it frees. */
  isUnderWay(unit: string): boolean {
    return this.#judged.get(unit)?.aborted === false || this.#going.has(unit);
  }

  /**
   * Judges in a unit in which none is under way, until then on the monotonic clock. Never rejects: without a
   * worker, or where its connection breaks, the push stays refused. What comes back after `over` is for
   * nobody.
   */
  async judge(push: JudgedPush, until: number, over: AbortSignal): Promise<PushJudgement> {
    const { path: unit } = push;
    const linesBytes = push.lines.length;
    // The words of the refusal say what is left.
    if (!this.#options.link.isHere) return refused('');
    if ((this.#overdue.get(unit) ?? 0) > performance.now()) {
      return refused(`git took too long a moment ago, so it ${cannotTell}. ${advice}`);
    }
    if (this.#judged.size >= mostUnderWay || this.#linesBytes + linesBytes > mostLinesBytes) {
      return refused(`too many pushes are judged now, so it ${cannotTell}. Try again later.`);
    }
    if (this.#notKept.has(unit)) return refused(notKept);
    this.#judged.set(unit, over);
    this.#linesBytes += linesBytes;
    try {
      const found = await this.#before(until, over, async signal =>
        workerAnswers.judge.parse(await this.#inPlace({ kind: 'judge', ...push }, signal)),
      );
      if (found === 'overdue') {
        this.#noteOverdue(unit);
        return refused(`it ${cannotTell}: git took longer than ${judgedWithinMs / 1000} s. ${advice}`);
      }
      if (found.smaller) void this.#follow(push, found.sample);
      return found;
    } catch {
      return refused(inWorker);
    } finally {
      this.#linesBytes -= linesBytes;
      if (this.#judged.get(unit) === over) this.#judged.delete(unit);
    }
  }

  /**
   * Tells whether refs written to these objects bring back what nothing reached (GARBAGE = forgive); also
   * true where nobody can tell in time.
   */
  async bringsBack(push: JudgedPush, until: number, over: AbortSignal): Promise<boolean> {
    // Until a push that is under way has ended nobody knows what it takes away.
    if (!this.#options.link.isHere || this.isUnderWay(push.path)) return true;
    try {
      const found = await this.#before(until, over, async signal =>
        workerAnswers.brings_back.parse(await this.#inPlace({ kind: 'brings_back', ...push }, signal)),
      );
      return found === 'overdue' || found.brings_back;
    } catch {
      return true;
    }
  }

  /** Owners may have come below their limits: what was not kept is forgotten then. */
  look(): void {
    for (const unit of this.#notKept) if (!this.#options.isRefused(unit)) this.#notKept.delete(unit);
  }

  /** Ends what the worker does for them. */
  close(): void {
    clearInterval(this.#looking);
    this.#closed.abort();
  }

  async #before<Found>(
    until: number,
    over: AbortSignal,
    find: (signal: AbortSignal) => Promise<Found>,
  ): Promise<Found | 'overdue'> {
    const end = new AbortController();
    const found = find(AbortSignal.any([end.signal, over, this.#closed.signal]));
    const leftMs = Math.max(0, until - performance.now());
    const inItsTime = await within(found, leftMs, 'overdue' as const);
    if (inItsTime === 'overdue') end.abort();
    return inItsTime;
  }

  /** Asks from one of the places, as soon as there is one for this unit's owner. Rejects with the signal. */
  async #inPlace(task: Parameters<WorkerLink['ask']>[0], signal: AbortSignal) {
    const owner = this.#options.ownerOf(task.path) ?? task.path;
    signal.throwIfAborted();
    // All that wait look again, in the order in which they came.
    while (!this.#hasPlace(owner)) await once(this.#ends, 'end', { signal });
    this.#running = [...this.#running, owner];
    try {
      return await this.#options.link.ask(task, answerMs, signal);
    } finally {
      this.#running = this.#running.toSpliced(this.#running.indexOf(owner), 1);
      this.#ends.emit('end');
    }
  }

  #hasPlace(owner: string): boolean {
    const ofOwner = this.#running.filter(each => each === owner).length;
    return this.#running.length < this.#places && ofOwner < mostOfOwner;
  }

  /** Has the worker see to the end of a push that goes on. A worker that comes later does as well. */
  async #follow(push: JudgedPush, sample: string | null): Promise<void> {
    const { path: unit } = push;
    const { link } = this.#options;
    this.#going.add(unit);
    const begun = performance.now();
    let isKept = false;
    while (!link.isClosed && performance.now() - begun < pushMs) {
      try {
        await link.connection();
        const answer = await link.ask({ kind: 'outcome', ...push, sample }, pushMs);
        isKept = workerAnswers.outcome.parse(answer).kept;
        break;
      } catch {
        await delay(askAgainMs, undefined, { ref: false });
      }
    }
    if (!isKept) this.#notKept.add(unit);
    this.#going.delete(unit);
  }

  #noteOverdue(unit: string): void {
    const now = performance.now();
    for (const [other, until] of this.#overdue) {
      if (until > now && this.#overdue.size < mostOverdue) break;
      this.#overdue.delete(other);
    }
    this.#overdue.delete(unit);
    this.#overdue.set(unit, now + overdueMs);
  }
}

function refused(words: string): PushJudgement {
  return { smaller: false, words, sample: null };
}

/** Tells whether a limit refuses; one whose bytes cannot be added up is over it. */
export function isRefused(
  ledger: Pick<Ledger, 'decide'>,
  owner: string,
  { name, leaf }: { readonly name: string; readonly leaf: Leaf },
): boolean {
  try {
    return !ledger.decide(owner, leaf, 0, { repository: name }).decision.allowed;
  } catch (error) {
    if (error instanceof SoftquotaError && error.code === 'sum_too_large') return true;
    throw error;
  }
}
