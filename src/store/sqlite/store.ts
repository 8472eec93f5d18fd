/**
 * The embedded store: one SQLite file, held by a thread of its own.
 *
 * An acknowledged write is on the disk (WAL, synchronous=FULL). One store has the file to itself, across
 * processes and within this one. If the thread ends unexpectedly, its unanswered requests are rejected with
 * `store_away`, and the next request starts another thread.
 */

import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { messageOf } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { entryUrl } from '../../package.ts';
import { SerialQueue } from '../../turns.ts';
import type { Position } from '../record-store.ts';
import {
  type Changes,
  type HistoryStore,
  type KeptSet,
  type ReplicatedPosition,
  recordKinds,
  type Store,
  type UnitRecord,
  type UnitSourceStore,
} from '../store.ts';
import type { ThreadSettings } from './database.ts';
import { away, errorOf, inUse } from './faults.ts';
import type { RefusedFile } from './set-files.ts';
import type { Answer, AskThread, Request, RequestAnswer, WritePart } from './worker.ts';

interface SqliteSettings {
  /** Created if it does not exist, readable by its owner only; its directory must exist. */
  readonly file: string;
  readonly log?: Pick<Log, 'warn'>;
}

/**
 * Opens a store. Rejects with `store_refused` if the file cannot be used; the file is left exactly as it was.
 */
export async function openStore({ file, log }: SqliteSettings): Promise<OwnStore> {
  const path = physical(resolve(file));
  // The lock belongs to the process, and would be lost if the process opened and closed the file again.
  if (openHere.has(path)) throw inUse(file);
  openHere.add(path);
  try {
    return storeOn(await StoreThread.open(path, log));
  } catch (error) {
    openHere.delete(path);
    throw error;
  }
}

/** The files that stores of this process hold. */
const openHere = new Set<string>();

/** Returns one name for a file, whatever links lead to it; for a missing file, by its directory. */
function physical(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(physical(parent), basename(path));
  }
}

/** The store of one host. */
type OwnStore = Store & HistoryStore & { readonly unitSources: UnitSourceStore };

function storeOn(thread: StoreThread): OwnStore {
  const { ask } = thread;
  return {
    load: async () => {
      // All requests are sent at once, so that no write comes in between.
      const [deltas, owners, documents, shares, roots, [sweep = null], [position = null], versions] =
        await Promise.all([
          ask('deltas'),
          ask('owners'),
          ask('documents'),
          ask('shares'),
          ask('roots'),
          ask('sweeps'),
          ask('positions'),
          ask('versions'),
        ]);
      return { deltas, owners, documents, shares, roots, sweep, replicated: withLineage(position, versions) };
    },
    units: async function* () {
      for (let after: string | null = null; ; ) {
        const units: readonly UnitRecord[] = await ask('units', after);
        const last = units.at(-1);
        if (last === undefined) return;
        yield units;
        after = last.id;
      }
    },
    events: query => ask('events', query),
    levels: () => ask('levels'),
    write: changes => thread.write(changes),
    recordOwners: (hour, owners) => ask('recordOwners', hour, owners),
    recordHour: record => ask('recordHour', record),
    history: async query => {
      const [past = { hours: [], steps: [] }] = await ask('history', query);
      return past;
    },
    thinHistory: thinning => ask('thinHistory', thinning),
    forgetHistory: ownerIds => ask('forgetHistory', ownerIds),
    unitSources: unitSourcesOn(ask),
    close: () => thread.close(),
  };
}

/** The store of the sets that sources report. */
function unitSourcesOn(ask: AskThread): UnitSourceStore {
  return {
    load: async () => {
      const sets: KeptSet[] = [];
      for (const { number, ...set } of await ask('listSets'))
        sets.push({ set, sums: await ask('sumSet', number) });
      return sets;
    },
    begin: async newSet => {
      const [set = 0] = await ask('beginSet', newSet);
      return {
        take: chunk => ask('takeUnits', set, chunk),
        finish: async () => {
          await ask('endSet', set);
          return ask('sumSet', set);
        },
        keep: record => ask('keepSet', set, record),
        // Rows that remain are deleted when the next set begins.
        discard: () => ask('discardSet', set).catch(() => {}),
      };
    },
    remove: source => ask('removeSource', source),
    units: query => ask('unitsOfSource', query),
  };
}

interface Waiting {
  readonly resolve: (items: unknown[]) => void;
  readonly reject: (error: Error) => void;
  readonly items: unknown[];
}

/** The thread of one file, which is started again after it has ended. */
class StoreThread {
  readonly #file: string;
  readonly #log: Pick<Log, 'warn'> | undefined;
  /** Null when a thread has ended, until the next request. All requests await the same promise, in order. */
  #worker: Promise<Worker> | null = null;
  /** The requests that are not answered yet, by id. */
  readonly #waiting = new Map<number, Waiting>();
  readonly #sending = new SerialQueue();
  #lastId = 0;
  #closed: Promise<void> | null = null;

  private constructor(file: string, log: Pick<Log, 'warn'> | undefined) {
    this.#file = file;
    this.#log = log;
  }

  static async open(file: string, log: Pick<Log, 'warn'> | undefined): Promise<StoreThread> {
    const thread = new StoreThread(file, log);
    thread.#worker = thread.#start('create');
    await thread.#worker;
    return thread;
  }

  async write(changes: Changes): Promise<void> {
    await this.#request(id => partsOfWrite(changes).map(part => ({ id, is: 'write', ...part })));
  }

  readonly ask: AskThread = (name, ...args) => {
    // The cast is safe: the thread answers with the type of the question.
    return this.#request(id => [{ id, is: 'ask', name, args }]) as ReturnType<AskThread>;
  };

  /** Ends the thread after all earlier requests. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #request(messagesOf: (id: number) => readonly Request[]): Promise<unknown[]> {
    if (this.#closed) throw away(this.#file, 'the store has been closed');
    this.#worker ??= this.#startAgain();
    const starting = this.#worker;
    let worker: Worker;
    try {
      worker = await starting;
    } catch (error) {
      // The next request tries again.
      if (this.#worker === starting) this.#worker = null;
      throw error;
    }
    const id = ++this.#lastId;
    const answered = new Promise<unknown[]>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, items: [] });
    });
    try {
      const [items] = await Promise.all([answered, this.#send(worker, messagesOf(id))]);
      return items;
    } finally {
      this.#waiting.delete(id);
    }
  }

  /** Posting copies a message, so other work gets its turn between the parts of a large write. */
  #send(worker: Worker, messages: readonly Request[]): Promise<void> {
    return this.#sending.run(async () => {
      for (const [index, message] of messages.entries()) {
        if (index > 0) await nextTurn();
        worker.postMessage(message);
      }
    });
  }

  /** Starts another thread. A missing file is refused: a new one would only hide that it has gone. */
  async #startAgain(): Promise<Worker> {
    try {
      return await this.#start('refuse');
    } catch (error) {
      throw away(this.#file, messageOf(error), error);
    }
  }

  /** Resolves when the thread has opened the file. Rejects with `store_refused`. */
  #start(missing: 'create' | 'refuse'): Promise<Worker> {
    const file = this.#file;
    const workerData: ThreadSettings = { file, missing };
    const worker = new Worker(entryUrl('store/sqlite/worker'), { workerData, name: 'store' });
    let isOpen = false;
    let cause: unknown;
    let refusal: Error | null = null;
    return new Promise((resolve, reject) => {
      worker.on('error', error => {
        cause = error;
      });
      worker.on('message', (answer: Answer) => {
        if (answer.is === 'refused') refusal = errorOf(answer.fault);
        else if (answer.is === 'open') {
          isOpen = true;
          this.#tellRefused(answer.refusedFiles);
          resolve(worker);
        } else this.#take(answer);
      });
      worker.on('exit', () => {
        const reason = away(file, 'its thread has ended; the next write starts another', cause);
        // This comes first, so that nobody uses a thread that has ended.
        this.#worker = null;
        reject(refusal ?? reason);
        for (const waiting of this.#waiting.values()) waiting.reject(reason);
        this.#waiting.clear();
        if (isOpen && !this.#closed) {
          this.#log?.warn({ err: reason, file }, 'the thread of the store has ended');
        }
      });
    });
  }

  #tellRefused(files: readonly RefusedFile[]): void {
    const message = 'what a source reported cannot be read, and counts for nothing until it is put again';
    for (const { file, why } of files) this.#log?.warn({ file, err: why }, message);
  }

  #take(answer: RequestAnswer): void {
    const waiting = this.#waiting.get(answer.id);
    if (answer.is === 'chunk') {
      waiting?.items.push(...answer.chunk);
      return;
    }
    this.#waiting.delete(answer.id);
    if (answer.is === 'fault') waiting?.reject(errorOf(answer.fault));
    else waiting?.resolve(waiting.items);
  }

  async #close(): Promise<void> {
    try {
      const worker = await this.#worker;
      if (worker === null) return;
      const ended = new Promise(resolve => worker.on('exit', resolve));
      await this.#send(worker, [{ is: 'close' }]);
      await ended;
    } catch {
      // It could not be opened again, so there is nothing to end, and all requests were rejected.
    } finally {
      openHere.delete(this.#file);
    }
  }
}

/** Limit of records in one message: a few milliseconds' work. */
const mostInPart = 2000;

/** Cuts a write into parts of at most `mostInPart` records; applied one after the other, they do the same. */
function partsOfWrite(changes: Changes): readonly Pick<WritePart, 'changes' | 'isLast'>[] {
  const lists = recordKinds.flatMap(({ fields }) => fields.map(field => [field, changes[field]] as const));
  // Single values come first: `goneEventsBefore` must not delete events of this write.
  let part: Changes = Object.fromEntries(lists.filter(([, given]) => given !== undefined && !isList(given)));
  let room = mostInPart;
  const parts: Changes[] = [];
  for (const [field, given = []] of lists) {
    if (!isList(given)) continue;
    for (let from = 0; from < given.length; ) {
      if (room === 0) {
        parts.push(part);
        part = {};
        room = mostInPart;
      }
      const some = given.slice(from, from + room);
      part = { ...part, [field]: some };
      from += some.length;
      room -= some.length;
    }
  }
  return [...parts, part].map((each, index) => ({ changes: each, isLast: index === parts.length }));
}

function isList(given: unknown): given is readonly unknown[] {
  return Array.isArray(given);
}

function withLineage(
  position: Position | null,
  versions: readonly Omit<Position, 'generation'>[],
): ReplicatedPosition | null {
  const [first] = versions;
  return position === null || first === undefined
    ? position
    : { ...position, lineage: { since: first.version, versions } };
}
