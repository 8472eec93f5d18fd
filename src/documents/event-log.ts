/** Keeps what happened, and how near to limits owners are: in this host's store, or in the shared one. */

import { randomBytes } from 'node:crypto';
import type {
  Changes,
  EventQuery,
  EventRecord,
  LevelRecord,
  RecordStore,
  WriteBehind,
} from '../store/index.ts';

/** A store, as far as events and levels go. */
export type EventStore = Pick<RecordStore, 'events' | 'levels' | 'write'>;

type EventChanges = Pick<Changes, 'events' | 'goneEventsBefore' | 'levels' | 'goneLevels'>;

interface EventLogOptions {
  readonly store: EventStore;
  readonly writeBehind: Pick<WriteBehind, 'close' | 'note' | 'kept'>;
  /** Makes what writes behind into a shared store. */
  writeBehindTo(store: Pick<RecordStore, 'write'>, probe: () => Changes): EventLogOptions['writeBehind'];
}

/** Characters of the texts of events that are remembered. */
const mostText = 1_000_000;

export class EventLog {
  readonly #options: EventLogOptions;
  /** The last events that a shared store took with this host's changes, and may lose by falling back. */
  recent: readonly EventRecord[] = [];
  #shared: { readonly store: EventStore; readonly writeBehind: EventLogOptions['writeBehind'] } | null = null;

  constructor(options: EventLogOptions) {
    this.#options = options;
  }

  /** This host's own store, where what happened is kept unless it is shared. */
  get own(): EventStore {
    return this.#options.store;
  }

  /** From now on all is read and written there. */
  shareWith(store: EventStore): void {
    // The probe takes out what is older than anything.
    const writeBehind = this.#options.writeBehindTo(store, () => ({ goneEventsBefore: 0 }));
    this.#shared = { store, writeBehind };
  }

  /** Writes behind, as is done with what is measured. */
  enqueue(changes: EventChanges): void {
    this.#writeBehind.note(changes);
  }

  /** Adds to the recent events, of which as many are kept as fit. */
  remember(events: readonly EventRecord[]): void {
    const all = [...this.recent, ...events];
    let left = mostText;
    const first = all.findLastIndex(({ text }) => {
      left -= text.length + 1;
      return left < 0;
    });
    this.recent = all.slice(first + 1);
  }

  /** Finds events, newest first; what waits to be written is not among them. */
  events(query: EventQuery): Promise<readonly EventRecord[]> {
    return this.#store.events(query);
  }

  levels(): Promise<readonly LevelRecord[]> {
    return this.#store.levels();
  }

  /** Resolves once all that waits is in the store (true), or the store is found away (false). */
  kept(): Promise<boolean> {
    return this.#writeBehind.kept();
  }

  /** Writes what waits for a shared store. */
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

/** Ids of events, in the order in which they are given: a later one is greater. */
export class EventIds {
  readonly #prefix: string;
  /** Makes the ids of this process different from those of others. */
  readonly #life = randomBytes(6).toString('hex');
  #given = 0;

  /** `prefix`: lower-case letters. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  next(): string {
    return `${this.#prefix}-${String(++this.#given).padStart(digits, '0')}-${this.#life}`;
  }
}
