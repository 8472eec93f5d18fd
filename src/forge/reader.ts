/**
 * Reads a forge's database, on a thread of its own that is started when it is needed first. Where that ends
 * unexpectedly, the reading under way is rejected, and the next one starts another.
 */

import { randomBytes } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { messageOf } from '../errors.ts';
import { entryUrl } from '../package.ts';
import { ForgeFault } from './database.ts';
import type { LfsObject } from './lfs-objects.ts';
import {
  type Answer,
  type Chunk,
  type ForgeOwner,
  type ForgeSettings,
  type Found,
  type OwnerKey,
  type Question,
  type ReadMode,
  type Request,
  repositoryHash,
  type ThreadSettings,
} from './messages.ts';

/** A million objects that are being counted take 250 MB; rows live for one page. */
const limits = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 1024 };

export class ForgeReader {
  readonly #settings: ForgeSettings;
  readonly #seed = randomBytes(16).toString('hex');
  #worker: Worker | null = null;
  readonly #waiting = new Map<number, PromiseWithResolvers<Found>>();
  #lastId = 0;
  #isClosed = false;

  constructor(settings: ForgeSettings) {
    this.#settings = settings;
  }

  /** Reads as a `Question` says, one at a time. Throws a `ForgeFault`; the next reconnects. */
  async *read(mode: ReadMode, known = new Float64Array()): AsyncGenerator<Chunk, void, void> {
    let found = await this.#ask({ ask: 'read', mode, known });
    while ('chunk' in found && found.chunk !== null) {
      yield found.chunk;
      found = await this.#ask({ ask: 'more' });
    }
  }

  /** The largest LFS objects that no other repository has, also during a reading. Throws a `ForgeFault`. */
  async lfsObjects(name: string): Promise<readonly LfsObject[]> {
    const found = await this.#ask({ ask: 'lfs', name: name.toLowerCase() });
    return 'objects' in found ? found.objects : [];
  }

  /** The owner as the forge has it now, also during a reading. Throws a `ForgeFault`. */
  async ownerBy(key: OwnerKey, value: number | string): Promise<ForgeOwner | null> {
    const found = await this.#ask({ ask: 'owner', key, value });
    return 'owner' in found ? found.owner : null;
  }

  /** The number by which readings know a repository; `name`: `owner/name`. */
  hashOf(name: string): number {
    return repositoryHash(this.#seed, name.toLowerCase());
  }

  /** Ends the thread, whatever it waits for. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#reject(closed());
    await this.#worker?.terminate();
  }

  async #ask(question: Question): Promise<Found> {
    if (this.#isClosed) throw closed();
    const id = ++this.#lastId;
    const waiting = Promise.withResolvers<Found>();
    this.#waiting.set(id, waiting);
    this.#started().postMessage({ id, question } satisfies Request);
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
      if ('found' in answer) waiting?.resolve(answer.found);
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
