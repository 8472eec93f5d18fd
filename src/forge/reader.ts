/**
 * Reads a forge's database, on a thread of its own that is started when it is needed first. Where that ends
 * unexpectedly, the reading under way is rejected, and the next one starts another.
 */

import { randomBytes } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { messageOf } from '../errors.ts';
import { entryUrl } from '../package.ts';
import { ForgeFault } from './fault.ts';
import type { LfsObject } from './lfs-objects.ts';
import type {
  Answer,
  Chunk,
  FaultText,
  LfsAnswer,
  ReadMode,
  ReadResult,
  Request,
  ThreadSettings,
} from './messages.ts';
import { repositoryHash } from './names.ts';
import type { ForgeSettings } from './settings.ts';

/** Figures are in typed arrays; rows live for one page. */
const limits = { maxYoungGenerationSizeMb: 16, maxOldGenerationSizeMb: 512 };

type Waiting = PromiseWithResolvers<Answer>;

export class ForgeReader {
  readonly #settings: ForgeSettings;
  readonly #seed = randomBytes(16).toString('hex');
  #worker: Worker | null = null;
  #waiting: Waiting | null = null;
  readonly #lfsWaiting = new Map<number, PromiseWithResolvers<LfsAnswer>>();
  #lastId = 0;
  #ended: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(settings: ForgeSettings) {
    this.#settings = settings;
  }

  /**
   * Reads what is new, or more by the mode. One reading at a time. Throws a `ForgeFault`; then the next one
   * connects again.
   */
  async *read(mode: ReadMode): AsyncGenerator<Chunk, ReadResult, void> {
    let answer = await this.#ask({ ask: 'read', mode });
    for (;;) {
      switch (answer.is) {
        case 'chunk':
          yield answer.chunk;
          answer = await this.#ask({ ask: 'more' });
          break;
        case 'done':
          return answer.result;
        case 'fault':
          throw faultOf(answer.fault);
      }
    }
  }

  /**
   * The largest LFS objects that no other repository has, beside a reading too; `name`: as for `hashOf`.
   * Throws a `ForgeFault`.
   */
  async lfsObjects(name: string): Promise<readonly LfsObject[]> {
    if (this.#isClosed) throw closed();
    const id = ++this.#lastId;
    const waiting = Promise.withResolvers<LfsAnswer>();
    this.#lfsWaiting.set(id, waiting);
    this.#started().postMessage({ ask: 'lfs', id, name: name.toLowerCase() } satisfies Request);
    const { found } = await waiting.promise.finally(() => this.#lfsWaiting.delete(id));
    if ('code' in found) throw faultOf(found);
    return found;
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
    await this.#ended;
  }

  #ask(request: Request): Promise<Answer> {
    if (this.#isClosed) return Promise.reject(closed());
    const waiting = Promise.withResolvers<Answer>();
    this.#waiting = waiting;
    this.#started().postMessage(request);
    return waiting.promise;
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
    worker.on('message', (answer: Answer | LfsAnswer) => {
      if (answer.is === 'lfs') this.#lfsWaiting.get(answer.id)?.resolve(answer);
      else this.#waiting?.resolve(answer);
    });
    this.#ended = new Promise(resolve => {
      worker.on('exit', () => {
        this.#worker = null;
        const why = cause === undefined ? '' : `: ${messageOf(cause)}`;
        this.#reject(
          new ForgeFault(
            'unreachable',
            `the thread that reads the forge has ended${why}`,
            'nothing: another one is started',
            {
              cause,
            },
          ),
        );
        resolve();
      });
    });
    return worker;
  }

  #reject(fault: ForgeFault): void {
    this.#waiting?.reject(fault);
    this.#waiting = null;
    for (const { reject } of this.#lfsWaiting.values()) reject(fault);
  }
}

function faultOf({ code, message, mend }: FaultText): ForgeFault {
  return new ForgeFault(code, message, mend);
}

function closed(): ForgeFault {
  return new ForgeFault('unreachable', 'the reader has been closed', 'nothing');
}
