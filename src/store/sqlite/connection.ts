/** A store's thread, seen from the outside: questions become promises. */

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
        // First of all, so that nobody asks a thread that is no more.
        lost(reason);
        for (const { reject } of this.#waiting.values()) reject(reason);
        this.#waiting.clear();
        resolve();
      });
    });
  }

  /** Rejects with `store_refused`. `lost` is called once the thread has ended; then nothing may be asked. */
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
    // The thread answers what was asked.
    return this.#answered(id) as ReturnType<AskThread>;
  };

  /** Ends the thread after it has done what was asked before. */
  async close(): Promise<void> {
    this.#send([{ is: 'close' }]);
    await this.#ended;
  }

  #send(requests: Iterable<Request>): void {
    this.#unsent.push(requests);
    if (!this.#isSending) void this.#sendAll();
  }

  /** Posting copies what is posted, so other things get their turn between the parts of a large write. */
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

/** Records in one message: a few milliseconds' work. */
const mostInPart = 2000;

/** Makes the messages that a write is sent to the thread by. */
export function* writeInParts(id: number, changes: Changes): Generator<WritePart> {
  let waiting: Changes | null = null;
  for (const part of partsOf(changes, mostInPart)) {
    if (waiting !== null) yield { id, is: 'write', changes: waiting, isLast: false };
    waiting = part;
  }
  yield { id, is: 'write', changes: waiting ?? {}, isLast: true };
}

/** Cuts a write into parts of at most `most` records that do the same, applied one after the other. */
function* partsOf(changes: Changes, most: number): Generator<Changes> {
  const lists = recordKinds.flatMap(({ fields }) => fields.map(field => [field, changes[field]] as const));
  // Single values come first: events that come are not among those that go before a time.
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
