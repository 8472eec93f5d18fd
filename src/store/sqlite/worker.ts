/**
 * The thread that holds the database: node:sqlite blocks, so nothing of it runs elsewhere.
 *
 * Requests are served in the order in which they come. Writes that came during another one are put into one
 * transaction, since waiting for the disk takes most of the time. If the transaction fails, each write is
 * tried alone, so that none is harmed by another. An error that nothing handles ends the thread, and the
 * store starts another.
 */

import { dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { Changes } from '../store.ts';
import { handlersIn, openDatabase, type ThreadSettings } from './database.ts';
import { failureOf, isFaultOfWrite, refusalOf, type StoreFault, storeFaultOf } from './faults.ts';
import { inTransaction } from './rows.ts';
import { type RefusedFile, takeSetFiles } from './set-files.ts';

/** All handlers of a thread, by name. Each returns its answer in chunks, or none. */
type Handlers = ReturnType<typeof handlersIn>['handlers'];

type Question = keyof Handlers;

/** Sends a question, and returns the whole answer. */
export type AskThread = <Name extends Question>(
  name: Name,
  ...args: Parameters<Handlers[Name]>
) => Promise<ReturnType<Handlers[Name]> extends Iterable<readonly (infer Item)[]> ? readonly Item[] : void>;

/** A part of a write, which is made as a whole once the last part has come. */
export interface WritePart {
  readonly id: number;
  readonly is: 'write';
  readonly changes: Changes;
  readonly isLast: boolean;
}

interface QuestionRequest {
  readonly id: number;
  readonly is: 'ask';
  readonly name: Question;
  readonly args: readonly unknown[];
}

/** `close` has no answer but the thread's end. */
export type Request = WritePart | QuestionRequest | { readonly is: 'close' };

/** Each question gets any number of chunks, then `done` or `fault`. */
export type RequestAnswer =
  | { readonly id: number; readonly is: 'chunk'; readonly chunk: readonly unknown[] }
  | { readonly id: number; readonly is: 'done' }
  | { readonly id: number; readonly is: 'fault'; readonly fault: StoreFault };

/** The first answer is `open` or `refused`. `refusedFiles`: those with sets that could not be taken over. */
export type Answer =
  | RequestAnswer
  | { readonly is: 'open'; readonly refusedFiles: readonly RefusedFile[] }
  | { readonly is: 'refused'; readonly fault: StoreFault };

if (parentPort === null) throw new Error('this is a thread of the store, not a program');
const port = parentPort;
// The store passes these settings to the threads that it starts.
const settings = workerData as ThreadSettings;
const { file } = settings;

const answer = (message: Answer) => port.postMessage(message);

interface Write {
  readonly id: number;
  readonly parts: readonly Changes[];
}

function serve(db: DatabaseSync): void {
  const { apply, handlers: typed } = handlersIn(db, file);
  // The cast is safe: each handler gets only questions of its name.
  const handlers = typed as Readonly<
    Record<Question, (...args: readonly unknown[]) => Iterable<readonly unknown[]> | undefined>
  >;
  let waiting: Request[] = [];
  /** The parts of the write `partsId`, whose last part is still to come unless its sender broke off. */
  let parts: Changes[] = [];
  let partsId: number | null = null;

  port.on('message', (request: Request) => {
    // All messages that have come meanwhile are delivered before setImmediate's turn.
    if (waiting.push(request) === 1) setImmediate(work);
  });
  answer({ is: 'open', refusedFiles: takeSetFiles(db, join(dirname(file), 'sources')) });

  function work(): void {
    const requests = waiting;
    waiting = [];
    let writes: Write[] = [];
    for (const request of requests) {
      if (request.is === 'write') {
        if (request.id !== partsId) [partsId, parts] = [request.id, []];
        parts.push(request.changes);
        if (!request.isLast) continue;
        writes.push({ id: request.id, parts });
        parts = [];
        continue;
      }
      write(writes);
      writes = [];
      if (request.is === 'close') close();
      else answerTo(request);
    }
    write(writes);
  }

  /** Writes all together. If that fails, each is tried again (`isAgain`), alone. */
  function write(writes: readonly Write[], isAgain = false): void {
    if (writes.length === 0) return;
    try {
      inTransaction(db, () => {
        for (const each of writes) for (const changes of each.parts) apply(changes);
      });
    } catch (error) {
      if (isAgain) for (const { id } of writes) refuse(id, error);
      else {
        if (!isFaultOfWrite(error)) shrinkLog();
        for (const one of writes) write([one], true);
      }
      return;
    }
    for (const { id } of writes) answer({ id, is: 'done' });
  }

  function refuse(id: number, error: unknown): void {
    answer({ id, is: 'fault', fault: storeFaultOf(failureOf(file, error)) });
  }

  /** Shrinks the log: on a full disk its space may suffice for the write. */
  function shrinkLog(): void {
    try {
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // There is no room for that either: the log stays as it is, with all acknowledged writes.
    }
  }

  function answerTo({ id, name, args }: QuestionRequest): void {
    try {
      for (const chunk of handlers[name](...args) ?? []) answer({ id, is: 'chunk', chunk });
      answer({ id, is: 'done' });
    } catch (error) {
      refuse(id, error);
    }
  }

  function close(): void {
    db.close();
    port.close();
  }
}

try {
  serve(openDatabase(settings));
} catch (error) {
  answer({ is: 'refused', fault: storeFaultOf(refusalOf(file, error)) });
  port.close();
}
