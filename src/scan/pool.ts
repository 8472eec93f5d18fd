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
import type { NumberedTask, Task, TaskResult, WalkReport } from './messages.ts';
import type { ScannerParts } from './options.ts';
import type { Start } from './outcome.ts';
import { type Next, Queue, type Urgency, urgencies } from './queue.ts';
import {
  beginTask,
  type Counts,
  count,
  countsOf,
  countsSince,
  lookedAt,
  monotonic,
  noCounts,
  signal,
  stuckMs,
  sumOf,
} from './shared.ts';
import { type DiskThread, ThreadSupply } from './thread.ts';
import { taskResult } from './unchanged.ts';
import { noPushes } from './unit-counts.ts';

export interface WalkJob {
  readonly task: Task;
  readonly urgency: Urgency;
  /** Called when it is handed to a walker; more than once where it was handed back. */
  readonly begin?: () => void;
  /** Called once. */
  readonly done: (result: TaskResult, start: Start, task: Task) => void;
}

/** A walker that is at something. */
export interface Busy {
  readonly path: string;
  /** Time that it has taken so far. */
  readonly milliseconds: number;
}

interface PoolOptions {
  /** Tells whether no signature may stand for a walk of a unit at present. */
  readonly isUnsettled: (path: string) => boolean;
  /** Milliseconds that walkers stay when there is nothing to walk; a minute unless given. */
  readonly restMs?: number;
}

interface Entry {
  readonly job: WalkJob;
  /** It was with a walker that died: it is tried alone. */
  readonly again: boolean;
}

/** A thread that is at a batch. */
interface Walker extends Next {
  readonly thread: DiskThread;
  /** The units without a result so far, by the id that the walker uses. */
  readonly batch: Map<number, Entry & { readonly start: Start }>;
  /** The counts of the thread when its batch began. */
  readonly countsBefore: Counts;
  /** Once it is told to hang: what is to be called when it has come back. */
  release: (() => void) | null;
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
  readonly #parts: ScannerParts;
  readonly #isUnsettled: PoolOptions['isUnsettled'];
  readonly #supply: ThreadSupply;
  readonly #walkers = new Set<Walker>();
  readonly #queue = new Queue<Entry>();
  /** Looks from time to time whether walkers get on, while there are walks. */
  #watch: NodeJS.Timeout | null = null;
  /** The counts of finished batches of sweeps. */
  #sweptBefore: Counts = noCounts;
  #lastId = 0;
  /** Walkers that died since the last result. */
  #deaths = 0;
  #isToHandOut = false;
  #closed = false;
  #idle: (() => void) | null = null;

  constructor(parts: ScannerParts, { isUnsettled, restMs = usualRestMs }: PoolOptions) {
    const { workers, walkerCode } = parts.options;
    this.#parts = parts;
    this.#isUnsettled = isUnsettled;
    // A walker keeps the memory that its largest unit took.
    this.#supply = new ThreadSupply({ name: 'walker', code: walkerCode, mostIdle: workers, restMs });
  }

  add(job: WalkJob): void {
    const { hangs, mounts } = this.#parts;
    const path = pathOfTask(job.task);
    const device = mounts.deviceOf(path);
    const hung = [...this.#walkers].find(
      walker => walker.release !== null && this.#stuckAt(walker) === device,
    );
    const at = hung === undefined ? hangs.waitingAt(path) : lookedAt(hung.thread.shared);
    if (at !== null) {
      job.done({ outcome: 'hung', path: at }, this.#start(), job.task);
      return;
    }
    this.#put({ job, again: false });
    if (job.urgency === 'soon') this.#handOut();
    else this.#handOutTogether();
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

  /** The units that walkers are at. */
  busy(): Busy[] {
    const now = monotonic();
    return [...this.#walkers].flatMap(walker => {
      const entry = this.#entryAt(walker);
      const since = walker.thread.shared.counts[count.since] ?? now;
      if (entry === undefined) return [];
      return [{ path: pathOfTask(entry.job.task), milliseconds: Math.max(0, now - since) }];
    });
  }

  /** All that sweeps have walked, up to this moment. */
  swept(): Counts {
    return [...this.#walkers].map(sweptBy).reduce(sumOf, this.#sweptBefore);
  }

  /** Stops walking, ends the threads, and gives how many of them hang in the system and had to be left. */
  async close(withinMs: number): Promise<number> {
    this.#closed = true;
    clearInterval(this.#watch ?? undefined);
    this.#stop(urgencies);
    if ([...this.#walkers].some(({ release }) => release === null)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#idle = resolve;
      const timer = setTimeout(resolve, withinMs);
      await promise;
      clearTimeout(timer);
    }
    return this.#supply.close(withinMs);
  }

  #put(entry: Entry): void {
    const { task, urgency } = entry.job;
    this.#queue.put({ urgency, device: this.#parts.mounts.deviceOf(pathOfTask(task)) }, entry);
  }

  /** Takes out of the queue what waits, and tells each that it is not walked. */
  #refuse(result: TaskResult, those: readonly Urgency[], device?: string): void {
    const start = this.#start();
    for (const urgency of those)
      for (const { job } of this.#queue.clear(urgency, device)) job.done(result, start, job.task);
  }

  #stop(those: readonly Urgency[]): void {
    this.#refuse({ outcome: 'stopped' }, those);
    for (const { urgency, thread } of this.#walkers)
      if (those.includes(urgency)) Atomics.store(thread.shared.signals, signal.stop, 1);
  }

  #start(): Start {
    return { seq: this.#parts.options.nextSeq(), at: Date.now(), monotonicMs: monotonic() };
  }

  /** Gives tasks to idle walkers, as long as there are both. */
  #handOut(): void {
    if (this.#closed) {
      this.#stop(urgencies);
      return;
    }
    const { workers } = this.#parts.options;
    const share = (waiting: number): number => Math.min(mostInBatch, Math.ceil(waiting / (2 * workers)));
    for (;;) {
      const stuck = new Set(this.#stuck().map(walker => this.#stuckAt(walker)));
      const next = this.#queue.next(
        device => !stuck.has(device),
        device => [...this.#walkers].filter(walker => walker.device === device).length,
      );
      if (next === null) return;
      if (this.#walkers.size - Math.min(this.#stuck().length, mostUncounted) >= workers) {
        if (next.urgency === 'soon') this.#askOneToYield();
        return;
      }
      const entries = this.#queue.take(next, share, ({ again }) => again);
      void this.#walk(next, entries);
    }
  }

  /** Asks a walker of a sweep to hand back what it has not begun, unless one is asked for each that waits. */
  #askOneToYield(): void {
    const sweeping = [...this.#walkers].filter(({ urgency }) => urgency === 'sweep');
    const all = sweeping.map(({ thread }) => thread.shared.signals);
    const free = all.filter(signals => Atomics.load(signals, signal.yield) === 0);
    const [next] = free;
    const isEnough = all.length - free.length >= this.#queue.count('soon');
    if (next !== undefined && !isEnough) Atomics.store(next, signal.yield, 1);
  }

  /** The walkers that have not got on for a while. */
  #stuck(): Walker[] {
    return [...this.#walkers].filter(({ thread }) => stuckMs(thread.shared) >= slowMs);
  }

  /** The device that a stuck walker waits for: another one may be mounted inside of a unit. */
  #stuckAt({ thread, device }: Walker): string {
    const path = lookedAt(thread.shared);
    return path === '' ? device : this.#parts.mounts.deviceOf(path);
  }

  #entryAt({ batch, thread }: Walker): (Entry & { readonly start: Start }) | undefined {
    return batch.get(thread.shared.counts[count.task] ?? 0);
  }

  /** Tells of the walkers that hang, and gives what they keep waiting to others. */
  #lookAfter(): void {
    const { hungAfterMs, hangs } = this.#parts;
    for (const walker of this.#stuck()) {
      const { shared } = walker.thread;
      const milliseconds = stuckMs(shared);
      if (walker.release !== null || milliseconds < hungAfterMs) continue;
      const at = this.#entryAt(walker);
      const path = lookedAt(shared) || (at === undefined ? '' : pathOfTask(at.job.task));
      if (path === '') continue;
      walker.release = hangs.track(path, monotonic() - milliseconds);
      Atomics.store(shared.signals, signal.stop, 1);
      const entries = [...walker.batch.values()];
      walker.batch.clear();
      for (const entry of entries) {
        if (entry === at) entry.job.done({ outcome: 'hung', path }, entry.start, entry.job.task);
        else this.#put({ job: entry.job, again: entry.again });
      }
      this.#refuse({ outcome: 'hung', path }, urgencies, this.#stuckAt(walker));
    }
    this.#handOut();
  }

  /** Has a thread walk a batch; what it gives no result for is handed out again. */
  async #walk({ urgency, device }: Next, entries: readonly Entry[]): Promise<void> {
    const { context, cacheFile, hangs, hungAfterMs } = this.#parts;
    const thread = this.#supply.take();
    const countsBefore = countsOf(thread.shared);
    const walker: Walker = { thread, urgency, device, batch: new Map(), countsBefore, release: null };
    this.#walkers.add(walker);
    beginTask(thread.shared);
    const everyMs = Math.min(slowMs / 2, hungAfterMs / looksEach);
    this.#watch ??= setInterval(() => this.#lookAfter(), everyMs).unref();
    const tasks = entries.map(entry => {
      this.#lastId += 1;
      walker.batch.set(this.#lastId, { ...entry, start: this.#start() });
      entry.job.begin?.();
      return this.#numbered(this.#lastId, entry.job.task);
    });
    const question = { ask: 'walk', context: context(), cacheFile: cacheFile(), tasks } as const;
    const part = (report: WalkReport): void => this.#take(walker, report);
    let last: WalkReport;
    try {
      last = await thread.ask(question, { part, avoided: hangs.avoided() });
    } catch (error) {
      this.#died(walker, messageOf(error));
      return;
    }
    // It has its next batch before what it found is told, which takes a while.
    const tell = this.#taken(walker, last);
    this.#free(walker);
    tell();
  }

  #numbered(id: number, task: Task): NumberedTask {
    const { options, mounts } = this.#parts;
    const { knownBytes, pushes = noPushes } = options;
    const path = pathOfTask(task);
    return {
      id,
      task,
      knownBytes: knownBytes(path) ?? null,
      trustsSignature: 'unit' in task && task.trustsSignature && !this.#isUnsettled(path),
      hasOwnTimes: mounts.isLocal(path),
      quarantines: pushes.listed(path),
    };
  }

  #take(walker: Walker, report: WalkReport): void {
    this.#taken(walker, report)();
  }

  /** Takes out of a batch what has a result, and returns what tells it. */
  #taken({ batch }: Walker, { results, cacheFaults }: WalkReport): () => void {
    this.#deaths = 0;
    for (const reason of cacheFaults)
      this.#parts.options.log.warn({ reason }, 'the scan cache could not be used; walks go on without it');
    const taken = results.flatMap(([id, result]) => {
      const entry = batch.get(id);
      batch.delete(id);
      return entry === undefined ? [] : [{ entry, result }];
    });
    return () => {
      for (const { entry, result } of taken) {
        const { task, done } = entry.job;
        done(taskResult(task, result), entry.start, task);
      }
    };
  }

  #free(walker: Walker): void {
    const isStopped = Atomics.load(walker.thread.shared.signals, signal.stop) === 1;
    this.#supply.giveBack(walker.thread);
    this.#takeBack(walker, ({ job, again, start }) => {
      if (isStopped) job.done({ outcome: 'stopped' }, start, job.task);
      else this.#put({ job, again });
    });
    this.#handOut();
  }

  /** A thread that could not do what it was asked may still live. */
  #died(walker: Walker, reason: string): void {
    const { thread } = walker;
    const why = thread.end === null ? reason : `the thread ${thread.end}`;
    void thread.close(0);
    if (walker.batch.size > 0 && !this.#closed) {
      const at = this.#entryAt(walker);
      this.#parts.options.log.warn(
        { path: at === undefined ? null : pathOfTask(at.job.task), reason: why, units: walker.batch.size },
        'a walker died; what it had is walked again by another one',
      );
    }
    this.#deaths += 1;
    if (this.#deaths > mostDeaths) this.#refuse({ outcome: 'failed', why }, urgencies);
    this.#takeBack(walker, ({ job, again, start }) => {
      if (this.#closed) job.done({ outcome: 'stopped' }, start, job.task);
      else if (again) job.done({ outcome: 'failed', why }, start, job.task);
      else this.#put({ job, again: true });
    });
    this.#handOut();
  }

  #takeBack(walker: Walker, each: (entry: Entry & { readonly start: Start }) => void): void {
    this.#sweptBefore = sumOf(this.#sweptBefore, sweptBy(walker));
    this.#walkers.delete(walker);
    walker.release?.();
    for (const which of Object.values(signal)) Atomics.store(walker.thread.shared.signals, which, 0);
    for (const entry of walker.batch.values()) each(entry);
    if (this.#walkers.size > 0) return;
    clearInterval(this.#watch ?? undefined);
    this.#watch = null;
    this.#idle?.();
  }
}

export function pathOfTask(task: Task): string {
  return 'unit' in task ? task.unit.path : task.path;
}

/** The counts of a walker for its batch of a sweep. */
function sweptBy({ urgency, thread, countsBefore }: Walker): Counts {
  return urgency === 'sweep' ? countsSince(countsBefore, countsOf(thread.shared)) : noCounts;
}
