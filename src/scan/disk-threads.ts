/**
 * The threads that read disks, and the disks that do not answer them.
 *
 * Nobody can end a thread that waits for a disk. A thread that has not answered in time, or has made no
 * progress for long, is left behind, and recorded with its path until it has ended. Meanwhile no other thread
 * reads the file system of that path. So a hanging disk blocks no further thread, and all other disks are
 * still read.
 *
 * Most questions have a deadline, since somebody waits. One thread answers them one after the other; beside a
 * slow question further threads start, and the questions for one file system never take all threads. An idle
 * thread stays for a while, since its start takes longer than most answers.
 */

import { SoftquotaError } from '../errors.ts';
import { DiskHangs, isWithin, type Mounts } from '../layout/index.ts';
import type { Log } from '../log.ts';
import { printable } from '../text.ts';
import type { ScanContext, ScannerOptions } from './task.ts';
import { type Answered, type Asked, DiskThread, type Given, type OnPart } from './thread.ts';

/** The parts of a scanner that its other parts share. */
export interface ScannerParts {
  readonly options: ScannerOptions;
  readonly mounts: Mounts;
  readonly threads: DiskThreads;
  /** The storage to walk. */
  context(): ScanContext;
  /** The file of the scan cache; null if it cannot be used. */
  cacheFile(): string | null;
}

interface DiskThreadsOptions {
  readonly mounts: Mounts;
  /** Time without progress after which a disk counts as hanging. */
  readonly hungAfterMs: number;
  readonly log: Pick<Log, 'error' | 'warn'>;
  /** Called when a disk answers that was reported as hanging. */
  readonly onAnswer: () => void;
  /** Number of idle walkers that stay for the next batch. */
  readonly workers: number;
  /** The code of threads, if it is not the usual one. */
  readonly code?: Readonly<Partial<Record<ThreadName, URL | undefined>>>;
  /** Number of threads for questions with a deadline, besides those that hang. */
  readonly most?: number;
  /** Milliseconds that an idle thread stays for the next question. */
  readonly restMs?: number;
}

/** A walker has a low priority after its first sweep, so it answers no other questions. */
type ThreadName = 'io' | 'walker';

interface LeftThread {
  readonly path: string;
  /** The time since which it has waited, on the monotonic clock. */
  readonly since: number;
  /** Its question has a deadline. */
  readonly isUrgent: boolean;
  isTold: boolean;
}

/** A question with a deadline. */
interface Urgent {
  /** The path in question; null: several. */
  readonly path: string | null;
  /** Sends the question to a thread; rejects if the thread fails or ends. */
  readonly put: (thread: DiskThread) => Promise<void>;
  readonly fail: (error: unknown) => void;
  thread: DiskThread | null;
  /** Further questions no longer wait for its answer. */
  isSlow: boolean;
}

const usualMost = 8;
const mostPackReaders = 4;
/** A thread takes some 10 MB, and a walker keeps the memory that its largest unit took. */
const usualRestMs = 60_000;
/** Deadline for ending an idle thread, which usually ends at once. */
const endMs = 1000;
/** Time without an answer after which further questions go to another thread. */
const slowMs = 50;
/** Limit of threads that questions with a deadline may take at one file system. */
const mostImpatient = 2;
/** The limit of hanging threads is this many times that of the others. */
const hangingFactor = 4;
/** Number of disks that may hang one after the other before a question is given up. */
const mostHangs = 8;
const looksEach = 10;
const longestLookMs = 500;

/**
 * Creates threads that read whole packs: on others, short questions about the same disk would wait for them.
 */
export function packThreads(parts: Pick<DiskThreadsOptions, 'hungAfterMs' | 'log' | 'mounts'>): DiskThreads {
  return new DiskThreads({ ...parts, workers: 0, most: mostPackReaders, onAnswer: () => {} });
}

export class DiskThreads {
  readonly #options: DiskThreadsOptions;
  /** All threads that have not ended. */
  readonly #threads = new Set<DiskThread>();
  readonly #idle = new Map<DiskThread, NodeJS.Timeout>();
  readonly #left = new Map<DiskThread, LeftThread>();
  readonly #queue = new Set<Urgent>();
  /** The questions with a deadline that threads are answering. */
  readonly #begun = new Set<Urgent>();
  readonly #watch: NodeJS.Timeout;
  #isClosed = false;

  constructor(options: DiskThreadsOptions) {
    this.#options = options;
    const everyMs = Math.min(longestLookMs, options.hungAfterMs / looksEach);
    this.#watch = setInterval(() => this.#look(), everyMs).unref();
  }

  /**
   * Asks about a path; null: about several. Rejects with `not_ready` if there is no answer after
   * `deadlineMs`, and at once if the disk is known to hang.
   */
  async ask<Ask extends Asked>(
    ask: Ask,
    given: Given<Ask>,
    path: string | null,
    deadlineMs: number,
  ): Promise<Answered<Ask>> {
    if (this.#isClosed || this.hanging >= this.#mostHanging)
      throw notReady(path, ': the disk does not answer');
    const { promise, resolve, reject: fail } = Promise.withResolvers<Answered<Ask>>();
    const put: Urgent['put'] = async thread =>
      resolve(await thread.ask(ask, given, this.#places(mostImpatient)));
    const urgent: Urgent = { path, put, fail, thread: null, isSlow: false };
    const deadline = setTimeout(() => {
      fail(notReady(path, ` within ${deadlineMs} ms`));
      this.#queue.delete(urgent);
      this.#begun.delete(urgent);
      if (urgent.thread !== null) this.#leave(urgent.thread, true);
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
   * Asks without a deadline, until `signal` is aborted. `part` is called with each part of the answer as it
   * arrives. If a disk hangs, another thread gets the same question and avoids that disk; parts may then come
   * twice. Rejects with `internal`.
   */
  async askAround<Ask extends Asked>(
    ask: Ask,
    given: Given<Ask>,
    { part, signal }: { readonly part?: OnPart<Ask>; readonly signal?: AbortSignal } = {},
  ): Promise<Answered<Ask>> {
    for (let attempt = 0; attempt < mostHangs; attempt++) {
      // A stopped caller may ask once more before it notices: no thread is started for it.
      if (this.#isClosed || signal?.aborted === true)
        throw new SoftquotaError('internal', 'asking has ended');
      const thread = this.take('io');
      const end = () => void thread.close(0);
      signal?.addEventListener('abort', end);
      try {
        const answer = await thread.ask(ask, given, this.avoided(), part);
        this.giveBack(thread);
        return answer;
      } catch (error) {
        end();
        if (!(error instanceof DiskHangs)) throw error;
      } finally {
        signal?.removeEventListener('abort', end);
      }
    }
    throw new SoftquotaError('internal', `${mostHangs} disks do not answer`);
  }

  /**
   * Returns a thread for questions to it. If it makes no progress for long, the question is rejected with
   * `DiskHangs`, and the thread must not be given back.
   */
  take(name: ThreadName): DiskThread {
    for (const thread of this.#idle.keys()) {
      if (thread.name !== name) continue;
      this.#forgetIdle(thread);
      return thread;
    }
    const thread = new DiskThread(name, this.#options.code?.[name]);
    this.#threads.add(thread);
    void thread.ended.then(() => {
      this.#threads.delete(thread);
      this.#forgetIdle(thread);
    });
    return thread;
  }

  /** Keeps a thread that has answered for the next question, for a while. */
  giveBack(thread: DiskThread): void {
    const { workers, restMs = usualRestMs } = this.#options;
    const idle = [...this.#idle.keys()].filter(({ name }) => name === thread.name).length;
    if (this.#isClosed || idle >= (thread.name === 'walker' ? workers : 1)) {
      void thread.close(endMs);
      return;
    }
    const rest = setTimeout(() => {
      this.#forgetIdle(thread);
      void thread.close(endMs);
    }, restMs).unref();
    this.#idle.set(thread, rest);
  }

  /** The hanging disks, by the places where threads wait; those that have waited the longest first. */
  hangs() {
    const now = performance.now();
    return this.#hung
      .map(({ path, since }) => ({
        path,
        mountedAt: this.#options.mounts.placeOf(path),
        milliseconds: now - since,
      }))
      .sort((a, b) => b.milliseconds - a.milliseconds);
  }

  /** Number of questions with a deadline whose threads were left behind. */
  get hanging(): number {
    return [...this.#left.values()].filter(({ isUrgent }) => isUrgent).length;
  }

  /** The directories below which no thread is to look. */
  avoided(): readonly string[] {
    return this.#places(Number.POSITIVE_INFINITY);
  }

  /** Tells whether a thread that was left behind waits for the file system of a path. */
  isWaitedFor(path: string): boolean {
    return this.#leftAt(this.#placeOf(path)) > 0;
  }

  /** Returns where a thread hangs if that keeps walks from this path, too; otherwise null. */
  waitingAt(path: string): string | null {
    const { mounts } = this.#options;
    const device = mounts.deviceOf(path);
    // One file system may be mounted at several places.
    const isReason = (at: string) => mounts.deviceOf(at) === device || isWithin(path, this.#placeOf(at));
    return this.#hung.find(thread => isReason(thread.path))?.path ?? null;
  }

  /**
   * Rejects the waiting questions, and ends all threads. Returns how many hang in the system and had to be
   * left.
   */
  async close(withinMs: number): Promise<number> {
    this.#isClosed = true;
    clearInterval(this.#watch);
    for (const { path, fail } of this.#queue) fail(notReady(path, ': asking has ended'));
    this.#queue.clear();
    for (const thread of this.#idle.keys()) this.#forgetIdle(thread);
    const ended = await Promise.all([...this.#threads].map(thread => thread.close(withinMs)));
    return ended.filter(hasEnded => !hasEnded).length;
  }

  get #most(): number {
    return this.#options.most ?? usualMost;
  }

  get #mostHanging(): number {
    return hangingFactor * this.#most;
  }

  /** Sends waiting questions to threads, as far as there are any. */
  #advance(): void {
    for (const urgent of this.#queue) {
      const where = urgent.path === null ? null : this.#placeOf(urgent.path);
      if (where !== null && this.#places(mostImpatient).includes(where)) {
        this.#queue.delete(urgent);
        urgent.fail(
          new SoftquotaError('not_ready', `${printable(urgent.path ?? '')} cannot be read: ETIMEDOUT`),
        );
      } else if (where === null || this.#askedAt(where) + this.#leftAt(where) < mostImpatient) {
        const isWaitedFor = [...this.#begun].some(({ isSlow }) => !isSlow);
        const most = Math.min(this.#most, this.#mostHanging - this.hanging);
        if (this.#isClosed || isWaitedFor || this.#begun.size >= most) return;
        this.#queue.delete(urgent);
        void this.#put(urgent);
      }
    }
  }

  async #put(urgent: Urgent): Promise<void> {
    this.#begun.add(urgent);
    const slow = setTimeout(() => {
      urgent.isSlow = true;
      this.#advance();
    }, slowMs);
    try {
      urgent.thread = this.take('io');
      await urgent.put(urgent.thread);
      if (this.#begun.has(urgent)) this.giveBack(urgent.thread);
    } catch (error) {
      urgent.fail(error instanceof DiskHangs ? notReady(urgent.path, ': the disk does not answer') : error);
      void urgent.thread?.close(0);
    } finally {
      clearTimeout(slow);
      this.#begun.delete(urgent);
      this.#advance();
    }
  }

  /** Leaves threads behind that make no progress for long, and logs the disks that they wait for. */
  #look(): void {
    const { hungAfterMs, log } = this.#options;
    for (const thread of this.#threads) {
      if (this.#left.has(thread)) continue;
      const at = thread.at();
      if (at === null || at.path === '' || at.milliseconds < hungAfterMs) continue;
      this.#leave(thread, false);
      thread.reject(new DiskHangs(at.path));
    }
    for (const thread of this.#hung) {
      if (thread.isTold) continue;
      thread.isTold = true;
      log.error(
        { path: thread.path, seconds: secondsSince(thread.since) },
        'a disk does not answer; its units keep their last known bytes, and everything else continues',
      );
    }
  }

  /**
   * Abandons a thread. If it waits for a disk, it is recorded until it ends, which it does when the disk
   * answers.
   */
  #leave(thread: DiskThread, isUrgent: boolean): void {
    const at = thread.at();
    void thread.close(0);
    if (at === null || at.path === '' || this.#left.has(thread)) return;
    const { path, milliseconds } = at;
    const left: LeftThread = { path, since: performance.now() - milliseconds, isUrgent, isTold: false };
    this.#left.set(thread, left);
    const { mounts, log, onAnswer } = this.#options;
    void mounts.refresh();
    void thread.ended.then(() => {
      this.#left.delete(thread);
      this.#advance();
      if (!left.isTold) return;
      log.warn({ path, seconds: secondsSince(left.since) }, 'a disk answers again');
      onAnswer();
    });
  }

  /** Threads that have waited for long, or were reported. */
  get #hung(): readonly LeftThread[] {
    const since = performance.now() - this.#options.hungAfterMs;
    return [...this.#left.values()].filter(thread => thread.isTold || thread.since <= since);
  }

  /** The places at which a thread has waited for long, or at least `most` threads wait. */
  #places(most: number): readonly string[] {
    const hung = new Set(this.#hung.map(({ path }) => this.#placeOf(path)));
    const left = new Set([...this.#left.values()].map(({ path }) => this.#placeOf(path)));
    return [...left].filter(place => hung.has(place) || this.#leftAt(place) >= most);
  }

  #leftAt(place: string): number {
    return [...this.#left.values()].filter(({ path }) => this.#placeOf(path) === place).length;
  }

  /** Number of questions with a deadline whose threads are at a place now. */
  #askedAt(place: string): number {
    const paths = [...this.#begun].map(({ thread, path }) => thread?.at()?.path || (path ?? ''));
    return paths.filter(path => this.#placeOf(path) === place).length;
  }

  /** The mount point of a path; on the root file system, the path itself. */
  #placeOf(path: string): string {
    const place = this.#options.mounts.placeOf(path);
    // All other file systems lie below `/`, too.
    return place === '/' ? path : place;
  }

  #forgetIdle(thread: DiskThread): void {
    clearTimeout(this.#idle.get(thread));
    this.#idle.delete(thread);
  }
}

function secondsSince(since: number): number {
  return Math.round((performance.now() - since) / 1000);
}

function notReady(path: string | null, why: string): SoftquotaError {
  const what = path === null ? 'the storage' : printable(path);
  return new SoftquotaError('not_ready', `${what} could not be looked up${why}`);
}
