/**
 * Judgements: the git user's worker inspects a refused push that deletes or replaces history. The push goes
 * on if it makes the repository smaller.
 *
 * Data that such a push removes stays on the disk until the server's next garbage collection, beside the data
 * that it brings. An owner who uses more than twice the limit must not bring more than the push frees. With
 * GARBAGE = forgive, removed data does not count, up to a maximum; far over that, the owner has to wait for a
 * collection, because such pushes alone would fill the disk.
 *
 * A repository has one judged push at a time, from the judgement until the push ends. If git then did less
 * than was judged, no more pushes are judged there until the owner is below the limit.
 */

import { EventEmitter, once } from 'node:events';
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Ledger } from '../../ledger/index.ts';
import {
  type Decision,
  type DiskFull,
  exactly,
  isDiskFilled,
  isLeaf,
  isRepository,
  type Subject,
} from '../../quota/index.ts';
import { within } from '../../turns.ts';
import { type JudgedPush, type PushJudgement, workerAnswers } from '../../wire/index.ts';
import type { WorkerLink } from '../worker.ts';

/** Returns how a refused push that brings this many bytes is judged; null if it is not judged. */
export function mannerOf(
  decision: Decision | DiskFull,
  subject: Subject,
  bringsBytes: number,
): JudgedPush['manner'] | null {
  // Its own bytes arrive before anything becomes smaller, so the disk must have room for them.
  if (decision.allowed || decision.by === 'disk' || !isLeaf(subject) || !isRepository(subject)) return null;
  if (decision.per === 'push' || decision.per === 'file') return null;
  if (isDiskFilled(decision, bringsBytes)) return null;
  const isFar = decision.by === 'no_match' || decision.used - decision.limit > decision.limit;
  return isFar ? 'less' : 'any';
}

interface JudgementsOptions {
  readonly link: Pick<WorkerLink, 'ask' | 'connection' | 'isClosed' | 'isHere'>;
  /** Returns the owner of the unit at this path, or null. */
  ownerOf(unit: string): string | null;
  /** Returns true if pushes into this unit are refused. */
  isRefused(unit: string): boolean;
}

/** Milliseconds from the question until a judgement must be ready. */
const judgedWithinMs = 60_000;
const overdueMs = 60_000;
const mostOverdue = 10_000;
/** Limits of simultaneous judgements, because their lines stay in memory. */
const mostUnderWay = 1000;
const mostLinesBytes = 64 * 1024 * 1024;
const mostOfOwner = 2;
/** Longer than a client waits for an answer. */
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
  /** Owners of the running judgements. */
  #running: readonly string[] = [];
  readonly #ends = new EventEmitter();
  /** Units with a judgement; the signal is aborted when nobody waits for it any more. */
  readonly #judged = new Map<string, AbortSignal>();
  /** Units with a push that was accepted by a judgement and has not ended. */
  readonly #going = new Set<string>();
  readonly #notKept = new Set<string>();
  /**
   * Times until which units are not judged, because a judgement took too long; the first to end comes first.
   */
  readonly #overdue = new Map<string, number>();
  readonly #closed = new AbortController();
  readonly #looking: NodeJS.Timeout;
  #linesBytes = 0;

  constructor(options: JudgementsOptions) {
    this.#options = options;
    this.#ends.setMaxListeners(0);
    this.#looking = setInterval(() => this.look(), lookEveryMs).unref();
  }

  /**
   * Returns true from the start of a judgement to the end of its push. No other push may meanwhile refer to
   * data that it frees.
   */
  isUnderWay(unit: string): boolean {
    return this.#judged.get(unit)?.aborted === false || this.#going.has(unit);
  }

  /**
   * Judges a push into a unit without another judgement. `askedAt` is the time of the question on the
   * monotonic clock. Never rejects: without a worker, or if its connection breaks, the push stays refused.
   * Nobody reads the result after `over` is aborted.
   */
  async judge(push: JudgedPush, askedAt: number, over: AbortSignal): Promise<PushJudgement> {
    const { path: unit } = push;
    const linesBytes = push.lines.length;
    // The refusal itself says enough.
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
      const found = await this.#inTime(askedAt, over, async signal =>
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
   * Returns true if refs to these objects would make unreachable data reachable again (GARBAGE = forgive), or
   * if this is not known in time.
   */
  async bringsBack(push: JudgedPush, askedAt: number, over: AbortSignal): Promise<boolean> {
    // It is unknown what a push frees until it has ended.
    if (!this.#options.link.isHere || this.isUnderWay(push.path)) return true;
    try {
      const found = await this.#inTime(askedAt, over, async signal =>
        workerAnswers.brings_back.parse(await this.#inPlace({ kind: 'brings_back', ...push }, signal)),
      );
      return found === 'overdue' || found.brings_back;
    } catch {
      return true;
    }
  }

  /** Forgets failed promises of units whose owners are below their limits now. */
  look(): void {
    for (const unit of this.#notKept) if (!this.#options.isRefused(unit)) this.#notKept.delete(unit);
  }

  /** Ends the tasks of the worker. */
  close(): void {
    clearInterval(this.#looking);
    this.#closed.abort();
  }

  async #inTime<Found>(
    askedAt: number,
    over: AbortSignal,
    find: (signal: AbortSignal) => Promise<Found>,
  ): Promise<Found | 'overdue'> {
    const end = new AbortController();
    const found = find(AbortSignal.any([end.signal, over, this.#closed.signal]));
    const leftMs = Math.max(0, askedAt + judgedWithinMs - performance.now());
    const foundInTime = await within(found, leftMs, 'overdue' as const);
    if (foundInTime === 'overdue') end.abort();
    return foundInTime;
  }

  /**
   * Sends a task to the worker as soon as the unit's owner may run another one. Rejects when `signal` is
   * aborted.
   */
  async #inPlace(task: Parameters<WorkerLink['ask']>[0], signal: AbortSignal) {
    const owner = this.#options.ownerOf(task.path) ?? task.path;
    signal.throwIfAborted();
    // Everyone who waits checks again, in the order of arrival.
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

  /**
   * Makes the worker watch a push that goes on until it ends; after a restart of the worker, the next one
   * does.
   */
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

/** Returns true if a limit refuses pushes into a unit. A sum that is too large is over every limit. */
export function isRefused(ledger: Pick<Ledger, 'decide' | 'units'>, path: string): boolean {
  const unit = ledger.units.unit(path);
  const owner = unit?.owner ?? null;
  if (unit === undefined || owner === null) return false;
  const decided = exactly(() => ledger.decide(owner, unit.leaf, 0, { repository: path }));
  return decided === null || !decided.decision.allowed;
}
