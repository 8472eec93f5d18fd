/**
 * The walkers: threads that get tasks in batches, each for a moment's work.
 *
 * Urgent tasks go before those of a sweep, and wait at most for the current batches. If a walker dies, out of
 * memory for example, no other task is lost: the unit that it was at is tried once more, and the unanswered
 * rest of its batch is handed out again.
 *
 * A walker without progress for a while is not counted, so that another one walks on other devices; its own
 * device gets no further walker until it answers. Once its disk counts as hanging, the tasks that wait for
 * that device end as `hung`.
 */

import { messageOf } from '../errors.ts';
import { DiskHangs } from '../layout/index.ts';
import { inSlices } from '../turns.ts';
import type { ScannerParts } from './disk-threads.ts';
import { beginTask, progressOf } from './shared.ts';
import type { Start, Task, TaskResult, WalkTerms } from './task.ts';
import type { Answered, DiskThread } from './thread.ts';

type Urgency = 'soon' | 'sweep';

export interface WalkJob {
  readonly task: Task;
  readonly urgency: Urgency;
  /** Called each time that the task is handed to a walker; again if it was handed back. */
  readonly begin?: () => void;
  /** Called once. */
  readonly done: (result: TaskResult, start: Start, task: Task) => void;
}

interface Entry {
  readonly job: WalkJob;
  /** A walker died at it: it is not tried a third time. */
  readonly again: boolean;
}

type StartedEntry = Entry & { readonly start: Start };

/** Tasks of one urgency on one device. */
interface Kind {
  readonly urgency: Urgency;
  readonly device: string;
}

/** A thread with its batch. */
interface Walker extends Kind {
  readonly thread: DiskThread;
  /** Emptied once all its tasks are ended or handed back. */
  readonly batch: StartedEntry[];
}

const stopped = { outcome: 'stopped' } as const;
const urgencies = ['soon', 'sweep'] as const satisfies readonly Urgency[];
/** Limit of tasks in a batch, which takes a message to a thread and one back. */
const mostInBatch = 128;
/** Time without progress after which a walker is not counted. */
const slowMs = 1000;
/** Number of walkers that may be left uncounted at a time. */
const mostUncounted = 16;
/**
 * Number of deaths of walkers without a result in between above which all waiting tasks fail: the units are
 * not at fault.
 */
const mostDeaths = 20;

export class Pool {
  readonly #parts: ScannerParts;
  readonly #isUnsettled: (path: string) => boolean;
  readonly #walkers = new Set<Walker>();
  /** The entries that wait, by the device of each unit. */
  readonly #waiting: Readonly<Record<Urgency, Map<string, Entry[]>>> = { soon: new Map(), sweep: new Map() };
  /** Hands out tasks from time to time, while there are walks, in case a walker makes no progress. */
  #watch: NodeJS.Timeout | null = null;
  #isThreadMissed = false;
  /** Walkers that died since the last result. */
  #deaths = 0;
  #isPriorityTold = false;
  #isToHandOut = false;
  #closed = false;

  /** `isUnsettled`: tells whether no signature may replace a walk of a unit at present. */
  constructor(parts: ScannerParts, isUnsettled: (path: string) => boolean) {
    this.#parts = parts;
    this.#isUnsettled = isUnsettled;
  }

  add(job: WalkJob): void {
    const at = this.#parts.threads.waitingAt(pathOfTask(job.task));
    if (at !== null) {
      job.done({ outcome: 'hung', path: at }, this.#start(), job.task);
      return;
    }
    this.#put({ job, again: false });
    if (this.#isToHandOut) return;
    // Hands out once all tasks of this turn are here, so that the first batch of a sweep gets a fair share.
    this.#isToHandOut = true;
    queueMicrotask(() => {
      this.#isToHandOut = false;
      this.#handOut();
    });
  }

  /** Ends the tasks of a sweep, waiting or being walked, as `stopped`. */
  stopSweep(): void {
    this.#stop(['sweep']);
  }

  waiting(urgency: Urgency): number {
    return [...this.#waiting[urgency].values()].reduce((sum, { length }) => sum + length, 0);
  }

  /** The units that are being walked, and the time that each has taken so far. */
  busy() {
    return [...this.#walkers].flatMap(({ batch, thread }) => {
      const { unit, walkedMs } = progressOf(thread.shared);
      const entry = batch[unit - 1];
      return entry === undefined ? [] : [{ path: pathOfTask(entry.job.task), milliseconds: walkedMs }];
    });
  }

  /** Ends all tasks as `stopped`. The threads are ended by their owner. */
  close(): void {
    this.#closed = true;
    this.#stop(urgencies);
  }

  #put(entry: Entry): void {
    const { task, urgency } = entry.job;
    const device = this.#parts.mounts.deviceOf(pathOfTask(task));
    const entries = this.#waiting[urgency].get(device);
    if (entries === undefined) this.#waiting[urgency].set(device, [entry]);
    else entries.push(entry);
  }

  /** Ends all waiting tasks, or only those on one device, with this result, in slices. */
  async #refuse(result: TaskResult, those: readonly Urgency[], device?: string): Promise<void> {
    const start = this.#start();
    const entries = those.flatMap(urgency => {
      const waiting = this.#waiting[urgency];
      const devices = device === undefined ? [...waiting.keys()] : [device];
      const found = devices.flatMap(each => waiting.get(each) ?? []);
      for (const each of devices) waiting.delete(each);
      return found;
    });
    await inSlices(entries, ({ job }) => {
      // Nobody takes another result once this is closed.
      job.done(this.#closed ? stopped : result, start, job.task);
    });
  }

  #stop(those: readonly Urgency[]): void {
    void this.#refuse(stopped, those);
    for (const walker of [...this.#walkers]) {
      if (!those.includes(walker.urgency)) continue;
      void walker.thread.close(0);
      for (const { job, start } of this.#end(walker)) job.done(stopped, start, job.task);
    }
  }

  #start(): Start {
    return { seq: this.#parts.options.figures.nextSeq(), at: Date.now(), monotonicMs: performance.now() };
  }

  /** Hands out tasks, as long as there are free walkers. */
  #handOut(): void {
    if (this.#closed) {
      this.#stop(urgencies);
      return;
    }
    const { workers } = this.#parts.options;
    for (;;) {
      const stuck = [...this.#walkers].filter(({ thread }) => progressOf(thread.shared).stuckMs >= slowMs);
      const devices = new Set(stuck.map(walker => this.#deviceAt(walker)));
      if (this.#walkers.size - Math.min(stuck.length, mostUncounted) >= workers) return;
      const next = this.#next(devices);
      if (next === null) return;
      const thread = this.#thread();
      if (thread === null) return;
      void this.#walk(next, thread, this.#take(next));
    }
  }

  /** Returns a thread for a walker; null: the system gives none now, and is asked again in a moment. */
  #thread(): DiskThread | null {
    const { threads, options } = this.#parts;
    this.#watch ??= setInterval(() => this.#handOut(), slowMs / 2).unref();
    try {
      const thread = threads.take('walker');
      this.#isThreadMissed = false;
      return thread;
    } catch (error) {
      if (!this.#isThreadMissed) options.log.warn({ err: error }, 'no thread can be started: walks wait');
      this.#isThreadMissed = true;
      return null;
    }
  }

  /**
   * Picks the next tasks: urgent ones before all others, and of several devices the one with the fewest
   * walkers.
   */
  #next(closed: ReadonlySet<string>): Kind | null {
    const walkersAt = (device: string): number =>
      [...this.#walkers].filter(walker => walker.device === device).length;
    for (const urgency of urgencies) {
      const open = [...this.#waiting[urgency].keys()].filter(device => !closed.has(device));
      const [device] = open.sort((one, other) => walkersAt(one) - walkersAt(other));
      if (device !== undefined) return { urgency, device };
    }
    return null;
  }

  /**
   * Takes a batch: the first urgent entry, or a share of a sweep's. The latter comes from the end, where
   * those are that were handed back; the order of a sweep does not matter.
   */
  #take({ urgency, device }: Kind): Entry[] {
    const waiting = this.#waiting[urgency].get(device) ?? [];
    const share = Math.ceil(waiting.length / (2 * this.#parts.options.workers));
    const batch =
      urgency === 'soon' ? waiting.splice(0, 1) : waiting.splice(-Math.min(mostInBatch, share)).reverse();
    if (waiting.length === 0) this.#waiting[urgency].delete(device);
    return batch;
  }

  /** The device that a walker is reading: another one may be mounted inside of a unit. */
  #deviceAt({ thread, device }: Walker): string {
    const { path } = progressOf(thread.shared);
    return path === '' ? device : this.#parts.mounts.deviceOf(path);
  }

  /** Has a thread walk a batch for a moment. Tasks without a result are handed out again. */
  async #walk(kind: Kind, thread: DiskThread, entries: readonly Entry[]): Promise<void> {
    const { context, cacheFile, threads } = this.#parts;
    const batch = entries.map(entry => ({ ...entry, start: this.#start() }));
    const walker: Walker = { ...kind, thread, batch };
    this.#walkers.add(walker);
    beginTask(thread.shared);
    for (const { job } of batch) job.begin?.();
    const tasks = batch.map(({ job }) => ({ task: job.task, ...this.#termsOf(job.task) }));
    const walked = await thread
      .ask('walk', [tasks, context(), cacheFile()], threads.avoided())
      .catch((error: unknown) => {
        if (error instanceof DiskHangs) this.#hung(walker, error.path);
        else this.#died(walker, messageOf(error));
        return null;
      });
    // The answer of a walker that was stopped may still come.
    if (walked !== null && this.#walkers.has(walker)) this.#walked(walker, walked);
    this.#handOut();
  }

  #termsOf(task: Task): WalkTerms {
    const { options, mounts } = this.#parts;
    const { figures } = options;
    const path = pathOfTask(task);
    return {
      knownBytes: figures.knownBytes(path) ?? null,
      trustsSignature: 'unit' in task && task.trustsSignature && !this.#isUnsettled(path),
      hasOwnTimes: mounts.isLocal(path),
      quarantines: figures.pushes.listed(path),
    };
  }

  #walked(walker: Walker, { results, cacheFaults, priorityFault }: Answered<'walk'>): void {
    const { threads, options } = this.#parts;
    const batch = this.#end(walker);
    threads.giveBack(walker.thread);
    this.#deaths = 0;
    for (const reason of cacheFaults)
      options.log.warn({ reason }, 'the scan cache could not be used; walks go on without it');
    if (priorityFault !== null && !this.#isPriorityTold) {
      // The log has one line for all threads.
      this.#isPriorityTold = true;
      options.log.warn(
        { reason: priorityFault },
        'walks have the priority of the daemon: it cannot be lowered',
      );
    }
    for (const entry of batch.slice(results.length)) this.#put(entry);
    // The thread gets its next batch before the results are reported, which takes a while.
    this.#handOut();
    for (const [index, result] of results.entries()) {
      const entry = batch[index];
      entry?.job.done(result, entry.start, entry.job.task);
    }
  }

  #hung(walker: Walker, path: string): void {
    const at = entryAt(walker);
    for (const entry of this.#end(walker)) {
      if (entry === at) entry.job.done({ outcome: 'hung', path }, entry.start, entry.job.task);
      else this.#put(entry);
    }
    void this.#refuse({ outcome: 'hung', path }, urgencies, this.#deviceAt(walker));
  }

  /** Handles a walker that failed; its thread may still be alive. */
  #died(walker: Walker, reason: string): void {
    const { thread } = walker;
    const why = thread.end === null ? reason : `the thread ${thread.end}`;
    void thread.close(0);
    const at = entryAt(walker);
    const batch = this.#end(walker);
    if (batch.length === 0) return;
    this.#parts.options.log.warn(
      { path: at === undefined ? null : pathOfTask(at.job.task), reason: why, units: batch.length },
      'a walker died; what it had is walked again by another one',
    );
    this.#deaths += 1;
    const isHopeless = this.#deaths > mostDeaths;
    if (isHopeless) void this.#refuse({ outcome: 'failed', why }, urgencies);
    for (const entry of batch) {
      const { job, again, start } = entry;
      if (isHopeless || (entry === at && again)) job.done({ outcome: 'failed', why }, start, job.task);
      else this.#put({ job, again: again || entry === at });
    }
  }

  /** Removes a walker, and returns its batch. */
  #end(walker: Walker): readonly StartedEntry[] {
    this.#walkers.delete(walker);
    if (this.#walkers.size === 0) {
      clearInterval(this.#watch ?? undefined);
      this.#watch = null;
    }
    return walker.batch.splice(0);
  }
}

export function pathOfTask(task: Task): string {
  return 'unit' in task ? task.unit.path : task.path;
}

function entryAt({ batch, thread }: Walker): StartedEntry | undefined {
  return batch[progressOf(thread.shared).unit - 1];
}
