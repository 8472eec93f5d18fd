/**
 * Keeps what happened, and how near to their limits owners are: in this host's own store, or in the one that
 * it shares with others.
 */

import type {
  Changes,
  EventQuery,
  EventRecord,
  LevelRecord,
  PendingEvents,
  RecordStore,
  WriteBehind,
} from '../store/index.ts';

/** A store, as far as events and levels go. */
export type EventStore = Pick<RecordStore, 'events' | 'levels' | 'write'>;

export interface EventLogOptions {
  /** This host's own. */
  readonly store: EventStore;
  readonly writeBehind: Pick<WriteBehind, 'close' | 'enqueue' | 'kept'>;
  /** Makes what writes behind into a shared store. */
  writeBehindTo(store: Pick<RecordStore, 'write'>, probe: () => Changes): EventLogOptions['writeBehind'];
}

export class EventLog {
  readonly #options: EventLogOptions;
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
  enqueue(pending: PendingEvents): void {
    this.#writeBehind.enqueue(pending);
  }

  /** Finds events, newest first; what waits to be written is not among them. */
  events(query: EventQuery): Promise<readonly EventRecord[]> {
    return this.#store.events(query);
  }

  /** Levels of owners when they were last told. */
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
