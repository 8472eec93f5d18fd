/**
 * The refused pushes that the worker judges: their places, and what becomes of those that go on.
 *
 * Each repository has one at a time, from the beginning of its judgement to the end of its push. Where git then
 * did less than was judged, nothing more is judged there until the owner is below the limit.
 */

import { EventEmitter, once } from 'node:events';
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Judgement, JudgeTask, PushWorker } from '../gate/index.ts';
import { workerAnswers } from '../wire/index.ts';
import type { WorkerTasks } from './worker-tasks.ts';

interface JudgementsOptions {
  readonly tasks: Pick<WorkerTasks, 'ask' | 'connection' | 'isClosed' | 'isConnected'>;
  /** Returns the owner of the unit at this path; null: it has none. */
  ownerOf(path: string): string | null;
  /** Tells whether a push into this unit is refused. */
  isRefused(path: string): boolean;
  /** Milliseconds since any moment, on a clock that nobody sets. */
  monotonic(): number;
}

const ofOwner = 2;
/** Longer than a client waits for the answer. */
const answerMs = 120_000;
const pushMs = 86_400_000;
const askAgainMs = 1000;

const ways = 'Delete branches and tags first, in separate pushes: these are never refused.';
const inWorker = `git cannot tell here whether this push makes the repository smaller. ${ways}`;
const underWay = 'another push that makes this repository smaller is under way; try again when it has ended.';
const late = `git could not tell in time whether this push makes the repository smaller. ${ways}`;
const notKept = `an earlier push was accepted because less was to remain, but git did only a part of it. ${ways}`;

export class Judgements implements Pick<PushWorker, 'bringsBack' | 'isUnderWay' | 'judge'> {
  readonly #options: JudgementsOptions;
  readonly #places = availableParallelism();
  /** The owner of each that runs. */
  #running: readonly string[] = [];
  readonly #ends = new EventEmitter();
  readonly #underWay = new Set<string>();
  readonly #notKept = new Set<string>();

  constructor(options: JudgementsOptions) {
    this.#options = options;
    this.#ends.setMaxListeners(0);
  }

  isUnderWay(unit: string): boolean {
    return this.#underWay.has(unit);
  }

  async judge(task: JudgeTask, signal: AbortSignal): Promise<Judgement> {
    const { unit } = task;
    if (this.#underWay.has(unit)) return { is: 'refused', words: underWay };
    if (!this.#options.tasks.isConnected) return { is: 'refused', words: inWorker };
    if (this.#notKept.has(unit)) return { is: 'refused', words: notKept };
    this.#underWay.add(unit);
    const found = await this.#judge(task, signal);
    if (found.is === 'smaller') void this.#follow(task, found.sample);
    else this.#underWay.delete(unit);
    return { is: found.is, words: found.words };
  }

  async bringsBack(task: JudgeTask, signal: AbortSignal): Promise<boolean | null> {
    if (!this.#options.tasks.isConnected) return null;
    // Until that push has ended nobody knows what it takes away.
    if (this.#underWay.has(task.unit)) return true;
    try {
      return await this.#inPlace(task.unit, signal, async () => {
        const answer = await this.#options.tasks.ask(
          { kind: 'brings_back', ...asked(task) },
          answerMs,
          signal,
        );
        return workerAnswers.brings_back.parse(answer).brings_back;
      });
    } catch {
      return null;
    }
  }

  /** Owners may have come below their limits: what was not kept is forgotten then. */
  look(): void {
    for (const unit of this.#notKept) if (!this.#options.isRefused(unit)) this.#notKept.delete(unit);
  }

  async #judge(
    task: JudgeTask,
    signal: AbortSignal,
  ): Promise<Judgement & { readonly sample: string | null }> {
    const { manner, unit } = task;
    try {
      const found = await this.#inPlace(unit, signal, async () => {
        const answer = await this.#options.tasks.ask(
          { kind: 'judge', manner, ...asked(task) },
          answerMs,
          signal,
        );
        return workerAnswers.judge.parse(answer);
      });
      return { is: found.smaller ? 'smaller' : 'refused', words: found.words, sample: found.sample };
    } catch {
      return { is: 'refused', words: signal.aborted ? late : inWorker, sample: null };
    }
  }

  /** Has the worker see to the end of a push that goes on. A worker that comes later does as well. */
  async #follow(task: JudgeTask, sample: string | null): Promise<void> {
    const { unit } = task;
    const { tasks } = this.#options;
    const begun = this.#options.monotonic();
    let isKept = false;
    while (!tasks.isClosed && this.#options.monotonic() - begun < pushMs) {
      try {
        await tasks.connection();
        const answer = await tasks.ask({ kind: 'outcome', ...asked(task), sample }, pushMs);
        isKept = workerAnswers.outcome.parse(answer).kept;
        break;
      } catch {
        await delay(askAgainMs, undefined, { ref: false });
      }
    }
    if (!isKept) this.#notKept.add(unit);
    this.#underWay.delete(unit);
  }

  /** Works in one of the places, as soon as there is one for this unit's owner. Rejects with the signal. */
  async #inPlace<Result>(unit: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    const owner = this.#options.ownerOf(unit) ?? unit;
    signal.throwIfAborted();
    // All that wait look again, in the order in which they came.
    while (!this.#hasPlace(owner)) await once(this.#ends, 'end', { signal });
    this.#running = [...this.#running, owner];
    try {
      return await work();
    } finally {
      this.#running = this.#running.toSpliced(this.#running.indexOf(owner), 1);
      this.#ends.emit('end');
    }
  }

  #hasPlace(owner: string): boolean {
    return (
      this.#running.length < this.#places && this.#running.filter(each => each === owner).length < ofOwner
    );
  }
}

/** A task as the worker gets it. */
function asked({ unit, quarantine, lines, hidden, execPath }: JudgeTask) {
  return { path: unit, quarantine, lines, hidden, exec_path: execPath };
}
