/** Takes in what happens, has it kept for as long as is wanted, and finds it again. */

import { SoftquotaError } from '../errors.ts';
import type { Ledger } from '../ledger/index.ts';
import type { EventRecord } from '../store/index.ts';
import type { Event, EventKind } from '../wire/index.ts';
import { Crossings, type Turn } from './crossings.ts';
import { eventOf } from './record.ts';
import { Tally, type TallyLimits, type ToldRefusal } from './tally.ts';

export type { ToldRefusal } from './tally.ts';

export interface EventsOptions {
  readonly ledger: Ledger;
  /** This machine's name. */
  readonly host: string;
  /** `[events] KEEP`, in milliseconds. */
  readonly keepMs: number;
  readonly log: { error(fields: object, message: string): void };
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds for which refusals are added up before they are written; a second unless given. */
  readonly pauseMs?: number;
  readonly limits?: TallyLimits;
  /** Whose it is to tell of thresholds; null: this machine's, which has its quota for itself. */
  readonly turn?: Turn | null;
}

export interface EventsQuery {
  readonly kind?: EventKind | undefined;
  /** The name of an owner. */
  readonly owner?: string | undefined;
  /** Where the page before ended; see `EventsPage.next`. */
  readonly after?: string | undefined;
  /** 1 or more. */
  readonly limit: number;
}

export interface EventsPage {
  /** Newest first. */
  readonly events: readonly Event[];
  /** The place from which it goes on; null: there is no more. */
  readonly next: string | null;
}

const hourMs = 3_600_000;
/** More than one hour of one machine can have. */
const mostOfAnHour = 10_000;

export class Events {
  readonly #options: EventsOptions;
  readonly #tally: Tally;
  readonly #crossings: Crossings;
  #keepMs: number;
  #flushing: NodeJS.Timeout | null = null;
  #cleaning: NodeJS.Timeout | null = null;

  private constructor(options: EventsOptions, tally: Tally, crossings: Crossings) {
    this.#options = options;
    this.#tally = tally;
    this.#crossings = crossings;
    this.#keepMs = options.keepMs;
  }

  /**
   * Goes on with what was told in an earlier life. Where that cannot be read at the moment, refusals of this hour are
   * added up anew, and thresholds are told once it can. Rejects with `store_refused`.
   */
  static async open(options: EventsOptions): Promise<Events> {
    const { ledger, host, log, now, pauseMs, limits, turn = null } = options;
    const tally = new Tally(host, limits);
    tally.resume(await refusalsOf(ledger), now());
    const crossings = await Crossings.open({ ledger, log, now, pauseMs, turn });
    return new Events(options, tally, crossings);
  }

  /** From now on thresholds are watched, and what is too old goes. */
  start(): void {
    this.#crossings.start();
    this.#clean();
    this.#cleaning ??= setInterval(() => this.#clean(), hourMs).unref();
  }

  /** It has become this machine's turn to tell of thresholds. */
  takeTurn(): void {
    this.#crossings.takeTurn();
  }

  /** Takes another time to keep events for. */
  reconfigure({ keepMs }: Pick<EventsOptions, 'keepMs'>): void {
    this.#keepMs = keepMs;
    if (this.#cleaning !== null) this.#clean();
  }

  refused(refusal: ToldRefusal): void {
    const { ledger, now, pauseMs = 1000 } = this.#options;
    const refused = { key: ledger.book.keyOf(refusal.owner), record: ledger.ownerRecord(refusal.owner) };
    this.#tally.add(refusal, refused, now());
    this.#flushing ??= setTimeout(() => this.#flush(), pauseMs).unref();
  }

  /**
   * A page of what is in the store; what is about to be written comes later. Throws `invalid` where `after` is no
   * place, `store_refused` where an event cannot be read.
   */
  async list({ kind, owner, after, limit }: EventsQuery): Promise<EventsPage> {
    const { ledger } = this.#options;
    const records = await ledger.events({
      ...(kind === undefined ? {} : { kind }),
      ...(owner === undefined
        ? {}
        : {
            owner: {
              ownerId: ledger.ownerRecord(owner)?.id ?? null,
              ownerKey: ledger.book.keyOf(owner),
            },
          }),
      ...(after === undefined ? {} : { after: placeIn(after) }),
      limit: limit + 1,
    });
    const page = records.slice(0, limit);
    const last = page.at(-1);
    return {
      events: page.map(toldOf),
      next: records.length > limit && last !== undefined ? `${last.at}.${last.id}` : null,
    };
  }

  /** Resolves once all that happened by now is in the store, or the store is away. */
  async kept(): Promise<void> {
    await this.#crossings.noted();
    this.#flush();
    await this.#options.ledger.kept();
  }

  /** Hands what is not written yet to the ledger, which writes it. */
  async close(): Promise<void> {
    if (this.#cleaning !== null) clearInterval(this.#cleaning);
    await this.#crossings.close();
    this.#flush();
  }

  #flush(): void {
    if (this.#flushing !== null) clearTimeout(this.#flushing);
    this.#flushing = null;
    const events = this.#tally.take();
    if (events.length > 0) this.#options.ledger.note({ events });
  }

  #clean(): void {
    this.#options.ledger.note({ goneEventsBefore: this.#options.now() - this.#keepMs });
  }
}

function toldOf(record: EventRecord): Event {
  const event = eventOf(record);
  if (event !== null) return event;
  throw new SoftquotaError('store_refused', `the store is damaged: its event ${record.id} cannot be read`);
}

async function refusalsOf(ledger: Ledger): Promise<readonly EventRecord[]> {
  try {
    return await ledger.events({ kind: 'refusal', limit: mostOfAnHour });
  } catch (error) {
    if (error instanceof SoftquotaError && error.code === 'store_away') return [];
    throw error;
  }
}

function placeIn(text: string): Pick<EventRecord, 'at' | 'id'> {
  const [, at = '', id = ''] = /^(-?\d{1,15})\.([a-z0-9-]{1,100})$/.exec(text) ?? [];
  if (id === '') throw new SoftquotaError('invalid', 'after: expected what the page before gave in its Link');
  return { at: Number(at), id };
}
