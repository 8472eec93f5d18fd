/**
 * The thread that makes and reads sets: reading a million lines, and node:sqlite, would hold up every check.
 *
 * Requests are served in the order in which they come; pieces of several sets may come in between one
 * another.
 */

import type { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf, type SoftquotaError } from '../../errors.ts';
import { away, failureOf } from '../sqlite/faults.ts';
import { storeFaultOf } from '../sqlite/messages.ts';
import type { UnitQuery, UnitSum } from '../unit-sources.ts';
import { SetBuilder } from './build.ts';
import { readyFiles, removeFile, setFile } from './files.ts';
import type { Answer, Chunk, Question, Request, ThreadSettings } from './messages.ts';
import { openSet, recordIn, sumsIn, unitsIn } from './read.ts';

if (parentPort === null) throw new Error('this is a thread of the store, not a program');
const port = parentPort;
// What the store passes to the thread that it starts.
const { directory, foldCase } = workerData as ThreadSettings;

const builders = new Map<number, SetBuilder>();
/** Answers in chunks that have not come to their end, by the question. */
const begun = new Map<number, Generator<Chunk>>();
/** Sets that are open to be read, by source. */
const open = new Map<string, DatabaseSync>();
/** Null before the directory was looked at. */
let files: readonly string[] | null = null;

port.on('message', (request: Request) => {
  if (request.ask === 'close') {
    for (const builder of builders.values()) builder.discard();
    for (const db of open.values()) db.close();
    port.close();
    return;
  }
  const { id } = request;
  const answer = (message: Answer) => port.postMessage(message);
  try {
    const answers = request.ask === 'more' ? begun.get(id) : serve(request);
    const next = answers?.next();
    if (answers !== undefined && next?.done === false) {
      begun.set(id, answers);
      answer({ id, is: 'chunk', chunk: next.value });
      return;
    }
    begun.delete(id);
    answer({ id, is: 'done' });
  } catch (error) {
    begun.delete(id);
    answer({ id, is: 'fault', fault: storeFaultOf(faultIn(error)) });
  }
});

/** The system's own faults (no room, no rights) are the disk's, as SQLite's are. */
function faultIn(error: unknown): SoftquotaError {
  const isSystems = error instanceof Error && 'syscall' in error;
  return isSystems ? away(directory, error.message, error) : failureOf(directory, error);
}

/** Gives what is answered in chunks. */
function serve(question: Question): Generator<Chunk> | undefined {
  switch (question.ask) {
    case 'load':
      return load();
    case 'begin':
      ready();
      builders.set(question.writer, new SetBuilder(directory, question.source, foldCase));
      return undefined;
    case 'take':
      builder(question.writer).take(question.chunk);
      return undefined;
    case 'finish':
      return sumsOf(builder(question.writer).finish(question.record));
    case 'keep':
      keep(question.writer);
      return undefined;
    case 'discard':
      builders.get(question.writer)?.discard();
      builders.delete(question.writer);
      return undefined;
    case 'remove':
      forget(question.source);
      removeFile(setFile(directory, question.source), directory);
      return undefined;
    case 'units':
      return unitsOf(question.query);
  }
}

function* sumsOf(chunks: Iterable<readonly UnitSum[]>): Generator<Chunk> {
  for (const sums of chunks) yield { sums };
}

function* unitsOf(query: UnitQuery): Generator<Chunk> {
  for (const units of unitsIn(opened(query.source), query, foldCase)) yield { units };
}

/** The files of sets. What is being made by this thread is made after this was called first. */
function ready(): readonly string[] {
  files ??= readyFiles(directory);
  return files;
}

function* load(): Generator<Chunk> {
  for (const file of ready()) {
    let isBegun = false;
    try {
      const db = openSet(file);
      try {
        yield { set: recordIn(db) };
        isBegun = true;
        yield* sumsOf(sumsIn(db));
      } finally {
        db.close();
      }
    } catch (error) {
      yield { lost: { file, why: messageOf(error) }, isBegun };
    }
  }
}

function keep(writer: number): void {
  const made = builder(writer);
  forget(made.source);
  made.keep();
  builders.delete(writer);
}

function builder(writer: number): SetBuilder {
  const found = builders.get(writer);
  if (found === undefined) throw away(directory, 'the thread that made this set has ended');
  return found;
}

function opened(source: string): DatabaseSync {
  const db = open.get(source) ?? openSet(setFile(directory, source));
  open.set(source, db);
  return db;
}

function forget(source: string): void {
  open.get(source)?.close();
  open.delete(source);
}
