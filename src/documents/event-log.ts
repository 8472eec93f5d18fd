/**
 * Stores events, and the levels of owners (how near to limits they are), in this host's store or a shared
 * one.
 */

import { randomBytes } from 'node:crypto';
import type {
  Changes,
  EventQuery,
  EventRecord,
  LevelRecord,
  RecordStore,
  WriteBehind,
} from '../store/index.ts';

/** The part of a store that has events and levels. */
export type EventStore = Pick<RecordStore, 'events' | 'levels' | 'write'>;

type EventChanges = Pick<Changes, 'events' | 'goneEventsBefore' | 'levels' | 'goneLevels'>;

interface EventLogOptions {
  readonly store: EventStore;
  readonly writeBehind: Pick<WriteBehind, 'close' | 'note' | 'kept'>;
  /** Creates the write-behind queue of a shared store. */
  writeBehindTo(store: Pick<RecordStore, 'write'>, probe: () => Changes): EventLogOptions['writeBehind'];
}

/** Most characters of event texts in `recent`. */
const mostText = 1_000_000;

export class EventLog {
  readonly #options: EventLogOptions;
  /** The last events that a shared store wrote with this host's changes. It may lose them in a failover. */
  recent: readonly EventRecord[] = [];
  #shared: { readonly store: EventStore; readonly writeBehind: EventLogOptions['writeBehind'] } | null = null;

  constructor(options: EventLogOptions) {
    this.#options = options;
  }

  /** This host's own store, which has the events unless hosts share them. */
  get own(): EventStore {
    return this.#options.store;
  }

  /** Reads and writes events and levels in a shared store from now on. */
  shareWith(store: EventStore): void {
    // The probe deletes events from before 1970, of which there are none.
    const writeBehind = this.#options.writeBehindTo(store, () => ({ goneEventsBefore: 0 }));
    this.#shared = { store, writeBehind };
  }

  /** Writes changes behind, like measurements. */
  enqueue(changes: EventChanges): void {
    this.#writeBehind.note(changes);
  }

  /** Adds events to `recent`, and drops the oldest ones beyond `mostText`. */
  remember(events: readonly EventRecord[]): void {
    const all = [...this.recent, ...events];
    let left = mostText;
    const first = all.findLastIndex(({ text }) => {
      left -= text.length + 1;
      return left < 0;
    });
    this.recent = all.slice(first + 1);
  }

  /** Finds events, newest first, without those that wait to be written. */
  events(query: EventQuery): Promise<readonly EventRecord[]> {
    return this.#store.events(query);
  }

  levels(): Promise<readonly LevelRecord[]> {
    return this.#store.levels();
  }

  /** Resolves with true once all waiting changes are in the store, with false if the store is away. */
  kept(): Promise<boolean> {
    return this.#writeBehind.kept();
  }

  /** Writes the changes that wait for a shared store. */
  async close(): Promise<void> {
    await this.#shared?.writeBehind.close();
  }

  get #store(): EventStore {
    return this.#shared?.store ?? this.#options.store;
  }

  get #writeBehind(): EventLogOptions['writeBehind'] {
    return this.#shared?.writeBehind ?? this.#options.writeBehind;
  }
}

const digits = 9;

/** Generates ids of events; of one generator, each id is greater than those before. */
export class EventIds {
  readonly #prefix: string;
  /** Makes ids unique among processes. */
  readonly #life = randomBytes(6).toString('hex');
  #given = 0;

  /** `prefix` has lower-case letters. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  next(): string {
    return `${this.#prefix}-${String(++this.#given).padStart(digits, '0')}-${this.#life}`;
  }
}
