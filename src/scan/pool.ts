/**
 * The walkers: threads that stay, to which tasks are handed out in batches.
 *
 * Urgent tasks go before those of a sweep, and wait at most for the units that are being walked
 * at the moment. A walker that dies, out of memory for example, takes no other task with it: what it
 * had not answered is tried once more, each alone.
 */

import type { Worker } from 'node:worker_threads';
import type { Grounds, Task, TaskResult, WalkerReport, WalkerRequest, WalkerStart } from './messages.ts';
import { count, monotonic, newShared, type Shared, signal } from './shared.ts';
import { codeOf, endThread, startThread } from './thread.ts';

export interface Job {
  readonly task: Task;
  readonly urgency: 'soon' | 'sweep';
  /** Called when it is handed to a walker; more than once where it was handed back. */
  readonly begin?: () => void;
  /** Called once. */
  readonly done: (result: TaskResult, start: Start) => void;
}

/** When a task was handed out, which is never later than its walk began. */
export interface Start {
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly monotonicMs: number;
}

export interface PoolOptions {
  readonly size: number;
  /** Asked when a walker starts; null where the cache is not to be used. */
  readonly cacheFile: () => string | null;
  readonly code?: URL | undefined;
  /** What is walked; asked at each batch. */
  readonly grounds: () => Grounds;
  readonly knownBytes: (path: string) => number | undefined;
  readonly nextSeq: () => number;
  readonly warn: (details: object, message: string) => void;
}

/** A walker that is at something. */
export interface Busy {
  readonly path: string;
  /** How long it has been at it. */
  readonly milliseconds: number;
}

export interface Counts {
  readonly directories: number;
  readonly files: number;
  readonly bytes: number;
}

interface Entry {
  readonly job: Job;
  /** It was with a walker that died: it is tried alone. */
  readonly again: boolean;
}

interface Walker {
  readonly worker: Worker;
  readonly shared: Shared;
  /** What it has given no result for, by the id that it knows it by. */
  readonly batch: Map<number, Entry & { readonly start: Start }>;
  urgency: Job['urgency'] | null;
  /** What it had counted when its batch began. */
  countsBefore: Counts;
  /** Why it died. */
  fault: string | null;
}

const mostInBatch = 32;
/** So many walkers that die one after the other without a result are not the units' fault. */
const mostDeaths = 20;
const nothing: Counts = { directories: 0, files: 0, bytes: 0 };

export class Pool {
  readonly #options: PoolOptions;
  readonly #walkers = new Set<Walker>();
  readonly #waiting: Record<Job['urgency'], Entry[]> = { soon: [], sweep: [] };
  /** What was counted by batches of sweeps that are over. */
  #sweptBefore: Counts = nothing;
  #lastId = 0;
  /** Walkers that died since the last result. */
  #deaths = 0;
  #closed = false;
  #idle: (() => void) | null = null;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  add(job: Job): void {
    this.#put({ job, again: false });
    this.#handOut();
  }

  /** Ends what is waited for and walked by a sweep; each job gets `stopped`. */
  stopSweep(): void {
    this.#stop(['sweep']);
  }

  waiting(urgency: Job['urgency']): number {
    return this.#waiting[urgency].length;
  }

  busy(): Busy[] {
    const now = monotonic();
    return [...this.#walkers].flatMap(({ batch, shared }) => {
      const entry = batch.get(shared.counts[count.task] ?? 0);
      if (entry === undefined) return [];
      const milliseconds = Math.max(0, now - (shared.counts[count.since] ?? now));
      return [{ path: pathOf(entry.job.task), milliseconds }];
    });
  }

  /** All that sweeps have walked, up to this moment. */
  swept(): Counts {
    return [...this.#walkers].map(sweptBy).reduce(sumOf, this.#sweptBefore);
  }

  /** Stops walking, ends the threads, and gives how many of them hang in the system and had to be left. */
  async close(withinMs: number): Promise<number> {
    this.#closed = true;
    this.#stop(['soon', 'sweep']);
    if ([...this.#walkers].some(walker => walker.batch.size > 0)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#idle = resolve;
      const timer = setTimeout(resolve, withinMs);
      await promise;
      clearTimeout(timer);
    }
    const walkers = [...this.#walkers];
    for (const walker of walkers) send(walker, { type: 'close' });
    const ended = await Promise.all(walkers.map(walker => this.#ended(walker, withinMs)));
    return ended.filter(hasEnded => !hasEnded).length;
  }

  async #ended(walker: Walker, withinMs: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    walker.worker.once('exit', () => resolve(true));
    const timer = setTimeout(
      () => resolve(endThread(walker.worker, withinMs)),
      walker.batch.size > 0 ? 0 : withinMs,
    );
    const hasEnded = await promise;
    clearTimeout(timer);
    return hasEnded;
  }

  #put(entry: Entry): void {
    this.#waiting[entry.job.urgency].push(entry);
  }

  #stop(urgencies: readonly Job['urgency'][]): void {
    for (const urgency of urgencies) {
      const entries = this.#waiting[urgency].splice(0);
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
      this.#stop(['soon', 'sweep']);
      return;
    }
    for (;;) {
      const urgency = this.#waiting.soon.length > 0 ? 'soon' : 'sweep';
      if (this.#waiting[urgency].length === 0) return;
      const walker = this.#idleWalker();
      if (walker === null) {
        if (urgency === 'soon') this.#askForOne();
        return;
      }
      this.#give(walker, urgency, this.#nextBatch(urgency));
    }
  }

  #idleWalker(): Walker | null {
    for (const walker of this.#walkers) if (walker.urgency === null) return walker;
    return this.#walkers.size < this.#options.size ? this.#newWalker() : null;
  }

  /** The last ones first: which way a sweep goes does not matter, and what was handed back is there. */
  #nextBatch(urgency: Job['urgency']): Entry[] {
    const waiting = this.#waiting[urgency];
    if (urgency === 'soon') return waiting.splice(0, 1);
    const share = Math.min(mostInBatch, Math.ceil(waiting.length / (2 * this.#options.size)));
    const batch: Entry[] = [];
    for (let entry = waiting.at(-1); entry !== undefined && batch.length < share; entry = waiting.at(-1)) {
      if (entry.again && batch.length > 0) break;
      waiting.pop();
      batch.push(entry);
      if (entry.again) break;
    }
    return batch;
  }

  #give(walker: Walker, urgency: Job['urgency'], entries: readonly Entry[]): void {
    walker.urgency = urgency;
    walker.countsBefore = countsOf(walker.shared);
    const tasks = entries.map(entry => {
      this.#lastId += 1;
      walker.batch.set(this.#lastId, { ...entry, start: this.#start() });
      entry.job.begin?.();
      const { task } = entry.job;
      return { id: this.#lastId, task, knownBytes: this.#options.knownBytes(pathOf(task)) ?? null };
    });
    send(walker, { type: 'batch', grounds: this.#options.grounds(), tasks });
  }

  /** Asks one walker that is at a sweep to hand back what it has not begun. */
  #askForOne(): void {
    const sweeping = [...this.#walkers].filter(({ urgency }) => urgency === 'sweep');
    const isAsked = sweeping.filter(({ shared }) => Atomics.load(shared.signals, signal.yield) === 1).length;
    if (isAsked >= this.#waiting.soon.length) return;
    const next = sweeping.find(({ shared }) => Atomics.load(shared.signals, signal.yield) === 0);
    if (next !== undefined) Atomics.store(next.shared.signals, signal.yield, 1);
  }

  #newWalker(): Walker {
    const shared = newShared();
    const start: WalkerStart = { shared: shared.buffer, cacheFile: this.#options.cacheFile() };
    const worker = startThread(this.#options.code ?? codeOf('walker'), 'walker', start);
    const walker: Walker = {
      worker,
      shared,
      batch: new Map(),
      urgency: null,
      countsBefore: nothing,
      fault: null,
    };
    this.#walkers.add(walker);
    worker.on('message', (report: WalkerReport) => this.#hear(walker, report));
    worker.on('error', error => {
      walker.fault = error instanceof Error ? error.message : String(error);
    });
    worker.on('exit', code => this.#exited(walker, code));
    return walker;
  }

  #hear(walker: Walker, report: WalkerReport): void {
    switch (report.type) {
      case 'cache fault':
        this.#options.warn(
          { reason: report.why },
          'the scan cache could not be used; walks go on without it',
        );
        return;
      case 'results':
        this.#deaths = 0;
        for (const { id, result } of report.results) {
          const entry = walker.batch.get(id);
          walker.batch.delete(id);
          entry?.job.done(result, entry.start);
        }
        return;
      case 'idle': {
        const isStopped = Atomics.load(walker.shared.signals, signal.stop) === 1;
        this.#takeBack(walker, entry => {
          if (isStopped) entry.job.done({ outcome: 'stopped' }, entry.start);
          else this.#put({ job: entry.job, again: entry.again });
        });
        this.#handOut();
      }
    }
  }

  #exited(walker: Walker, code: number): void {
    this.#walkers.delete(walker);
    const why = walker.fault ?? `the thread ended with code ${code}`;
    if (walker.batch.size > 0 && !this.#closed) {
      const at = walker.batch.get(walker.shared.counts[count.task] ?? 0);
      this.#options.warn(
        { path: at === undefined ? null : pathOf(at.job.task), reason: why, units: walker.batch.size },
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
    for (const entries of Object.values(this.#waiting)) {
      for (const { job } of entries.splice(0)) job.done({ outcome: 'failed', why }, this.#start());
    }
  }

  #takeBack(walker: Walker, each: (entry: Entry & { readonly start: Start }) => void): void {
    const entries = [...walker.batch.values()];
    this.#sweptBefore = sumOf(this.#sweptBefore, sweptBy(walker));
    walker.batch.clear();
    walker.urgency = null;
    for (const which of Object.values(signal)) Atomics.store(walker.shared.signals, which, 0);
    for (const entry of entries) each(entry);
    if ([...this.#walkers].every(({ urgency }) => urgency === null)) this.#idle?.();
  }
}

function send(walker: Walker, request: WalkerRequest): void {
  walker.worker.postMessage(request);
}

export function pathOf(task: Task): string {
  return 'unit' in task ? task.unit.path : task.path;
}

function countsOf({ counts }: Shared): Counts {
  return {
    directories: counts[count.directories] ?? 0,
    files: counts[count.files] ?? 0,
    bytes: counts[count.bytes] ?? 0,
  };
}

/** What a walker has counted of the sweep's batch that it is at. */
function sweptBy({ urgency, shared, countsBefore }: Walker): Counts {
  if (urgency !== 'sweep') return nothing;
  const now = countsOf(shared);
  return {
    directories: now.directories - countsBefore.directories,
    files: now.files - countsBefore.files,
    bytes: now.bytes - countsBefore.bytes,
  };
}

function sumOf(a: Counts, b: Counts): Counts {
  return { directories: a.directories + b.directories, files: a.files + b.files, bytes: a.bytes + b.bytes };
}
