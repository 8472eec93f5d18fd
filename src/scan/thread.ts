/**
 * A thread that looks at disks, seen from the one who asks: one question at a time, each answered or
 * rejected, unless a disk hangs. Then it can be seen where.
 */

import { Worker } from 'node:worker_threads';
import { messageOf, SoftquotaError } from '../errors.ts';
import { entryUrl } from '../package.ts';
import { within } from '../within.ts';
import type {
  IoWorkerReport,
  IoWorkerRequest,
  IoWorkerStart,
  PartOf,
  WorkerAnswers,
  WorkerQuestion,
} from './messages.ts';
import { lookedAt, newShared, type Shared, stuckMs } from './shared.ts';

type Asked = WorkerQuestion['ask'];

export type QuestionOf<Ask extends Asked> = Extract<WorkerQuestion, { readonly ask: Ask }>;

interface AskOptions<Ask extends Asked> {
  /** Called with each part of the answer, as it comes. */
  readonly part?: (part: PartOf<Ask>) => void;
  /** The directories below which nothing is looked at. */
  readonly avoided: readonly string[];
}

interface Open {
  readonly part: (part: PartOf<Asked>) => void;
  readonly resolve: (answer: WorkerAnswers[Asked]) => void;
  readonly reject: (error: SoftquotaError) => void;
}

/**
 * A unit's directories are all in memory until it is walked: a million take some 200 MB. Past the limit the
 * thread ends, and not the daemon.
 */
const resourceLimits = { maxOldGenerationSizeMb: 1024 };

export class DiskThread {
  readonly shared: Shared = newShared();
  /** Resolves once the thread has ended. */
  readonly ended: Promise<void>;
  readonly #name: string;
  readonly #thread: Worker;
  #open: Open | null = null;
  /** Why it has ended; null while it has not. */
  #end: string | null = null;

  constructor(name: string, code: URL = entryUrl('scan/io-worker')) {
    this.#name = name;
    const workerData: IoWorkerStart = { shared: this.shared.buffer };
    // Options that the process was started with, such as a debugger, are not for it.
    this.#thread = new Worker(code, { name, workerData, resourceLimits, execArgv: [] });
    this.#thread.on('message', (report: IoWorkerReport) => this.#hear(report));
    let fault: string | null = null;
    this.#thread.on('error', error => {
      fault = messageOf(error);
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#thread.on('exit', code => {
      this.#end = fault ?? `ended with code ${code}`;
      this.#reject(this.#end);
      resolve();
    });
  }

  /** Rejects with `internal` where the thread failed or ended. */
  ask<Ask extends Asked>(
    question: QuestionOf<Ask>,
    { part = () => {}, avoided }: AskOptions<Ask>,
  ): Promise<WorkerAnswers[Ask]> {
    const { promise, resolve, reject } = Promise.withResolvers<WorkerAnswers[Ask]>();
    // A thread answers what was asked: the answer and its parts are of the question's type.
    this.#open = { part: part as Open['part'], resolve: resolve as Open['resolve'], reject };
    if (this.#end !== null) this.#reject('has ended');
    const request: IoWorkerRequest = { question, avoided };
    this.#thread.postMessage(request);
    return promise;
  }

  /** Why it has ended; null while it has not. */
  get end(): string | null {
    return this.#end;
  }

  /** The place where it looks at the disk, and since how long; null while it has nothing to do. */
  at(): { readonly path: string; readonly milliseconds: number } | null {
    const milliseconds = this.#end === null ? stuckMs(this.shared) : 0;
    return milliseconds === 0 ? null : { path: lookedAt(this.shared), milliseconds };
  }

  /** Ends the thread; false where it hangs in the system and had to be left. */
  async close(withinMs: number): Promise<boolean> {
    if (this.#end !== null) return true;
    this.#thread.unref();
    const hasEnded = this.#thread.terminate().then(
      () => true,
      () => true,
    );
    return within(hasEnded, withinMs, false);
  }

  #hear(report: IoWorkerReport): void {
    switch (report.type) {
      case 'part':
        this.#open?.part(report.part);
        return;
      case 'answer':
        this.#open?.resolve(report.answer);
        this.#open = null;
        return;
      case 'failed':
        this.#reject(report.why);
    }
  }

  #reject(why: string): void {
    this.#open?.reject(new SoftquotaError('internal', `the thread ${this.#name}: ${why}`));
    this.#open = null;
  }
}

interface ThreadSupplyOptions {
  /** The name of each of its threads. */
  readonly name: string;
  readonly code?: URL | undefined;
  /** Number of threads that may wait for the next question. */
  readonly mostIdle: number;
  /** Milliseconds that they wait. */
  readonly restMs: number;
}

/** A thread without a question ends at once. */
const endMs = 1000;

/**
 * Threads that are asked one after the other: a thread takes longer to start than most questions to answer.
 */
export class ThreadSupply {
  readonly #options: ThreadSupplyOptions;
  /** All that have not ended. */
  readonly #threads = new Set<DiskThread>();
  readonly #idle = new Map<DiskThread, NodeJS.Timeout>();
  #isClosed = false;

  constructor(options: ThreadSupplyOptions) {
    this.#options = options;
  }

  take(): DiskThread {
    const [idle] = this.#idle.keys();
    if (idle !== undefined) {
      this.#forgetIdle(idle);
      return idle;
    }
    const thread = new DiskThread(this.#options.name, this.#options.code);
    this.#threads.add(thread);
    void thread.ended.then(() => {
      this.#threads.delete(thread);
      this.#forgetIdle(thread);
    });
    return thread;
  }

  /** Keeps a thread that has answered for the next question, for a while. */
  giveBack(thread: DiskThread): void {
    if (this.#isClosed || this.#idle.size >= this.#options.mostIdle) {
      void thread.close(endMs);
      return;
    }
    const rest = setTimeout(() => {
      this.#forgetIdle(thread);
      void thread.close(endMs);
    }, this.#options.restMs).unref();
    this.#idle.set(thread, rest);
  }

  /** Ends all threads; gives how many hang in the system and had to be left. */
  async close(withinMs: number): Promise<number> {
    this.#isClosed = true;
    for (const thread of this.#idle.keys()) this.#forgetIdle(thread);
    const ended = await Promise.all([...this.#threads].map(thread => thread.close(withinMs)));
    return ended.filter(hasEnded => !hasEnded).length;
  }

  #forgetIdle(thread: DiskThread): void {
    clearTimeout(this.#idle.get(thread));
    this.#idle.delete(thread);
  }
}
