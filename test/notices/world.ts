/**
 * Notices of a real record of events, which can be opened again and again; the clock stands until it is
 * moved.
 */

import type { Test } from 'tap';
import type { MailSettings, WebhookSettings } from '../../src/config/index.ts';
import type { SoftquotaError } from '../../src/errors.ts';
import { createUser, identityKinds, secretKeysOf } from '../../src/identity/index.ts';
import type { Ledger } from '../../src/ledger/index.ts';
import {
  type NoticeSettings,
  Notices,
  noticeKinds,
  type PresentFaults,
  type Summary,
} from '../../src/notices/index.ts';
import type { Events } from '../../src/overview/index.ts';
import { requestKinds } from '../../src/policy/index.ts';
import { silentLog, walk } from '../ledger/world.ts';
import { World as EventsWorld } from '../overview/world.ts';
import { Receiver } from './receiver.ts';

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

export const baseUrl = 'https://git.example/quota/';
export const keys = secretKeysOf(['a key for secrets of at least 32 characters']);
export const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

/** A webhook on this host. */
export function hookAt(url: string, other: Partial<WebhookSettings> = {}): WebhookSettings {
  return {
    name: 'chat',
    url,
    secrets: [secret],
    events: [],
    allowPrivate: ['127.0.0.1'],
    ...other,
  };
}

export function mailAt(port: number, other: Partial<MailSettings> = {}): MailSettings {
  return {
    host: '127.0.0.1',
    port,
    tls: 'none',
    user: null,
    password: null,
    from: 'softquota <quota@git.example>',
    admins: ['root@git.example'],
    ownerEvents: ['threshold', 'grace', 'request', 'allowance'],
    adminEvents: ['request', 'fault'],
    digest: null,
    templates: null,
    ...other,
  };
}

interface Host {
  /** While it is set, the store takes no documents of this host. */
  takesNothing: SoftquotaError | null;
  /** False: another host reads the record of events, and sends for all. */
  isFirst: boolean;
}

export class World implements Host {
  takesNothing: SoftquotaError | null = null;
  isFirst = true;
  faults: PresentFaults = { faults: [], unknown: [] };
  /** While it is set, no summary can be made. */
  summaryFault: Error | null = null;
  summary: Summary = {
    since: 0,
    figures: {
      owners: 3,
      over: 1,
      grace: 2,
      near: 1,
      usage: [12_000_000],
      promised: 30_000_000,
      unlimited: 1,
    },
    growthPerDay: 1_000_000,
    freeBytes: 9_000_000,
    fullAt: null,
    refusals: 7,
    openRequests: 2,
    worst: [
      { name: 'alice', state: 'over', fullness: 124 },
      { name: 'bob', state: 'near', fullness: -1 },
    ],
  };
  readonly #record: EventsWorld;
  #settings: NoticeSettings;
  #notices: Notices | null = null;

  private constructor(record: EventsWorld, settings: NoticeSettings) {
    this.#record = record;
    this.#settings = settings;
  }

  static async open(t: Test, settings: Partial<NoticeSettings>): Promise<World> {
    const kinds = [...identityKinds, ...requestKinds, ...noticeKinds];
    const world = new World(await EventsWorld.open(t, { kinds }), { webhooks: [], mail: null, ...settings });
    t.teardown(() => world.#close());
    world.#open();
    return world;
  }

  get clock() {
    return this.#record.clock;
  }

  /** Lines of the log. */
  get logged(): readonly string[] {
    return this.#record.logged;
  }

  get ledger(): Ledger {
    return this.#record.ledger;
  }

  get events(): Events {
    return this.#record.events;
  }

  get notices(): Notices {
    if (this.#notices === null) throw new Error('it is closed');
    return this.#notices;
  }

  configure(settings: Partial<NoticeSettings>): void {
    this.#settings = { ...this.#settings, ...settings };
    this.notices.reconfigure(this.#settings);
  }

  async restart(): Promise<void> {
    await this.#close();
    await this.#record.restart();
    this.#open();
  }

  #open(): void {
    this.#notices = this.noticesOn('here', this);
  }

  /** Notices of a host with this store and this record of events. */
  noticesOn(host: string, state: Host): Notices {
    const { ledger, events, clock } = this.#record;
    const tell = (fields: object, message: string) =>
      void this.#record.logged.push(`${message} ${JSON.stringify(fields)}`);
    return new Notices({
      settings: this.#settings,
      documents: {
        owners: ledger.documents.owners,
        get snapshot() {
          return ledger.documents.snapshot;
        },
        takeLease: async () => state.isFirst,
        transact: async (change, by) => {
          if (state.takesNothing !== null) throw state.takesNothing;
          return ledger.documents.transact(change, by);
        },
      },
      events,
      host,
      ledger,
      unitNames:
        () =>
        ({ name }) =>
          name.replace(/^\/srv\/git\//, ''),
      keys,
      baseUrl: () => baseUrl,
      now: () => clock.wallMs,
      present: () => this.faults,
      summary: async since => {
        if (this.summaryFault !== null) throw this.summaryFault;
        return { ...this.summary, since };
      },
      log: { ...silentLog, error: tell, warn: tell },
    });
  }

  /** Lets time pass, so many times: what has happened by then is read, and what is due is sent. */
  async pass(milliseconds = 1000, times = 1): Promise<void> {
    for (let passes = 0; passes < times; passes++) {
      this.clock.pass(milliseconds);
      await this.events.kept();
      await this.notices.tick();
      await this.notices.settled();
    }
  }

  /** Has the owner store so much. */
  async store(owner: string, bytes: number): Promise<void> {
    this.clock.pass(1000);
    walk(this.ledger, `${owner}/app`, bytes);
    await this.pass();
  }

  async user(name: string, email: string): Promise<number> {
    const { id } = await this.ledger.documents.transact(transaction =>
      createUser(transaction, { name, email }),
    );
    return id;
  }

  refuse(owner: string, actor = ''): void {
    this.#record.refuse(owner, { actor });
  }

  async #close(): Promise<void> {
    await this.#notices?.close();
    this.#notices = null;
  }
}

/** Notices that go to a receiver, from now on. */
export async function hooked(t: Test, other: Partial<WebhookSettings> = {}) {
  const receiver = await Receiver.open(t);
  const world = await World.open(t, { webhooks: [hookAt(receiver.url, other)] });
  await world.pass();
  return { receiver, world };
}
