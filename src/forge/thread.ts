/** The work of a reader's thread: connects, reads what is due, and tells what is new. */

import { createHash } from 'node:crypto';
import { messageOf } from '../errors.ts';
import { SerialQueue } from '../serial-queue.ts';
import { chosenAddressOf } from './chosen-address.ts';
import type { ForgeDatabase } from './database.ts';
import { DueParts } from './due.ts';
import { ForgeFault } from './fault.ts';
import type { ForgeSchema } from './forge-schema.ts';
import type { LfsObject } from './lfs-objects.ts';
import type { Chunk, ReadMode, ReadResult, ThreadSettings } from './messages.ts';
import { openForgeDatabase } from './open.ts';
import { type ForgeSummary, forgeLeaves, unitNames } from './picture.ts';
import { accountsPart, ForgeReading, type News, repositoriesPart } from './reading.ts';
import { checkSchema, tableNames } from './schema.ts';
import { schemaOf } from './schemas.ts';
import type { ForgeSettings } from './settings.ts';
import { emptySums, unownedIn } from './sums.ts';

const chunkCharacters = 64 * 1024;
/** Each commit of fewer owners would write the same pages of the store again. */
const ownersAtOnce = 1000;
const nothingNew: ReadResult = { summary: null, drift: [] };

export class ForgeThread {
  readonly #settings: ForgeSettings;
  readonly #seed: string;
  readonly #env: NodeJS.ProcessEnv;
  #db: ForgeDatabase | null = null;
  /** Ends with what is done in the database: one thing after the other, so that none fails for another. */
  readonly #turns = new SerialQueue();
  readonly #schema: ForgeSchema;
  #reading: ForgeReading;
  #due: DueParts<string>;
  /** Digest of the figures that were reported last. */
  #digest = '';

  constructor({ settings, seed }: ThreadSettings, env: NodeJS.ProcessEnv) {
    this.#settings = settings;
    this.#seed = seed;
    this.#env = env;
    this.#schema = schemaOf(settings, env);
    this.#reading = new ForgeReading(this.#schema, seed);
    this.#due = newDue(this.#schema);
  }

  /** Throws a `ForgeFault`; the next call connects again. */
  async *read(mode: ReadMode): AsyncGenerator<Chunk, ReadResult, void> {
    const isFull = mode !== 'new';
    const { news, product } = await this.#inTurn(async db => {
      if (mode === 'anew') this.#forget();
      return { news: await this.#readDue(db, isFull), product: db.product };
    });
    if (news === null) return nothingNew;
    yield* this.#told(news, isFull);
    return { summary: this.#summary(product), drift: news.drift };
  }

  /** The largest LFS objects that the repository of this name has alone. Throws as `read` does. */
  async lfsObjects(name: string): Promise<readonly LfsObject[]> {
    return this.#inTurn(db => this.#schema.lfsObjects(db, name));
  }

  async close(): Promise<void> {
    const db = this.#db;
    this.#db = null;
    await db?.close().catch(() => {});
  }

  #inTurn<Result>(act: (db: ForgeDatabase) => Promise<Result>): Promise<Result> {
    return this.#turns.run(async () => {
      try {
        this.#db ??= await this.#connect();
        return await act(this.#db);
      } catch (error) {
        await this.close();
        throw error instanceof ForgeFault ? error : unforeseen(error);
      }
    });
  }

  async #connect(): Promise<ForgeDatabase> {
    const db = await openForgeDatabase(chosenAddressOf(this.#settings, this.#env));
    try {
      await checkSchema(db, this.#schema.needed, this.#settings.kind);
    } catch (error) {
      await db.close();
      throw error;
    }
    // The marks of another connection may mean something else.
    this.#due = newDue(this.#schema);
    return db;
  }

  /** From now on everything is new. */
  #forget(): void {
    this.#reading = new ForgeReading(this.#schema, this.#seed);
    this.#due = newDue(this.#schema);
    this.#digest = '';
  }

  /** Null: nothing had to be read. */
  async #readDue(db: ForgeDatabase, full: boolean): Promise<News | null> {
    const marks = await db.marks(tableNames(this.#schema.needed));
    const { parts, unchanged } = this.#due.due(marks, full);
    if (parts.size === 0) return null;
    const news = await db.consistently(() => this.#reading.read(db, parts, unchanged));
    if (this.#reading.owners.size === 0) throw noOwners();
    if (news === null) {
      this.#forget();
      return this.#readDue(db, true);
    }
    this.#due.read(news.tookMs, marks);
    return news;
  }

  *#told(news: News, full: boolean): Generator<Chunk, void> {
    for (let start = 0; start < news.owners.length; start += ownersAtOnce) {
      yield { is: 'owners', owners: news.owners.slice(start, start + ownersAtOnce) };
    }
    if (news.presenceChanged) yield { is: 'present', ids: this.#reading.owners.presentIds() };
    if (news.members !== null) yield { is: 'members', members: news.members };
    if (news.repositories !== null) yield { is: 'repositories', repositories: news.repositories };
    const digest = this.#figuresDigest(news);
    if (digest === this.#digest && !full) return;
    yield* this.#lines();
    this.#digest = digest;
  }

  #figuresDigest(news: News): string {
    const hash = createHash('sha1');
    for (const sums of this.#reading.sums) hash.update(sums.raw);
    // Names stand in the lines.
    if (news.owners.length > 0 || news.presenceChanged) hash.update(String(performance.now()));
    return hash.digest('hex');
  }

  *#lines(): Generator<Chunk, void> {
    let text = '';
    const { owners } = this.#reading;
    for (let row = 0; row < owners.ids.size; row++) {
      const owner = owners.nameAt(row);
      if (owner === null) continue;
      for (const subject of forgeLeaves) {
        const bytes = this.#bytesOf(subject, row);
        if (bytes === 0) continue;
        text += `${JSON.stringify({ owner, subject, unit: unitNames[subject], bytes })}\n`;
      }
      if (text.length < chunkCharacters) continue;
      yield { is: 'lines', bytes: new TextEncoder().encode(text) };
      text = '';
    }
    yield { is: 'lines', bytes: new TextEncoder().encode(text) };
  }

  #bytesOf(leaf: (typeof forgeLeaves)[number], row: number): number {
    let bytes = 0;
    for (const sums of this.#reading.sums) bytes += sums.of(leaf, row);
    return bytes;
  }

  #summary(database: string): ForgeSummary {
    const bytes = emptySums();
    const { owners } = this.#reading;
    for (let row = 0; row < owners.ids.size; row++) {
      for (const leaf of forgeLeaves) bytes[leaf] += this.#bytesOf(leaf, row);
    }
    const parts = [...this.#reading.sums];
    return {
      database,
      owners: owners.size,
      repositories: this.#reading.repositoryCount,
      bytes,
      sharedBytes: parts.reduce((sum, part) => sum + part.sharedBytes, 0),
      unowned: unownedIn(parts),
    };
  }
}

function newDue({ accountTables, repositoryTables, byteParts }: ForgeSchema): DueParts<string> {
  const tables: Record<string, readonly string[]> = {
    [accountsPart]: accountTables,
    [repositoriesPart]: repositoryTables,
  };
  for (const [part, { tables: own }] of Object.entries(byteParts)) tables[part] = own;
  return new DueParts<string>(tables, () => performance.now());
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

function unforeseen(error: unknown): ForgeFault {
  return new ForgeFault('unreachable', messageOf(error), 'see the log; it is tried again by itself', {
    cause: error,
  });
}
