/**
 * The record of events on a real ledger and a real store, which can be opened again and again, and a store
 * that takes nothing while the test says so.
 */

import { join } from 'node:path';
import type { Test } from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import { Ledger, type LedgerSettings } from '../../src/ledger/index.ts';
import type { Event } from '../../src/overview/index.ts';
import { Events } from '../../src/overview/index.ts';
import type { QuotaSettings, Subject } from '../../src/quota/index.ts';
import { type Changes, openStore, type Store } from '../../src/store/index.ts';
import {
  directoryFor,
  repos,
  SetClock,
  silentLog,
  sweepOnce,
  settings as usualSettings,
  walk,
} from '../ledger/world.ts';

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

export interface WorldOptions extends Pick<Parameters<typeof Events.open>[0], 'limits'> {
  /** Kinds of documents besides those of the policy. */
  readonly kinds?: Parameters<typeof Ledger.open>[0]['kinds'];
  readonly settings?: Partial<LedgerSettings>;
  readonly host?: string;
  readonly keepMs?: number;
  /** Pause that is too long for anything to be written by itself, unless a test says otherwise. */
  readonly pauseMs?: number;
  /** False: no sweep has ended yet. */
  readonly isSwept?: boolean;
}

interface Open {
  readonly ledger: Ledger;
  readonly events: Events;
}

export class World {
  readonly clock = new SetClock();
  /** Errors and warnings in the log, each with its fields. */
  readonly logged: string[] = [];
  /** While it is true the store takes nothing. */
  isAway = false;
  /** Called with each write that the store has taken. */
  written: (changes: Changes) => void = () => {};
  readonly #file: string;
  #options: WorldOptions;
  #open: Open | null = null;

  private constructor(file: string, options: WorldOptions) {
    this.#file = file;
    this.#options = options;
  }

  static async open(t: Test, options: WorldOptions = {}): Promise<World> {
    const world = new World(join(directoryFor(t), 'softquota.db'), options);
    t.teardown(() => world.close());
    await world.restart();
    return world;
  }

  get ledger(): Ledger {
    return this.#now.ledger;
  }

  get events(): Events {
    return this.#now.events;
  }

  async restart(options: WorldOptions = {}): Promise<void> {
    await this.close();
    this.#options = { ...this.#options, ...options };
    const { settings, limits, host = 'here', keepMs = 90 * dayMs, pauseMs = hourMs } = this.#options;
    const { isSwept = true, kinds = [] } = this.#options;
    const tell = (fields: object, message: string) =>
      void this.logged.push(`${message} ${JSON.stringify(fields)}`);
    const log = { ...silentLog, error: tell, warn: tell };
    const ledger = await Ledger.open({
      store: this.#watched(await openStore({ file: this.#file })),
      host,
      settings: { ...usualSettings, ...settings },
      kinds,
      foldCase: true,
      log,
      clock: this.clock,
    });
    const now = () => this.clock.wallMs;
    const bounded = limits === undefined ? {} : { limits };
    const events = await Events.open({ ledger, host, keepMs, log, now, pauseMs, ...bounded });
    this.#open = { ledger, events };
    if (isSwept) sweepOnce(ledger);
    events.start();
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = null;
    await open?.events.close();
    await open?.ledger.close();
  }

  /** Asks as the gate does, and has the refusal put on record as it does. */
  refuse(owner: string, { actor = '', subject = repos }: { actor?: string; subject?: Subject } = {}): void {
    const { ledger, events } = this.#now;
    const answer = ledger.decide(owner, subject);
    if (answer.decision.allowed) throw new Error(`${owner} is allowed ${subject}`);
    const { mode }: QuotaSettings = ledger.settings;
    events.refused({ owner: answer.owner.name, subject, actor, decision: answer.decision, mode });
  }

  /** Resolves once all that has happened by now is told of, graces included. */
  async settled(): Promise<void> {
    const { ledger, events } = this.#now;
    await ledger.graces.settled();
    ledger.graces.reconsider();
    await events.kept();
  }

  /** Has the owner store so much. Time passes, so that events stand in order. */
  async store(owner: string, bytes: number): Promise<void> {
    this.clock.pass(1000);
    walk(this.ledger, `${owner}/app`, bytes);
    await this.settled();
  }

  /** Every event of a kind that happened by now, oldest first. */
  async told<Kind extends Event['kind']>(
    kind: Kind,
    query: { readonly owner?: string } = {},
  ): Promise<readonly Extract<Event, { kind: Kind }>[]> {
    await this.events.kept();
    const { events, next } = await this.events.list({ ...query, kind, limit: 100_000 });
    if (next !== null) throw new Error('there are more');
    return events.filter((event): event is Extract<Event, { kind: Kind }> => event.kind === kind).reverse();
  }

  get #now(): Open {
    if (this.#open === null) throw new Error('it is closed');
    return this.#open;
  }

  #watched(store: Store): Store {
    return {
      load: () => store.load(),
      units: () => store.units(),
      events: query => store.events(query),
      levels: () => store.levels(),
      close: () => store.close(),
      write: async changes => {
        if (this.isAway) throw new SoftquotaError('store_away', 'no room');
        await store.write(changes);
        this.written(changes);
      },
    };
  }
}
