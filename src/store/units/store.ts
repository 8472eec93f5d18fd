/**
 * The sets that sources put, seen from the outside. A thread of its own makes and reads them, started when it
 * is needed first. Where it ends unexpectedly, what it had not answered is rejected with `store_away`, and
 * the next request starts another.
 */

import { readdirSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { messageOf, SoftquotaError, systemCode } from '../../errors.ts';
import { entryUrl } from '../../package.ts';
import type { LargeUnit } from '../record-store.ts';
import { away } from '../sqlite/faults.ts';
import { errorOf } from '../sqlite/messages.ts';
import type {
  KeptSet,
  LostSet,
  UnitQuery,
  UnitSetRecord,
  UnitSetWriter,
  UnitSourceStore,
  UnitSum,
} from '../unit-sources.ts';
import { setFile } from './files.ts';
import type { Answer, Chunk, Question, Request, ThreadSettings } from './messages.ts';

/** The thread ends when nothing was asked of it for so long: what it used of memory is free again. */
const idleMs = 10_000;
/** Most of what a thread uses lives for one line, and what it keeps is no heap of JavaScript's. */
const limits = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 256 };

/** Source and compiled code lie side by side in the same way; only the endings differ. */

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  readonly onChunk: (chunk: Chunk) => void;
}

export function openUnitSources(settings: ThreadSettings): UnitSourceStore {
  return new UnitSetStore(settings);
}

class UnitSetStore implements UnitSourceStore {
  readonly #settings: ThreadSettings;
  readonly #waiting = new Map<number, Waiting>();
  /** Null while there is nothing to do. */
  #worker: Worker | null = null;
  /** Resolves when all threads that were started have ended. */
  #ended: Promise<void> = Promise.resolve();
  /** Numbers of sets that are being made. */
  readonly #writers = new Set<number>();
  #idle: NodeJS.Timeout | null = null;
  /** By file. */
  readonly #lost = new Map<string, LostSet>();
  #isClosed = false;
  #lastId = 0;

  constructor(settings: ThreadSettings) {
    this.#settings = settings;
  }

  get lost(): readonly LostSet[] {
    return [...this.#lost.values()];
  }

  isLost(source: string): boolean {
    return this.#lost.has(setFile(this.#settings.directory, source));
  }

  async load(): Promise<readonly KeptSet[]> {
    const sets: { set: UnitSetRecord; sums: UnitSum[] }[] = [];
    // Most have no sources, and need no thread.
    if (isMissing(this.#settings.directory)) return sets;
    await this.#ask({ ask: 'load' }, chunk => {
      if ('set' in chunk) sets.push({ set: chunk.set, sums: [] });
      else if ('lost' in chunk) {
        if (chunk.isBegun) sets.pop();
        this.#lost.set(chunk.lost.file, chunk.lost);
      } else if ('sums' in chunk) sets.at(-1)?.sums.push(...chunk.sums);
    });
    return sets;
  }

  async begin(source: string): Promise<UnitSetWriter> {
    const writer = ++this.#lastId;
    this.#writers.add(writer);
    try {
      await this.#ask({ ask: 'begin', writer, source });
    } catch (error) {
      this.#writers.delete(writer);
      throw error;
    }
    return {
      take: chunk => this.#ask({ ask: 'take', writer, chunk }),
      finish: async record => {
        const sums: UnitSum[] = [];
        await this.#ask({ ask: 'finish', writer, record }, chunk => {
          if ('sums' in chunk) sums.push(...chunk.sums);
        });
        return sums;
      },
      keep: async () => {
        await this.#ask({ ask: 'keep', writer });
        this.#writers.delete(writer);
        this.#lost.delete(setFile(this.#settings.directory, source));
      },
      discard: async () => {
        this.#writers.delete(writer);
        // What cannot be removed now is removed when a thread is started.
        await this.#ask({ ask: 'discard', writer }).catch(() => {});
      },
    };
  }

  async remove(source: string): Promise<void> {
    await this.#ask({ ask: 'remove', source });
    this.#lost.delete(setFile(this.#settings.directory, source));
  }

  async units(query: UnitQuery): Promise<readonly LargeUnit[]> {
    const found: LargeUnit[] = [];
    await this.#ask({ ask: 'units', query }, chunk => {
      if ('units' in chunk) found.push(...chunk.units);
    });
    return found;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#end();
    await this.#ended;
  }

  #ask(question: Question, onChunk: (chunk: Chunk) => void = () => {}): Promise<void> {
    if (this.#isClosed) {
      return Promise.reject(away(this.#settings.directory, 'the store has been closed'));
    }
    if (this.#idle !== null) clearTimeout(this.#idle);
    const id = ++this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.set(id, { resolve, reject, onChunk });
    const request: Request = { ...question, id };
    this.#started().postMessage(request);
    return promise;
  }

  #started(): Worker {
    if (this.#worker !== null) return this.#worker;
    const worker = new Worker(entryUrl('store/units/worker'), {
      workerData: this.#settings,
      name: 'sources',
      resourceLimits: limits,
    });
    this.#worker = worker;
    let cause: unknown;
    worker.on('error', error => {
      cause = error;
    });
    worker.on('message', (answer: Answer) => this.#take(answer));
    const exited = new Promise<void>(resolve => {
      worker.on('exit', () => {
        this.#exited(worker, cause);
        resolve();
      });
    });
    this.#ended = Promise.all([this.#ended, exited]).then(() => {});
    return worker;
  }

  #exited(worker: Worker, cause: unknown): void {
    // Where it was told to end, another may have been started since.
    if (this.#worker !== worker) return;
    this.#worker = null;
    const why = 'its thread has ended; the next request starts another';
    for (const { reject } of this.#waiting.values()) reject(away(this.#settings.directory, why, cause));
    this.#waiting.clear();
  }

  /** Has the thread end after what it was asked for. */
  #end(): void {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#worker?.postMessage({ ask: 'close' } satisfies Request);
    if (this.#waiting.size === 0) this.#worker = null;
  }

  #take(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    if (answer.is === 'chunk') {
      waiting?.onChunk(answer.chunk);
      this.#worker?.postMessage({ ask: 'more', id: answer.id } satisfies Request);
      return;
    }
    this.#waiting.delete(answer.id);
    if (this.#waiting.size === 0 && this.#writers.size === 0) {
      if (this.#idle !== null) clearTimeout(this.#idle);
      this.#idle = setTimeout(() => this.#end(), idleMs).unref();
    }
    if (answer.is === 'done') waiting?.resolve();
    else waiting?.reject(errorOf(answer.fault));
  }
}

/** Throws `store_refused` where it cannot be told. */
function isMissing(directory: string): boolean {
  try {
    return readdirSync(directory).length === 0;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return true;
    const why = messageOf(error);
    throw new SoftquotaError('store_refused', `${directory} cannot be read: ${why}`, { cause: error });
  }
}
