/** Thread that reads a forge's database: node:sqlite blocks, and so does counting a million rows. */

import { parentPort, workerData } from 'node:worker_threads';
import { nameFault } from '../quota/index.ts';
import { SerialQueue } from '../turns.ts';
import { type ForgeDatabase, forgeFaultOf } from './database.ts';
import type { PartSums } from './forge-schema.ts';
import { LossGuard } from './loss-guard.ts';
import {
  type Answer,
  type Chunk,
  type ReadMode,
  type Request,
  type ThreadCalls,
  type ThreadSettings,
  type Unowned,
  type UnownedReason,
  unownedReasons,
} from './messages.ts';
import { RowJudge } from './odd-rows.ts';
import { forgeSchemaVersion, openForgeDatabase, schemaOf } from './open.ts';
import { ForgeReading } from './reading.ts';

if (parentPort === null) throw new Error('this is a thread of the forge reader, not a program');
const port = parentPort;
// The reader passes these settings to the thread that it starts.
const { settings, seed } = workerData as ThreadSettings;
const schema = schemaOf(settings, process.env);
/** A connection on which tasks run one after the other. */
class Turns {
  readonly #turns = new SerialQueue();
  readonly #opened: () => void;
  /** Null if the next task has to connect. */
  #connection: ForgeDatabase | null = null;

  constructor(opened: () => void = () => {}) {
    this.#opened = opened;
  }

  run<Result>(act: (db: ForgeDatabase) => Promise<Result>): Promise<Result> {
    return this.#turns.run(async () => {
      try {
        if (this.#connection === null) {
          this.#connection = await openForgeDatabase(settings, schema, process.env);
          this.#opened();
        }
        return await act(this.#connection);
      } catch (error) {
        await this.#connection?.close().catch(() => {});
        this.#connection = null;
        throw forgeFaultOf(error);
      }
    });
  }
}

/** Remembers the rows of earlier readings, even after a fault, when the readings start anew. */
const judge = new RowJudge();
let reading = new ForgeReading(schema, seed, judge);
let guard = new LossGuard();
const readings = new Turns(() => reading.reconnected());
/** Connection for questions that must not wait for a reading. */
const lookUps = new Turns();
/** The current reading. */
let chunks: AsyncGenerator<Chunk, void, void> | null = null;

const calls: ThreadCalls = {
  read: (mode, known) => {
    chunks = read(mode, known);
    return calls.more();
  },
  more: async () => {
    if (chunks === null) throw new Error('no reading is under way');
    const step = await chunks.next();
    return step.done ? null : step.value;
  },
  lfsObjects: name => readings.run(db => schema.lfsObjects(db, name)),
  ownerBy: async (key, value) => {
    const lookUp = (db: ForgeDatabase) =>
      db.consistently(async () => schema.ownerBy?.(db, key, value) ?? null);
    // The idle connection may have broken, so a second attempt follows.
    const owner = await lookUps.run(lookUp).catch(() => lookUps.run(lookUp));
    // An invalid name is judged by the next reading.
    if (owner === null || nameFault(owner.name) !== null) return null;
    reading.lookedUp(owner);
    return owner;
  },
};

port.on('message', async ({ id, name, args }: Request) => {
  // The arguments are those of the call with this name.
  const call = calls[name] as (...args: Request['args']) => Promise<unknown>;
  const answer: Answer = await call(...args).then(
    result => ({ id, result }),
    (error: unknown) => {
      const { code, message, mend } = forgeFaultOf(error);
      return { id, fault: { code, message, mend } };
    },
  );
  port.postMessage(answer);
});

async function* read(mode: ReadMode, known: Float64Array): AsyncGenerator<Chunk, void, void> {
  const isFull = mode !== 'new';
  const news = await readings.run(async db => {
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

/** Adds up the unowned bytes of all parts by their reasons. */
function unownedIn(parts: readonly PartSums[]): readonly Unowned[] {
  const reasons = Object.keys(unownedReasons) as UnownedReason[];
  return reasons.flatMap(reason => {
    const sums = parts.map(part => part.unowned.get(reason) ?? { count: 0, bytes: 0 });
    const count = sums.reduce((sum, one) => sum + one.count, 0);
    return count === 0 ? [] : [{ reason, count, bytes: sums.reduce((sum, one) => sum + one.bytes, 0) }];
  });
}
