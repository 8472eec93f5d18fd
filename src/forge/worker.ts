/**
 * The thread that reads a forge's database: connects, reads what is due, and tells what is new. node:sqlite
 * blocks, and counting a million rows would hold up every check.
 */

import { parentPort, workerData } from 'node:worker_threads';
import { SerialQueue } from '../serial-queue.ts';
import { type ForgeDatabase, ForgeFault, forgeFaultOf } from './database.ts';
import { unownedIn } from './forge-schema.ts';
import type { Answer, Chunk, Found, Question, ReadMode, Request, ThreadSettings } from './messages.ts';
import { openForgeDatabase, schemaOf, tableNames } from './open.ts';
import { accountsPart, DueParts, ForgeReading, type News, repositoriesPart } from './reading.ts';

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
  if (isFull || news.haveLinesChanged) yield* reading.lines();
}

/** From now on everything is new. */
function forget(): void {
  reading = new ForgeReading(schema, seed);
  due = newDue();
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
  if (reading.owners.size === 0) throw noOwners();
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
