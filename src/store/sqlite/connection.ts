/** The handle of a store's thread, with promises for its answers. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { entryUrl } from '../../package.ts';
import { type Changes, recordKinds } from '../store.ts';
import { away } from './faults.ts';
import {
  type Answer,
  type AskThread,
  errorOf,
  opening,
  type Request,
  type ThreadSettings,
  type WritePart,
} from './messages.ts';
import type { RefusedFile } from './set-files.ts';

interface Waiting {
  readonly resolve: (items: unknown[]) => void;
  readonly reject: (error: Error) => void;
  readonly items: unknown[];
}

export class Connection {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ended: Promise<void>;
  readonly #unsent: Iterable<Request>[] = [];
  /** Files with sets of sources that could not be taken over. */
  refusedFiles: readonly RefusedFile[] = [];
  #isSending = false;
  #lastId = opening;

  private constructor(worker: Worker, file: string, lost: (reason: Error) => void) {
    this.#worker = worker;
    let cause: unknown;
    worker.on('error', error => {
      cause = error;
    });
    worker.on('message', (answer: Answer) => this.#take(answer));
    this.#ended = new Promise(resolve => {
      worker.on('exit', () => {
        const reason = away(file, 'its thread has ended; the next write starts another', cause);
        // This comes first, so that nobody uses a thread that has ended.
        lost(reason);
        for (const { reject } of this.#waiting.values()) reject(reason);
        this.#waiting.clear();
        resolve();
      });
    });
  }

  /**
   * Starts a thread. Rejects with `store_refused`. `lost` is called when the thread has ended; it must not be
   * used then.
   */
  static async open(settings: ThreadSettings, lost: (reason: Error) => void): Promise<Connection> {
    const worker = new Worker(entryUrl('store/sqlite/worker'), { workerData: settings, name: 'store' });
    const connection = new Connection(worker, settings.file, lost);
    await connection.#answered(opening);
    return connection;
  }

  async write(changes: Changes): Promise<void> {
    const id = ++this.#lastId;
    this.#send(writeInParts(id, changes));
    await this.#answered(id);
  }

  readonly ask: AskThread = (name, ...args) => {
    const id = ++this.#lastId;
    this.#send([{ id, is: 'ask', name, args }]);
    // The cast is safe: the thread answers with the type of the question.
    return this.#answered(id) as ReturnType<AskThread>;
  };

  /** Ends the thread after all earlier requests. */
  async close(): Promise<void> {
    this.#send([{ is: 'close' }]);
    await this.#ended;
  }

  #send(requests: Iterable<Request>): void {
    this.#unsent.push(requests);
    if (!this.#isSending) void this.#sendAll();
  }

  /** Posting copies the message, so other work gets its turn between the parts of a large write. */
  async #sendAll(): Promise<void> {
    this.#isSending = true;
    for (let next = this.#unsent.shift(); next !== undefined; next = this.#unsent.shift()) {
      for (const request of next) {
        this.#worker.postMessage(request);
        if (request.is === 'write' && !request.isLast) await nextTurn();
      }
    }
    this.#isSending = false;
  }

  #answered(id: number): Promise<unknown[]> {
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject, items: [] }));
  }

  #take(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    if (answer.is === 'chunk') {
      waiting?.items.push(...answer.chunk);
      return;
    }
    this.#waiting.delete(answer.id);
    if (answer.is === 'open') this.refusedFiles = answer.refusedFiles;
    if (answer.is === 'fault') waiting?.reject(errorOf(answer.fault));
    else waiting?.resolve(waiting.items);
  }
}

/** Limit of records in one message: a few milliseconds' work. */
const mostInPart = 2000;

/** Cuts a write into messages to the thread. */
export function* writeInParts(id: number, changes: Changes): Generator<WritePart> {
  let waiting: Changes | null = null;
  for (const part of partsOf(changes, mostInPart)) {
    if (waiting !== null) yield { id, is: 'write', changes: waiting, isLast: false };
    waiting = part;
  }
  yield { id, is: 'write', changes: waiting ?? {}, isLast: true };
}

/** Cuts a write into parts of at most `most` records; applied one after the other, they do the same. */
function* partsOf(changes: Changes, most: number): Generator<Changes> {
  const lists = recordKinds.flatMap(({ fields }) => fields.map(field => [field, changes[field]] as const));
  // Single values come first: `goneEventsBefore` must not delete events of this write.
  let part: Changes = Object.fromEntries(lists.filter(([, given]) => given !== undefined && !isList(given)));
  let room = most;
  for (const [field, given = []] of lists) {
    if (!isList(given)) continue;
    for (let from = 0; from < given.length; ) {
      if (room === 0) {
        yield part;
        part = {};
        room = most;
      }
      const some = given.slice(from, from + room);
      part = { ...part, [field]: some };
      from += some.length;
      room -= some.length;
    }
  }
  yield part;
}

function isList(given: unknown): given is readonly unknown[] {
  return Array.isArray(given);
}
