/**
 * Notices of a real ledger with a real store, which can be opened again and again; the clock stands until it
 * is moved.
 */

import { join } from 'node:path';
import type { Test } from 'tap';
import type { MailSettings, WebhookSettings } from '../../src/config/index.ts';
import type { SoftquotaError } from '../../src/errors.ts';
import { createUser, identityKinds } from '../../src/identity/index.ts';
import { Ledger } from '../../src/ledger/index.ts';
import {
  type NoticeSettings,
  Notices,
  noticeKinds,
  type PresentFaults,
  type Summary,
} from '../../src/notices/index.ts';
import { secretKeysOf } from '../../src/oauth/index.ts';
import { Events } from '../../src/overview/index.ts';
import { requestKinds } from '../../src/policy/index.ts';
import { openStore } from '../../src/store/index.ts';
import {
  directoryFor,
  repos,
  SetClock,
  silentLog,
  sweepOnce,
  settings as usualSettings,
  walk,
} from '../ledger/world.ts';

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

export const baseUrl = 'https://git.example/quota/';
export const keys = secretKeysOf(['a key for secrets of at least 32 characters']);
export const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

const never = 3_600_000;

interface Open {
  readonly ledger: Ledger;
  readonly events: Events;
  readonly notices: Notices;
}

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

export class World {
  readonly clock = new SetClock();
  /** Lines of the log. */
  readonly logged: string[] = [];
  /** While it is set, the store takes no documents. */
  takesNothing: SoftquotaError | null = null;
  faults: PresentFaults = { faults: [], unknown: [] };
  summary: Summary = {
    since: 0,
    owners: { owners: 3, over: 1, near: 1 },
    storedBytes: 12_000_000,
    growthPerDay: 1_000_000,
    promisedBytes: 30_000_000,
    unlimitedOwners: 1,
    freeBytes: 9_000_000,
    fullAt: null,
    refusals: 7,
    openRequests: 2,
    worst: [{ name: 'alice', state: 'over', fullness: 124 }],
  };
  readonly #file: string;
  readonly #host: string;
  #settings: NoticeSettings;
  #open: Open | null = null;

  private constructor(file: string, settings: NoticeSettings, host: string) {
    this.#file = file;
    this.#settings = settings;
    this.#host = host;
  }

  static async open(t: Test, settings: Partial<NoticeSettings>, host = 'here'): Promise<World> {
    const file = join(directoryFor(t), 'softquota.db');
    const world = new World(file, { webhooks: [], mail: null, ...settings }, host);
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

  get notices(): Notices {
    return this.#now.notices;
  }

  configure(settings: Partial<NoticeSettings>): void {
    this.#settings = { ...this.#settings, ...settings };
    this.notices.reconfigure(this.#settings);
  }

  async restart(): Promise<void> {
    await this.close();
    const tell = (fields: object, message: string) =>
      void this.logged.push(`${message} ${JSON.stringify(fields)}`);
    const log = { ...silentLog, error: tell, warn: tell };
    const ledger = await Ledger.open({
      store: await openStore({ file: this.#file }),
      host: this.#host,
      settings: usualSettings,
      kinds: [...identityKinds, ...requestKinds, ...noticeKinds],
      foldCase: true,
      log,
      clock: this.clock,
    });
    const now = () => this.clock.wallMs;
    const host = this.#host;
    const events = await Events.open({ ledger, host, keepMs: 90 * dayMs, log, now, pauseMs: never });
    sweepOnce(ledger);
    events.start();
    const notices = new Notices({
      settings: this.#settings,
      documents: {
        owners: ledger.documents.owners,
        get snapshot() {
          return ledger.documents.snapshot;
        },
        takeLease: name => ledger.documents.takeLease(name),
        transact: async (change, by) => {
          if (this.takesNothing !== null) throw this.takesNothing;
          return ledger.documents.transact(change, by);
        },
      },
      events,
      host,
      ledger,
      unitName: ({ name }) => name.replace(/^\/srv\/git\//, ''),
      keys,
      baseUrl: () => baseUrl,
      now,
      present: () => this.faults,
      summary: async since => ({ ...this.summary, since }),
      log,
    });
    this.#open = { ledger, events, notices };
  }

  /** Lets time pass: what has happened by then is read, and what is due is sent. */
  async pass(milliseconds = 1000): Promise<void> {
    this.clock.pass(milliseconds);
    await this.events.kept();
    await this.notices.tick();
    await this.notices.settled();
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

  /** Asks as the gate does, and has the refusal put on record as it does. */
  refuse(owner: string, actor = ''): void {
    const { decision } = this.ledger.decide(owner, repos);
    if (decision.allowed) throw new Error(`${owner} is allowed`);
    const { mode } = this.ledger.settings;
    this.events.refused({ owner, subject: repos, actor, decision, mode });
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = null;
    await open?.notices.close();
    await open?.events.close();
    await open?.ledger.close();
  }

  get #now(): Open {
    if (this.#open === null) throw new Error('it is closed');
    return this.#open;
  }
}
