/**
 * Reads a forge's database on its own thread, which starts when it is first needed. If the thread ends
 * unexpectedly, the current reading rejects, and the next one starts another thread.
 */

import { randomBytes } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { messageOf } from '../errors.ts';
import { entryUrl } from '../package.ts';
import { within } from '../turns.ts';
import { ForgeFault } from './database.ts';
import {
  type Answer,
  type Chunk,
  type ForgeOwner,
  type ForgeSettings,
  type LfsObject,
  type OwnerKey,
  type ReadMode,
  type Request,
  repositoryHash,
  type ThreadCalls,
  type ThreadSettings,
} from './messages.ts';

/** A million objects in memory take 250 MB; rows are in memory for one page only. */
const limits = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 1024 };

/** Milliseconds in which a thread ends that no disk blocks. */
const endMs = 3000;

export class ForgeReader {
  readonly #settings: ForgeSettings;
  readonly #seed = randomBytes(16).toString('hex');
  #worker: Worker | null = null;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;
  #isClosed = false;

  constructor(settings: ForgeSettings) {
    this.#settings = settings;
  }

  /**
   * Reads as `ThreadCalls` describes; one reading at a time. Throws a `ForgeFault`; the next reading
   * reconnects.
   */
  async *read(mode: ReadMode, known = new Float64Array()): AsyncGenerator<Chunk, void, void> {
    let chunk = await this.#call('read', mode, known);
    while (chunk !== null) {
      yield chunk;
      chunk = await this.#call('more');
    }
  }

  /**
   * Returns the largest LFS objects that no other repository has, also during a reading. Throws a
   * `ForgeFault`.
   */
  lfsObjects(name: string): Promise<readonly LfsObject[]> {
    return this.#call('lfsObjects', name.toLowerCase());
  }

  /** Returns the current owner in the forge, also during a reading. Throws a `ForgeFault`. */
  ownerBy(key: OwnerKey, value: number | string): Promise<ForgeOwner | null> {
    return this.#call('ownerBy', key, value);
  }

  /** Returns the hash that stands for the repository `owner/name` in readings. */
  hashOf(name: string): number {
    return repositoryHash(this.#seed, name.toLowerCase());
  }

  /**
   * Ends the thread, even if it waits for a database. Resolves with false if a disk that does not answer,
   * with a database in a file, keeps it from ending.
   */
  async close(): Promise<boolean> {
    this.#isClosed = true;
    this.#reject(closed());
    const ended = this.#worker?.terminate() ?? Promise.resolve(0);
    return (await within(ended, endMs, null)) !== null;
  }

  async #call<Name extends keyof ThreadCalls>(
    name: Name,
    ...args: Parameters<ThreadCalls[Name]>
  ): Promise<Awaited<ReturnType<ThreadCalls[Name]>>> {
    if (this.#isClosed) throw closed();
    const id = ++this.#lastId;
    // The thread answers a call with its result.
    const waiting = Promise.withResolvers<Awaited<ReturnType<ThreadCalls[Name]>>>();
    this.#waiting.set(id, waiting as PromiseWithResolvers<unknown>);
    this.#started().postMessage({ id, name, args } satisfies Request<Name>);
    return waiting.promise.finally(() => this.#waiting.delete(id));
  }

  #started(): Worker {
    if (this.#worker !== null) return this.#worker;
    const workerData: ThreadSettings = { settings: this.#settings, seed: this.#seed };
    const worker = new Worker(entryUrl('forge/worker'), {
      workerData,
      name: 'forge',
      resourceLimits: limits,
    });
    this.#worker = worker;
    let cause: unknown;
    worker.on('error', error => {
      cause = error;
    });
    worker.on('message', (answer: Answer) => {
      const waiting = this.#waiting.get(answer.id);
      if ('result' in answer) waiting?.resolve(answer.result);
      else waiting?.reject(new ForgeFault(answer.fault.code, answer.fault.message, answer.fault.mend));
    });
    worker.on('exit', () => {
      this.#worker = null;
      const why = cause === undefined ? '' : `: ${messageOf(cause)}`;
      const message = `the thread that reads the forge has ended${why}`;
      this.#reject(new ForgeFault('unreachable', message, 'nothing: another one is started', { cause }));
    });
    return worker;
  }

  #reject(fault: ForgeFault): void {
    for (const { reject } of this.#waiting.values()) reject(fault);
  }
}

function closed(): ForgeFault {
  return new ForgeFault('unreachable', 'the reader has been closed', 'nothing');
}
