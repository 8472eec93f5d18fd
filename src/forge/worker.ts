/**
 * The thread that reads a forge's database: connects, reads what is due, and tells what is new. node:sqlite
 * blocks, and counting a million rows would hold up every check.
 */

import { createHash } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { SerialQueue } from '../serial-queue.ts';
import type { ForgeDatabase } from './database.ts';
import { DueParts } from './due.ts';
import { ForgeFault, forgeFaultOf } from './fault.ts';
import type { Answer, Chunk, Found, Question, ReadMode, Request, ThreadSettings } from './messages.ts';
import { openForgeDatabase, schemaOf, tableNames } from './open.ts';
import { type ForgeLeaf, forgeLeaves, unitNames } from './picture.ts';
import { accountsPart, ForgeReading, type News, repositoriesPart } from './reading.ts';
import { unownedIn } from './sums.ts';

const chunkCharacters = 64 * 1024;

if (parentPort === null) throw new Error('this is a thread of the forge reader, not a program');
const port = parentPort;
// The reader passes these settings to the thread that it starts.
const { settings, seed } = workerData as ThreadSettings;
const schema = schemaOf(settings, process.env);
/** Ends with what is done in the database: one thing after the other, so that none fails for another. */
const turns = new SerialQueue();
/** Null: the next question connects. */
let connection: ForgeDatabase | null = null;
let reading = new ForgeReading(schema, seed);
let due = newDue();
/** Digest of the figures that were reported last. */
let reportedDigest = '';
/** The reading that is under way. */
let chunks: AsyncGenerator<Chunk, void, void> | null = null;

port.on('message', async ({ id, question }: Request) => {
  const answer: Answer = await find(question).then(
    found => ({ id, found }),
    (error: unknown) => {
      const { code, message, mend } = forgeFaultOf(error);
      return { id, fault: { code, message, mend } };
    },
  );
  port.postMessage(answer);
});

async function find(question: Question): Promise<Found> {
  if (question.ask === 'lfs') {
    return { objects: await inTurn(db => schema.lfsObjects(db, question.name)) };
  }
  if (question.ask === 'read') chunks = read(question.mode);
  if (chunks === null) throw new Error('no reading is under way');
  const step = await chunks.next();
  return { chunk: step.done ? null : step.value };
}

function inTurn<Result>(act: (db: ForgeDatabase) => Promise<Result>): Promise<Result> {
  return turns.run(async () => {
    try {
      connection ??= await connect();
      return await act(connection);
    } catch (error) {
      await connection?.close().catch(() => {});
      connection = null;
      throw forgeFaultOf(error);
    }
  });
}

async function connect(): Promise<ForgeDatabase> {
  const db = await openForgeDatabase(settings, schema, process.env);
  // The marks of another connection may mean something else.
  due = newDue();
  return db;
}

async function* read(mode: ReadMode): AsyncGenerator<Chunk, void, void> {
  const isFull = mode !== 'new';
  const news = await inTurn(db => {
    if (mode === 'anew') forget();
    return readDue(db, isFull);
  });
  if (news === null) return;
  yield* news.chunks;
  yield { is: 'rest', unowned: unownedIn([...reading.sums.values()]), drift: news.drift };
  const digest = figuresDigest();
  if (digest === reportedDigest && !news.haveNamesChanged && !isFull) return;
  yield* lines();
  reportedDigest = digest;
}

/** From now on everything is new. */
function forget(): void {
  reading = new ForgeReading(schema, seed);
  due = newDue();
  reportedDigest = '';
}

function newDue(): DueParts {
  const tables: Record<string, readonly string[]> = {
    [accountsPart]: schema.accountTables,
    [repositoriesPart]: schema.repositoryTables,
  };
  for (const [part, { tables: own }] of Object.entries(schema.byteParts)) tables[part] = own;
  return new DueParts(tables, () => performance.now());
}

/** Null: nothing had to be read. */
async function readDue(db: ForgeDatabase, full: boolean): Promise<News | null> {
  const marks = await db.marks(tableNames(schema.needed));
  const { parts, unchanged } = due.due(marks, full);
  if (parts.size === 0) return null;
  const news = await db.consistently(() => reading.read(db, parts, unchanged));
  if (!reading.owners.isAnybodyPresent) throw noOwners();
  due.read(news.tookMs, marks);
  return news;
}

/**
 * A forge that is in use has an administrator: these are the tables of another one, or of one that is being
 * restored.
 */
function noOwners(): ForgeFault {
  return new ForgeFault(
    'schema',
    'the database has no users, so its figures are not used',
    'if it is being restored, wait; else correct [forge] DATABASE',
  );
}

function figuresDigest(): string {
  const hash = createHash('sha1');
  for (const sums of reading.sums.values()) hash.update(sums.raw);
  return hash.digest('hex');
}

function* lines(): Generator<Chunk, void> {
  let text = '';
  const { owners } = reading;
  for (let row = 0; row < owners.size; row++) {
    const owner = owners.nameAt(row);
    if (owner === null) continue;
    for (const subject of forgeLeaves) {
      const bytes = bytesOf(subject, row);
      if (bytes === 0) continue;
      text += `${JSON.stringify({ owner, subject, unit: unitNames[subject], bytes })}\n`;
    }
    if (text.length < chunkCharacters) continue;
    yield { is: 'lines', bytes: new TextEncoder().encode(text) };
    text = '';
  }
  yield { is: 'lines', bytes: new TextEncoder().encode(text) };
}

function bytesOf(leaf: ForgeLeaf, row: number): number {
  let bytes = 0;
  for (const sums of reading.sums.values()) bytes += sums.of(leaf, row);
  return bytes;
}
