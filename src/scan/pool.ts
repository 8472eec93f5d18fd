/**
 * The walkers: threads to which tasks are handed out in batches, and that end when there is nothing to walk
 * for a while.
 *
 * Urgent tasks go before those of a sweep, and wait at most for the units that are being walked at the
 * moment. A walker that dies, out of memory for example, takes no other task with it: what it had not
 * answered is tried once more, each alone.
 *
 * A walker that does not get on for a while is not counted, so that another one walks on other devices; its
 * own device gets no further walker until it answers. After `hungAfterMs` what waits for that device is told
 * so.
 */

import { messageOf } from '../errors.ts';
import type { Hangs } from './hangs.ts';
import type { ScanContext, Task, TaskResult, WalkerReport } from './messages.ts';
import { type Next, Queue, type Urgency, urgencies } from './queue.ts';
import {
  beginTask,
  type Counts,
  count,
  countsOf,
  lookedAt,
  monotonic,
  noCounts,
  signal,
  stuckMs,
  sumOf,
} from './shared.ts';
import { taskResult } from './unchanged.ts';
import {
  askOneToYield,
  type Busy,
  busyWith,
  hasWalkerEnded,
  type KnownUnits,
  numberedTask,
  pathOfTask,
  type Start,
  sendTask,
  startWalker,
  sweptBy,
  takeResults,
  type WalkerHandle,
} from './walker-handle.ts';

export interface WalkJob {
  readonly task: Task;
  readonly urgency: Urgency;
  /** Called when it is handed to a walker; more than once where it was handed back. */
  readonly begin?: () => void;
  /** Called once. */
  readonly done: (result: TaskResult, start: Start) => void;
}

interface PoolOptions extends KnownUnits {
  readonly size: number;
  /** Asked when a walker starts; null where the cache is not to be used. */
  readonly cacheFile: () => string | null;
  readonly code?: URL | undefined;
  /** The storage to walk; asked for each batch. */
  readonly context: () => ScanContext;
  readonly nextSeq: () => number;
  readonly hangs: Hangs;
  readonly hungAfterMs: number;
  /** Returns the device of a path, which identifies its disk. */
  readonly deviceOf: (path: string) => string;
  readonly warn: (details: object, message: string) => void;
  /** Milliseconds that walkers stay when there is nothing to walk; a minute unless given. */
  readonly restMs?: number;
}

interface Entry {
  readonly job: WalkJob;
  /** It was with a walker that died: it is tried alone. */
  readonly again: boolean;
}

/** Each batch is a message to a thread, and one back. */
const mostInBatch = 128;
/** A walker that has not got on for so long is not counted. */
const slowMs = 1000;
/** Number of walkers that may be left uncounted at a time. */
const mostUncounted = 16;
const looksEach = 10;
/** Number of walkers that die one after the other without a result, from which it is not the units' fault. */
const mostDeaths = 20;
const usualRestMs = 60_000;

export class Pool {
  readonly #options: PoolOptions;
  readonly #walkers = new Set<WalkerHandle<Entry>>();
  readonly #queue = new Queue<Entry>();
  /** Looks from time to time whether walkers get on, while there are walks. */
  #watch: NodeJS.Timeout | null = null;
  /** Runs while nothing is walked. */
  #rest: NodeJS.Timeout | null = null;
  /** The counts of finished batches of sweeps. */
  #sweptBefore: Counts = noCounts;
  #lastId = 0;
  /** Walkers that died since the last result. */
  #deaths = 0;
  #isToHandOut = false;
  #closed = false;
  #idle: (() => void) | null = null;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  add(job: WalkJob): void {
    const path = pathOfTask(job.task);
    const device = this.#options.deviceOf(path);
    const hung = this.#hungAt(device);
    const at = hung === null ? this.#options.hangs.waitingAt(path) : lookedAt(hung.shared);
    if (at !== null) {
      job.done({ outcome: 'hung', path: at }, this.#start());
      return;
    }
    this.#queue.put({ urgency: job.urgency, device }, { job, again: false });
    if (job.urgency === 'soon') this.#handOut();
    else this.#handOutTogether();
  }

  #hungAt(device: string): WalkerHandle<Entry> | null {
    for (const walker of this.#walkers)
      if (walker.release !== null && this.#stuckAt(walker) === device) return walker;
    return null;
  }

  /** A sweep adds hundreds at a time, of which the first batch is to have its share. */
  #handOutTogether(): void {
    if (this.#isToHandOut) return;
    this.#isToHandOut = true;
    queueMicrotask(() => {
      this.#isToHandOut = false;
      this.#handOut();
    });
  }

  /** Ends what is waited for and walked by a sweep; each job gets `stopped`. */
  stopSweep(): void {
    this.#stop(['sweep']);
  }

  waiting(urgency: Urgency): number {
    return this.#queue.count(urgency);
  }

  busy(): Busy[] {
    return [...this.#walkers].flatMap(busyWith);
  }

  /** All that sweeps have walked, up to this moment. */
  swept(): Counts {
    return [...this.#walkers].map(sweptBy).reduce(sumOf, this.#sweptBefore);
  }

  /** Stops walking, ends the threads, and gives how many of them hang in the system and had to be left. */
  async close(withinMs: number): Promise<number> {
    this.#closed = true;
    clearInterval(this.#watch ?? undefined);
    clearTimeout(this.#rest ?? undefined);
    this.#stop(urgencies);
    if (this.#busyOnes().some(({ release }) => release === null)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#idle = resolve;
      const timer = setTimeout(resolve, withinMs);
      await promise;
      clearTimeout(timer);
    }
    const walkers = [...this.#walkers];
    for (const walker of walkers) sendTask(walker, { type: 'close' });
    const ended = await Promise.all(walkers.map(walker => hasWalkerEnded(walker, withinMs)));
    return ended.filter(hasEnded => !hasEnded).length;
  }

  #put(entry: Entry): void {
    const { task, urgency } = entry.job;
    this.#queue.put({ urgency, device: this.#options.deviceOf(pathOfTask(task)) }, entry);
  }

  #stop(those: readonly Urgency[]): void {
    for (const urgency of those) {
      const entries = this.#queue.clear(urgency);
      for (const { job } of entries) job.done({ outcome: 'stopped' }, this.#start());
      for (const walker of this.#walkers) {
        if (walker.urgency === urgency) Atomics.store(walker.shared.signals, signal.stop, 1);
      }
    }
  }

  #start(): Start {
    return { seq: this.#options.nextSeq(), at: Date.now(), monotonicMs: monotonic() };
  }

  /** Gives tasks to idle walkers, as long as there are both. */
  #handOut(): void {
    if (this.#closed) {
      this.#stop(urgencies);
      return;
    }
    const { size } = this.#options;
    const share = (waiting: number): number => Math.min(mostInBatch, Math.ceil(waiting / (2 * size)));
    for (;;) {
      const stuck = new Set(this.#stuck().map(walker => this.#stuckAt(walker)));
      const next = this.#queue.next(
        device => !stuck.has(device),
        device => this.#busyOnes().filter(walker => walker.device === device).length,
      );
      if (next === null) return;
      const walker = this.#idleWalker();
      if (walker === null) {
        if (next.urgency === 'soon') askOneToYield(this.#walkers, this.#queue.count('soon'));
        return;
      }
      this.#give(
        walker,
        next,
        this.#queue.take(next, share, ({ again }) => again),
      );
    }
  }

  #idleWalker(): WalkerHandle<Entry> | null {
    const uncounted = Math.min(this.#stuck().length, mostUncounted);
    if (this.#busyOnes().length - uncounted >= this.#options.size) return null;
    return [...this.#walkers].find(({ urgency }) => urgency === null) ?? this.#newWalker();
  }

  #busyOnes(): WalkerHandle<Entry>[] {
    return [...this.#walkers].filter(({ urgency }) => urgency !== null);
  }

  /** The walkers that have not got on for a while. */
  #stuck(): WalkerHandle<Entry>[] {
    return this.#busyOnes().filter(({ shared }) => stuckMs(shared) >= slowMs);
  }

  /** The device that a stuck walker waits for: another one may be mounted inside of a unit. */
  #stuckAt({ shared, device }: WalkerHandle<Entry>): string {
    const path = lookedAt(shared);
    return path === '' ? device : this.#options.deviceOf(path);
  }

  /** Tells of the walkers that hang, and gives what they keep waiting to others. */
  #lookAfter(): void {
    const { hungAfterMs, hangs } = this.#options;
    for (const walker of this.#stuck()) {
      const milliseconds = stuckMs(walker.shared);
      if (walker.release !== null || milliseconds < hungAfterMs) continue;
      const at = walker.batch.get(walker.shared.counts[count.task] ?? 0);
      const path = lookedAt(walker.shared) || (at === undefined ? '' : pathOfTask(at.job.task));
      if (path === '') continue;
      walker.release = hangs.track(path, monotonic() - milliseconds);
      Atomics.store(walker.shared.signals, signal.stop, 1);
      const entries = [...walker.batch.values()];
      walker.batch.clear();
      for (const entry of entries) {
        if (entry === at) entry.job.done({ outcome: 'hung', path }, entry.start);
        else this.#put({ job: entry.job, again: entry.again });
      }
      this.#tellHung(this.#stuckAt(walker), path);
    }
    this.#handOut();
  }

  /** Tells those who wait for a device that it does not answer. */
  #tellHung(device: string, path: string): void {
    for (const urgency of urgencies) {
      for (const { job } of this.#queue.clear(urgency, device))
        job.done({ outcome: 'hung', path }, this.#start());
    }
  }

  #give(walker: WalkerHandle<Entry>, { urgency, device }: Next, entries: readonly Entry[]): void {
    clearTimeout(this.#rest ?? undefined);
    walker.urgency = urgency;
    walker.device = device;
    beginTask(walker.shared);
    const { hungAfterMs } = this.#options;
    const everyMs = Math.min(slowMs / 2, hungAfterMs / looksEach);
    this.#watch ??= setInterval(() => this.#lookAfter(), everyMs).unref();
    walker.countsBefore = countsOf(walker.shared);
    const tasks = entries.map(entry => {
      this.#lastId += 1;
      walker.batch.set(this.#lastId, { ...entry, start: this.#start() });
      entry.job.begin?.();
      return numberedTask(this.#lastId, entry.job.task, entry.again, this.#options);
    });
    sendTask(walker, {
      type: 'batch',
      context: this.#options.context(),
      tasks,
      avoided: this.#options.hangs.avoided(),
    });
  }

  #newWalker(): WalkerHandle<Entry> {
    const walker = startWalker<Entry>(this.#options.code, this.#options.cacheFile());
    const { worker } = walker;
    this.#walkers.add(walker);
    worker.on('message', (report: WalkerReport) => this.#hear(walker, report));
    worker.on('error', error => {
      walker.fault = messageOf(error);
    });
    worker.on('exit', code => this.#exited(walker, code));
    return walker;
  }

  #hear(walker: WalkerHandle<Entry>, report: WalkerReport): void {
    switch (report.type) {
      case 'cache fault':
        this.#options.warn(
          { reason: report.why },
          'the scan cache could not be used; walks go on without it',
        );
        return;
      case 'results': {
        this.#deaths = 0;
        const results = takeResults(walker, report);
        // It has its next batch before what it found is told, which takes a while.
        if (report.isLast) this.#free(walker);
        for (const { entry, result } of results)
          entry.job.done(taskResult(entry.job.task, result), entry.start);
      }
    }
  }

  #free(walker: WalkerHandle<Entry>): void {
    const isStopped = Atomics.load(walker.shared.signals, signal.stop) === 1;
    this.#takeBack(walker, entry => {
      if (isStopped) entry.job.done({ outcome: 'stopped' }, entry.start);
      else this.#put({ job: entry.job, again: entry.again });
    });
    this.#handOut();
    this.#letGo(walker);
  }

  /** Stops the extra walker when the stuck one has recovered. */
  #letGo(walker: WalkerHandle<Entry>): void {
    if (walker.urgency !== null || this.#walkers.size - this.#stuck().length <= this.#options.size) return;
    this.#end(walker);
  }

  #exited(walker: WalkerHandle<Entry>, code: number): void {
    if (!this.#walkers.delete(walker)) return;
    const why = walker.fault ?? `the thread ended with code ${code}`;
    if (walker.batch.size > 0 && !this.#closed) {
      const at = walker.batch.get(walker.shared.counts[count.task] ?? 0);
      this.#options.warn(
        { path: at === undefined ? null : pathOfTask(at.job.task), reason: why, units: walker.batch.size },
        'a walker died; what it had is walked again by another one',
      );
    }
    this.#deaths += 1;
    if (this.#deaths > mostDeaths) this.#giveUp(why);
    this.#takeBack(walker, entry => {
      if (this.#closed) entry.job.done({ outcome: 'stopped' }, entry.start);
      else if (entry.again) entry.job.done({ outcome: 'failed', why }, entry.start);
      else this.#put({ job: entry.job, again: true });
    });
    this.#handOut();
  }

  #giveUp(why: string): void {
    for (const urgency of urgencies) {
      for (const { job } of this.#queue.clear(urgency)) job.done({ outcome: 'failed', why }, this.#start());
    }
  }

  #takeBack(walker: WalkerHandle<Entry>, each: (entry: Entry & { readonly start: Start }) => void): void {
    const entries = [...walker.batch.values()];
    this.#sweptBefore = sumOf(this.#sweptBefore, sweptBy(walker));
    walker.batch.clear();
    walker.urgency = null;
    walker.release?.();
    walker.release = null;
    for (const which of Object.values(signal)) Atomics.store(walker.shared.signals, which, 0);
    for (const entry of entries) each(entry);
    if (this.#busyOnes().length > 0) return;
    clearInterval(this.#watch ?? undefined);
    this.#watch = null;
    this.#rest = setTimeout(() => this.#endIdle(), this.#options.restMs ?? usualRestMs).unref();
    this.#idle?.();
  }

  /** A walker keeps the memory that its largest unit took. */
  #endIdle(): void {
    for (const walker of [...this.#walkers].filter(({ urgency }) => urgency === null)) this.#end(walker);
  }

  #end(walker: WalkerHandle<Entry>): void {
    this.#walkers.delete(walker);
    sendTask(walker, { type: 'close' });
  }
}
