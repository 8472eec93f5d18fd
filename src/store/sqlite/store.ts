/**
 * The embedded store: one SQLite file, held by a thread of its own.
 *
 * An acknowledged write is on the disk (WAL, synchronous=FULL). One store has the file to itself, across
 * processes and within this one. If the thread ends unexpectedly, its unanswered requests are rejected with
 * `store_away`, and the next request starts another thread.
 */

import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { messageOf } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { HistoryStore } from '../history.ts';
import type { Position } from '../record-store.ts';
import type { Changes, ReplicatedPosition, Store, UnitRecord, VersionRecord } from '../store.ts';
import type { KeptSet, UnitSourceStore } from '../unit-sources.ts';
import { Connection } from './connection.ts';
import { away, inUse } from './faults.ts';
import type { AskThread } from './messages.ts';
import { unitsAtOnce } from './rows.ts';

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
        yield units;
        after = units.at(-1)?.id ?? null;
        if (units.length < unitsAtOnce) return;
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

/** The thread of one file, which is started again after it has ended. */
class StoreThread {
  readonly #file: string;
  readonly #log: Pick<Log, 'warn'> | undefined;
  /** Null when a thread has ended, until the next request. */
  #connection: Promise<Connection> | null = null;
  #closed: Promise<void> | null = null;

  private constructor(file: string, log: Pick<Log, 'warn'> | undefined) {
    this.#file = file;
    this.#log = log;
  }

  static async open(file: string, log: Pick<Log, 'warn'> | undefined): Promise<StoreThread> {
    const thread = new StoreThread(file, log);
    thread.#connection = thread.#connect('create');
    await thread.#connection;
    return thread;
  }

  async write(changes: Changes): Promise<void> {
    const connection = await this.#connected();
    await connection.write(changes);
  }

  readonly ask: AskThread = async (name, ...args) => {
    const connection = await this.#connected();
    return connection.ask(name, ...args);
  };

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** All requests await the same promise, so they are served in the order in which they were made. */
  #connected(): Promise<Connection> {
    if (this.#closed) throw away(this.#file, 'the store has been closed');
    this.#connection ??= this.#reconnect();
    return this.#connection;
  }

  /** Connects again. A missing file is refused: a new one would only hide that it has gone. */
  async #reconnect(): Promise<Connection> {
    try {
      return await this.#connect('refuse');
    } catch (error) {
      throw away(this.#file, messageOf(error), error);
    }
  }

  async #connect(missing: 'create' | 'refuse'): Promise<Connection> {
    let connected = false;
    const lost = (reason: Error) => {
      if (!connected) return;
      this.#connection = null;
      if (this.#closed) return;
      this.#log?.warn({ err: reason, file: this.#file }, 'the thread of the store has ended');
    };
    try {
      const connection = await Connection.open({ file: this.#file, missing }, lost);
      connected = true;
      for (const { file, why } of connection.refusedFiles) {
        const message = 'what a source reported cannot be read, and counts for nothing until it is put again';
        this.#log?.warn({ file, err: why }, message);
      }
      return connection;
    } catch (error) {
      this.#connection = null;
      throw error;
    }
  }

  async #close(): Promise<void> {
    try {
      const connection = await this.#connection;
      await connection?.close();
    } catch {
      // It could not be opened again, so there is nothing to end, and all requests were rejected.
    } finally {
      openHere.delete(this.#file);
    }
  }
}

function withLineage(
  position: Position | null,
  versions: readonly VersionRecord[],
): ReplicatedPosition | null {
  const [first] = versions;
  return position === null || first === undefined
    ? position
    : { ...position, lineage: { since: first.version, versions } };
}
