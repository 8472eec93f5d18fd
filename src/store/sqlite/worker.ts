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
import { openDatabase } from './database.ts';
import { failureOf, isFaultOfWrite, refusalOf } from './faults.ts';
import { historian } from './history.ts';
import {
  type Answer,
  type Question,
  type QuestionRequest,
  type Request,
  storeFaultOf,
  type ThreadSettings,
} from './messages.ts';
import { reader, writer } from './records.ts';
import { inTransaction } from './rows.ts';
import { takeSetFiles } from './set-files.ts';
import { unitSets } from './unit-sets.ts';

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
  const apply = writer(db);
  // The cast is safe: each handler gets only questions of its name.
  const handlers = { ...reader(db, file), ...historian(db), ...unitSets(db, file) } as Readonly<
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

  function write(writes: readonly Write[]): void {
    if (writes.length === 0) return;
    try {
      commit(writes);
    } catch (error) {
      if (!isFaultOfWrite(error)) shrinkLog();
      for (const one of writes) writeAlone(one);
      return;
    }
    for (const { id } of writes) answer({ id, is: 'done' });
  }

  function writeAlone(one: Write): void {
    try {
      commit([one]);
    } catch (error) {
      answer({ id: one.id, is: 'fault', fault: storeFaultOf(failureOf(file, error)) });
      return;
    }
    answer({ id: one.id, is: 'done' });
  }

  function commit(writes: readonly Write[]): void {
    inTransaction(db, () => {
      for (const each of writes) for (const changes of each.parts) apply(changes);
    });
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
      answer({ id, is: 'fault', fault: storeFaultOf(failureOf(file, error)) });
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
