/**
 * The main thread's handle of a thread that reads disks. It takes one question at a time, and answers or
 * rejects it. While a disk hangs, it tells at which path.
 */

import { Worker } from 'node:worker_threads';
import { messageOf, SoftquotaError } from '../errors.ts';
import { entryUrl } from '../package.ts';
import { within } from '../turns.ts';
import type { IoWorkerReport, IoWorkerRequest, Parts, Tasks } from './io-worker.ts';
import { progressOf, type Shared, sharedMemory } from './shared.ts';

/** The name of a question to a thread. */
export type Asked = keyof Tasks;
export type Given<Ask extends Asked> = Parameters<Tasks[Ask]>;
export type Answered<Ask extends Asked> = ReturnType<Tasks[Ask]>;
/** Called with each part of an answer as it arrives. */
export type OnPart<Ask extends Asked> = (part: Ask extends keyof Parts ? Parts[Ask] : never) => void;

interface Open {
  readonly part: ((part: unknown) => void) | undefined;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A walker has a unit's directories in memory while it walks it: a million take some 200 MB. Beyond the limit
 * the thread ends, not the daemon.
 */
const resourceLimits = { maxOldGenerationSizeMb: 1024 };

export class DiskThread {
  readonly name: string;
  readonly shared: Shared = sharedMemory();
  /** Resolves once the thread has ended. */
  readonly ended: Promise<void>;
  readonly #thread: Worker;
  #open: Open | null = null;
  #end: string | null = null;

  constructor(name: string, code: URL = entryUrl('scan/io-worker')) {
    this.name = name;
    // The thread does not take over options of the process, such as a debugger's.
    this.#thread = new Worker(code, {
      name,
      workerData: this.shared.buffer,
      resourceLimits,
      execArgv: [],
    });
    this.#thread.on('message', (report: IoWorkerReport) => this.#hear(report));
    let fault: string | null = null;
    this.#thread.on('error', error => {
      fault = messageOf(error);
    });
    this.ended = new Promise(resolve => {
      this.#thread.on('exit', code => {
        this.#end = fault ?? `ended with code ${code}`;
        this.#fail(this.#end);
        resolve();
      });
    });
  }

  /**
   * Asks a question. Rejects with `internal` if the thread fails or ends. The thread reads nothing below the
   * directories in `avoided`.
   */
  ask<Ask extends Asked>(
    ask: Ask,
    given: Given<Ask>,
    avoided: readonly string[],
    part?: OnPart<Ask>,
  ): Promise<Answered<Ask>> {
    const { promise, resolve, reject } = Promise.withResolvers<Answered<Ask>>();
    // The casts are safe: an answer and its parts have the types of the open question.
    this.#open = { part: part as Open['part'], resolve: resolve as Open['resolve'], reject };
    if (this.#end !== null) this.#fail('has ended');
    const request: IoWorkerRequest = { ask, given, avoided };
    this.#thread.postMessage(request);
    return promise;
  }

  /** Why the thread has ended; null while it runs. */
  get end(): string | null {
    return this.#end;
  }

  /** The path that the thread last looked at, and the time since its last progress; null while it is idle. */
  at(): { readonly path: string; readonly milliseconds: number } | null {
    const { path, stuckMs } = progressOf(this.shared);
    return this.#end !== null || stuckMs === 0 ? null : { path, milliseconds: stuckMs };
  }

  /** Rejects the open question. */
  reject(error: Error): void {
    this.#open?.reject(error);
    this.#open = null;
  }

  /** Ends the thread. Returns false if it hangs in the system and had to be left. */
  async close(withinMs: number): Promise<boolean> {
    if (this.#end !== null) return true;
    this.#thread.unref();
    void this.#thread.terminate();
    await within(this.ended, withinMs, null);
    return this.#end !== null;
  }

  #hear(report: IoWorkerReport): void {
    switch (report.type) {
      case 'part':
        this.#open?.part?.(report.part);
        return;
      case 'answer':
        this.#open?.resolve(report.answer);
        this.#open = null;
        return;
      case 'failed':
        this.#fail(report.why);
    }
  }

  #fail(why: string): void {
    this.reject(new SoftquotaError('internal', `the thread ${this.name}: ${why}`));
  }
}
