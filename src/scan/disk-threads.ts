/**
 * The threads that look at disks: everything but walks is asked here.
 *
 * Nobody can end a thread that waits for a disk. One that has not answered in time, or has made no progress
 * for long, is left behind and recorded where it waits (see `hangs.ts`); others keep away from there. So what
 * lies on all other disks is found out, however many hang.
 *
 * Somebody waits for most questions: they have a deadline, and go to one thread after the other. A slow one
 * keeps no other waiting, and those for one file system never take all threads. An idle thread stays for a
 * while, since a thread takes longer to start than most questions to answer.
 */

import { SoftquotaError } from '../errors.ts';
import { printable } from '../text/index.ts';
import { type Hangs, mostImpatient } from './hangs.ts';
import type { PartOf, WorkerAnswers, WorkerQuestion } from './messages.ts';
import { type DiskThread, type QuestionOf, ThreadSupply } from './thread.ts';

interface DiskThreadsOptions {
  readonly hangs: Hangs;
  /** After this time without progress a thread is left behind. */
  readonly hungAfterMs: number;
  readonly code?: URL;
  /** Number of threads for questions with a deadline. */
  readonly most?: number;
  /** Milliseconds that an idle thread stays for the next question. */
  readonly restMs?: number;
}

interface Patience<Ask> {
  /** Called with each part of the answer, as it comes. */
  readonly part?: (part: PartOf<Ask>) => void;
  /** Aborted, it ends the question. */
  readonly signal?: AbortSignal;
}

/** A question with a deadline. */
interface Urgent {
  /** The place in question; null: several. */
  readonly path: string | null;
  /** Has a thread answer; rejects where that failed or ended. */
  readonly put: (thread: DiskThread, avoided: readonly string[]) => Promise<void>;
  readonly fail: (error: unknown) => void;
  thread: DiskThread | null;
  /** `slow`: others no longer wait for its answer. */
  state: 'waiting' | 'asked' | 'slow' | 'hanging';
}

const usualMost = 8;
/** The questions of a burst of pushes come closer to each other. A thread takes some 10 MB. */
const usualRestMs = 20_000;
/** A thread that has not answered after this time keeps no others waiting. */
const slowMs = 50;
/** Number of disks that may hang one after the other before a question is given up. */
const mostHangs = 8;
const looksEach = 10;

export class DiskThreads {
  readonly #options: DiskThreadsOptions;
  readonly #most: number;
  readonly #supply: ThreadSupply;
  readonly #queue = new Set<Urgent>();
  /** The questions that threads are at, also those that hang. */
  readonly #begun = new Set<Urgent>();
  #isClosed = false;

  constructor(options: DiskThreadsOptions) {
    this.#options = options;
    const { code, most = usualMost, restMs = usualRestMs } = options;
    this.#most = most;
    this.#supply = new ThreadSupply({ name: 'io', code, mostIdle: 1, restMs });
  }

  /**
   * Asks about a path, or about several where it is null. Rejects with `not_ready` where there is no answer
   * after `deadlineMs`, and at once where the disk is known not to answer.
   */
  async ask<Ask extends WorkerQuestion['ask']>(
    question: QuestionOf<Ask>,
    path: string | null,
    deadlineMs: number,
  ): Promise<WorkerAnswers[Ask]> {
    if (this.#isClosed || this.hanging() >= this.#most) throw notReady(path, ': the disk does not answer');
    const { promise, resolve, reject: fail } = Promise.withResolvers<WorkerAnswers[Ask]>();
    const put: Urgent['put'] = async (thread, avoided) => resolve(await thread.ask(question, { avoided }));
    const urgent: Urgent = { path, put, fail, thread: null, state: 'waiting' };
    const deadline = setTimeout(() => {
      fail(notReady(path, ` within ${deadlineMs} ms`));
      this.#queue.delete(urgent);
      if (urgent.thread !== null) this.#leave(urgent, urgent.thread);
      this.#advance();
    }, deadlineMs);
    this.#queue.add(urgent);
    this.#advance();
    try {
      return await promise;
    } finally {
      clearTimeout(deadline);
    }
  }

  /**
   * Asks, for as long as it takes; if a disk hangs, another thread is asked the same, which keeps away from
   * there, and what was found before is found again. Rejects with `internal`.
   */
  async askAround<Ask extends WorkerQuestion['ask']>(
    question: QuestionOf<Ask>,
    { part, signal }: Patience<Ask> = {},
  ): Promise<WorkerAnswers[Ask]> {
    const { hangs } = this.#options;
    for (let attempt = 0; attempt < mostHangs; attempt++) {
      // A caller that was stopped may ask once more before it notices: no thread is started for it.
      if (this.#isClosed || signal?.aborted === true)
        throw new SoftquotaError('internal', 'asking has ended');
      const thread = this.#supply.take();
      const end = () => void thread.close(0);
      const watch = this.#watch(thread);
      signal?.addEventListener('abort', end);
      try {
        const more = { avoided: hangs.avoided(), ...(part === undefined ? {} : { part }) };
        const answer = thread.ask(question, more).then(value => ({ value }));
        const first = await Promise.race([answer, watch.hung]);
        if (first !== null) {
          this.#supply.giveBack(thread);
          return first.value;
        }
        hangs.leave(thread);
      } catch (error) {
        end();
        throw error;
      } finally {
        watch.end();
        signal?.removeEventListener('abort', end);
      }
    }
    throw new SoftquotaError('internal', `${mostHangs} disks do not answer`);
  }

  /** Number of questions with a deadline whose threads hang. */
  hanging(): number {
    return [...this.#begun].filter(({ state }) => state === 'hanging').length;
  }

  /** Rejects what waits, and ends all threads; gives how many had to be left. */
  async close(withinMs: number): Promise<number> {
    this.#isClosed = true;
    for (const { path, fail } of this.#queue) fail(notReady(path, ': asking has ended'));
    this.#queue.clear();
    return this.#supply.close(withinMs);
  }

  /** Puts questions to threads, as long as there are both. */
  #advance(): void {
    for (const urgent of this.#queue) {
      if (this.#isAvoided(urgent)) {
        this.#queue.delete(urgent);
        urgent.fail(
          new SoftquotaError('not_ready', `${printable(urgent.path ?? '')} cannot be read: ETIMEDOUT`),
        );
      } else if (!this.#isCrowded(urgent)) {
        const isWaitedFor = [...this.#begun].some(({ state }) => state === 'asked');
        if (this.#isClosed || isWaitedFor || this.#begun.size >= this.#most) return;
        this.#queue.delete(urgent);
        void this.#put(urgent);
      }
    }
  }

  #isAvoided({ path }: Urgent): boolean {
    const { hangs } = this.#options;
    return path !== null && hangs.avoidedInHaste().includes(hangs.placeOf(path));
  }

  /** Tells whether enough threads wait for a path's file system: the others are for what lies elsewhere. */
  #isCrowded({ path }: Urgent): boolean {
    if (path === null) return false;
    const { hangs } = this.#options;
    const where = hangs.placeOf(path);
    const there = [...this.#begun].filter(
      ({ thread, path: asked }) => hangs.placeOf(thread?.at()?.path || (asked ?? '')) === where,
    );
    return there.length >= mostImpatient;
  }

  async #put(urgent: Urgent): Promise<void> {
    this.#begun.add(urgent);
    urgent.state = 'asked';
    const slow = setTimeout(() => {
      if (urgent.state === 'asked') urgent.state = 'slow';
      this.#advance();
    }, slowMs);
    try {
      const thread = this.#supply.take();
      urgent.thread = thread;
      await urgent.put(thread, this.#options.hangs.avoidedInHaste());
      if (!isHanging(urgent)) this.#supply.giveBack(thread);
    } catch (error) {
      urgent.fail(error);
      if (!isHanging(urgent)) void urgent.thread?.close(0);
    } finally {
      clearTimeout(slow);
      if (!isHanging(urgent)) this.#begun.delete(urgent);
      this.#advance();
    }
  }

  /** Leaves a thread behind, which counts as hanging until it has ended after all. */
  #leave(urgent: Urgent, thread: DiskThread): void {
    urgent.state = 'hanging';
    this.#options.hangs.leave(thread);
    void thread.ended.then(() => {
      this.#begun.delete(urgent);
      this.#advance();
    });
  }

  /** Looks from time to time whether a thread hangs. */
  #watch(thread: DiskThread): { readonly hung: Promise<null>; end(): void } {
    const { hungAfterMs } = this.#options;
    const { promise: hung, resolve } = Promise.withResolvers<null>();
    const timer = setInterval(() => {
      const at = thread.at();
      if (at !== null && at.path !== '' && at.milliseconds >= hungAfterMs) resolve(null);
    }, hungAfterMs / looksEach).unref();
    return { hung, end: () => clearInterval(timer) };
  }
}

function isHanging({ state }: Urgent): boolean {
  return state === 'hanging';
}

function notReady(path: string | null, why: string): SoftquotaError {
  const what = path === null ? 'the storage' : printable(path);
  return new SoftquotaError('not_ready', `${what} could not be looked up${why}`);
}
