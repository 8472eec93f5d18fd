/** The thread that reads a forge's database: node:sqlite blocks, and so does counting a million rows. */

import { parentPort, workerData } from 'node:worker_threads';
import { SerialQueue } from '../serial-queue.ts';
import { type ForgeDatabase, forgeFaultOf } from './database.ts';
import { unownedIn } from './forge-schema.ts';
import { LossGuard } from './loss-guard.ts';
import type { Answer, Chunk, Found, Question, ReadMode, Request, ThreadSettings } from './messages.ts';
import { RowJudge } from './odd-rows.ts';
import { forgeSchemaVersion, openForgeDatabase, schemaOf } from './open.ts';
import { ForgeReading } from './reading.ts';

if (parentPort === null) throw new Error('this is a thread of the forge reader, not a program');
const port = parentPort;
// The reader passes these settings to the thread that it starts.
const { settings, seed } = workerData as ThreadSettings;
const schema = schemaOf(settings, process.env);
/** Ends with what is done in the database: one thing after the other, so that none fails for another. */
const turns = new SerialQueue();
/** Null: the next question connects. */
let connection: ForgeDatabase | null = null;
/** Rows of earlier readings: all readings begin anew after a fault. */
const judge = new RowJudge();
let reading = new ForgeReading(schema, seed, judge);
let guard = new LossGuard();
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
  if (question.ask === 'read') chunks = read(question.mode, question.known);
  if (chunks === null) throw new Error('no reading is under way');
  const step = await chunks.next();
  return { chunk: step.done ? null : step.value };
}

function inTurn<Result>(act: (db: ForgeDatabase) => Promise<Result>): Promise<Result> {
  return turns.run(async () => {
    try {
      if (connection === null) {
        connection = await openForgeDatabase(settings, schema, process.env);
        reading.reconnected();
      }
      return await act(connection);
    } catch (error) {
      await connection?.close().catch(() => {});
      connection = null;
      throw forgeFaultOf(error);
    }
  });
}

async function* read(mode: ReadMode, known: Float64Array): AsyncGenerator<Chunk, void, void> {
  const isFull = mode !== 'new';
  const news = await inTurn(async db => {
    if (mode === 'anew' || mode === 'accepted') reading = new ForgeReading(schema, seed, judge);
    if (mode === 'accepted') guard = new LossGuard();
    else guard.remember(known);
    const found = await reading.read(db, isFull);
    const version = () => forgeSchemaVersion(db, schema.versionTable);
    if (found !== null) await guard.pass(reading.rowSums(), version, performance.now());
    return found;
  });
  if (news === null) return;
  yield* news.chunks;
  const odd = judge.found;
  const oddKind = { reason: 'odd_rows', count: odd.unowned, bytes: odd.unownedBytes } as const;
  const unowned = [...unownedIn([...reading.sums.values()]), ...(odd.unowned === 0 ? [] : [oddKind])];
  yield { is: 'rest', unowned, drift: news.drift, odd };
  if (isFull || news.haveLinesChanged) yield* reading.lines();
}
