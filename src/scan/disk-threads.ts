/**
 * The threads that look at disks, and the disks that do not answer them.
 *
 * Nobody can end a thread that waits for a disk. One that has not answered in time, or has made no progress
 * for long, is left behind, and recorded with the place where it waits until it has ended. Meanwhile no other
 * thread looks at the file system of that place. So what lies on all other disks is found out, however many
 * hang, and a disk blocks no further thread.
 *
 * Somebody waits for most questions: they have a deadline, and go to one thread after the other. A slow one
 * keeps no other waiting, and those for one file system never take all threads. An idle thread stays for a
 * while, since a thread takes longer to start than most questions to answer.
 */

import { SoftquotaError } from '../errors.ts';
import { DiskHangs, isWithin, type Mounts } from '../layout/index.ts';
import type { Log } from '../log.ts';
import { printable } from '../text/index.ts';
import { monotonic } from './shared.ts';
import { type Answered, type Asked, DiskThread, type Given, type OnPart } from './thread.ts';

/** A place at which a thread waits for a disk. */
interface Hang {
  readonly path: string;
  /** The mount point of its file system. */
  readonly mountedAt: string;
  /** Time that it has waited. */
  readonly milliseconds: number;
}

interface DiskThreadsOptions {
  readonly mounts: Mounts;
  /** After this time without progress a disk is taken not to answer. */
  readonly hungAfterMs: number;
  readonly log: Pick<Log, 'error' | 'warn'>;
  /** Called when a disk answers that was told not to. */
  readonly onAnswer: () => void;
  /** Number of walkers that may wait for the next batch. */
  readonly workers: number;
  /** The code of threads, where it is not that of this room. */
  readonly code?: Readonly<Partial<Record<ThreadName, URL | undefined>>>;
  /** Number of threads for questions with a deadline. */
  readonly most?: number;
  /** Milliseconds that an idle thread stays for the next question. */
  readonly restMs?: number;
}

/** A walker that has swept gives way to all else, so it answers no other questions. */
type ThreadName = 'io' | 'walker';

interface Patience<Ask extends Asked> {
  /** Called with each part of the answer, as it comes. */
  readonly part?: OnPart<Ask>;
  /** Aborted, it ends the question. */
  readonly signal?: AbortSignal;
}

interface LeftThread {
  readonly path: string;
  /** The time since which it waits, on the monotonic clock. */
  readonly since: number;
  /** It was asked a question with a deadline. */
  readonly isUrgent: boolean;
  isTold: boolean;
}

/** A question with a deadline. */
interface Urgent {
  /** The place in question; null: several. */
  readonly path: string | null;
  /** Has a thread answer; rejects where that failed or ended. */
  readonly put: (thread: DiskThread) => Promise<void>;
  readonly fail: (error: unknown) => void;
  thread: DiskThread | null;
  /** Others no longer wait for its answer. */
  isSlow: boolean;
}

const usualMost = 8;
const mostPackReaders = 4;
/** A thread takes some 10 MB, and a walker keeps the memory that its largest unit took. */
const usualRestMs = 60_000;
/** A thread without a question ends at once. */
const endMs = 1000;
/** A thread that has not answered after this time keeps no others waiting. */
const slowMs = 50;
/** Those who cannot wait keep away from a file system at which so many wait already, for however short. */
const mostImpatient = 2;
/** Number of disks that may hang one after the other before a question is given up. */
const mostHangs = 8;
const looksEach = 10;
const longestLookMs = 500;

/** Threads that read whole packs: on others, short questions about the same disk would wait for them. */
export function packThreads(parts: Pick<DiskThreadsOptions, 'hungAfterMs' | 'log' | 'mounts'>): DiskThreads {
  return new DiskThreads({ ...parts, workers: 0, most: mostPackReaders, onAnswer: () => {} });
}

export class DiskThreads {
  readonly #options: DiskThreadsOptions;
  /** All that have not ended. */
  readonly #threads = new Set<DiskThread>();
  readonly #idle = new Map<DiskThread, NodeJS.Timeout>();
  readonly #left = new Map<DiskThread, LeftThread>();
  readonly #queue = new Set<Urgent>();
  /** The questions with a deadline that threads are at. */
  readonly #begun = new Set<Urgent>();
  readonly #watch: NodeJS.Timeout;
  #isClosed = false;

  constructor(options: DiskThreadsOptions) {
    this.#options = options;
    const everyMs = Math.min(longestLookMs, options.hungAfterMs / looksEach);
    this.#watch = setInterval(() => this.#look(), everyMs).unref();
  }

  /**
   * Asks about a path, or about several where it is null. Rejects with `not_ready` where there is no answer
   * after `deadlineMs`, and at once where the disk is known not to answer.
   */
  async ask<Ask extends Asked>(
    ask: Ask,
    given: Given<Ask>,
    path: string | null,
    deadlineMs: number,
  ): Promise<Answered<Ask>> {
    if (this.#isClosed || this.hanging >= this.#most) throw notReady(path, ': the disk does not answer');
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
   * Asks, for as long as it takes; if a disk hangs, another thread is asked the same, which keeps away from
   * there, and what was found before is found again. Rejects with `internal`.
   */
  async askAround<Ask extends Asked>(
    ask: Ask,
    given: Given<Ask>,
    { part, signal }: Patience<Ask> = {},
  ): Promise<Answered<Ask>> {
    for (let attempt = 0; attempt < mostHangs; attempt++) {
      // A caller that was stopped may ask once more before it notices: no thread is started for it.
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
   * Gives a thread for questions to it. If it makes no progress for long the question is rejected with
   * `DiskHangs`, and the thread is not to be given back.
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

  /** The disks that do not answer, by the places where threads wait; the longest first. */
  hangs(): readonly Hang[] {
    const now = monotonic();
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

  /** The directories below which nobody is to look. */
  avoided(): readonly string[] {
    return this.#places(Number.POSITIVE_INFINITY);
  }

  /** Tells whether a thread was left behind that waits for the file system of a path. */
  isWaitedFor(path: string): boolean {
    return this.#leftAt(this.#placeOf(path)) > 0;
  }

  /** The place where a thread waits, if that is the reason not to walk what is at this path; else null. */
  waitingAt(path: string): string | null {
    const { mounts } = this.#options;
    const device = mounts.deviceOf(path);
    // One file system may be mounted at several places.
    const isReason = (at: string) => mounts.deviceOf(at) === device || isWithin(path, this.#placeOf(at));
    return this.#hung.find(thread => isReason(thread.path))?.path ?? null;
  }

  /** Rejects what waits, and ends all threads; gives how many hang in the system and had to be left. */
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

  /** Puts questions to threads, as long as there are both. */
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
        if (this.#isClosed || isWaitedFor || this.#begun.size + this.hanging >= this.#most) return;
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

  /** Leaves the threads behind that make no progress for long, and tells of the disks that they wait for. */
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

  /** Abandons a thread. If it waits for a disk it is recorded until it has ended, which it does then. */
  #leave(thread: DiskThread, isUrgent: boolean): void {
    const at = thread.at();
    void thread.close(0);
    if (at === null || at.path === '' || this.#left.has(thread)) return;
    const { path, milliseconds } = at;
    const left: LeftThread = { path, since: monotonic() - milliseconds, isUrgent, isTold: false };
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

  /** Those that have waited for long; a reported one in any case. */
  get #hung(): readonly LeftThread[] {
    const since = monotonic() - this.#options.hungAfterMs;
    return [...this.#left.values()].filter(thread => thread.isTold || thread.since <= since);
  }

  /** The places at which threads have waited for long, and those at which so many wait for however short. */
  #places(most: number): readonly string[] {
    const hung = new Set(this.#hung.map(({ path }) => this.#placeOf(path)));
    const left = new Set([...this.#left.values()].map(({ path }) => this.#placeOf(path)));
    return [...left].filter(place => hung.has(place) || this.#leftAt(place) >= most);
  }

  #leftAt(place: string): number {
    return [...this.#left.values()].filter(({ path }) => this.#placeOf(path) === place).length;
  }

  /** Number of questions that threads are at there now: others are for what lies elsewhere. */
  #askedAt(place: string): number {
    const paths = [...this.#begun].map(({ thread, path }) => thread?.at()?.path || (path ?? ''));
    return paths.filter(path => this.#placeOf(path) === place).length;
  }

  /** The directory below which all is on the file system of a path. */
  #placeOf(path: string): string {
    const place = this.#options.mounts.placeOf(path);
    // All other file systems are below this one.
    return place === '/' ? path : place;
  }

  #forgetIdle(thread: DiskThread): void {
    clearTimeout(this.#idle.get(thread));
    this.#idle.delete(thread);
  }
}

function secondsSince(since: number): number {
  return Math.round((monotonic() - since) / 1000);
}

function notReady(path: string | null, why: string): SoftquotaError {
  const what = path === null ? 'the storage' : printable(path);
  return new SoftquotaError('not_ready', `${what} could not be looked up${why}`);
}
