/** Records events, deletes them after the configured time, and finds them. */

import { EventIds } from '../documents/index.ts';
import { SoftquotaError } from '../errors.ts';
import type { Ledger } from '../ledger/index.ts';
import type { RefusalRecord, UnaskedRecord } from '../quota/index.ts';
import type { EventQuery, EventRecord } from '../store/index.ts';
import { isoTime } from '../text.ts';
import { inSlices } from '../turns.ts';
import { Crossings, type CrossingsOptions } from './crossings.ts';
import { type Event, type EventKind, type EventOf, eventKinds, eventOf, fieldsIn } from './event-shapes.ts';
import { dayMs, dayOf, hourMs } from './history.ts';
import { dayKind, Tally, type TallyLimits } from './tally.ts';

/** `pauseMs` is also the time for which refusals are added up before they are written. */
interface EventsOptions extends Omit<CrossingsOptions, 'turn'> {
  readonly host: string;
  /** `[events] KEEP`, in milliseconds. */
  readonly keepMs: number;
  readonly limits?: TallyLimits;
  /** Tells whether this host records thresholds now; null: always, since it shares its quota with no host. */
  readonly turn?: CrossingsOptions['turn'];
}

interface EventsQuery extends EventFilter {
  readonly kind?: EventKind | undefined;
  /** The name of an owner: finds events recorded under the name, and events of the owner who has it now. */
  readonly owner?: string | undefined;
  /** The end of the previous page; see `EventsPage.next`. */
  readonly after?: string | undefined;
  /** 1 or more. */
  readonly limit: number;
}

export interface EventsPage<Kind extends Event = Event> {
  /** Newest first. */
  readonly events: readonly Kind[];
  /** The place at which the next page begins; null: there is no next page. */
  readonly next: string | null;
}

const daysTold = 14;
const daysAtOnce = 1000;
const leastFreedBytes = 1_000_000;
/** More records than one hour of one host can have. */
const mostOfAnHour = 10_000;
/** Most records that are searched for one page; the next page continues there. */
const mostLookedAt = 20_000;
const lookedAtOnce = 500;

/** The fields of an event that the caller passes. */
type Told<Kind extends EventKind> = Omit<EventOf<Kind>, 'id' | 'at' | 'kind' | 'host'>;

export class Events {
  readonly #options: EventsOptions;
  readonly #tally: Tally;
  readonly #crossings: Crossings;
  readonly #ids = new EventIds('c');
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
   * Continues the sums and levels from before a restart. If the store is away, refusals of this hour begin
   * new sums, and thresholds are recorded once the levels can be read. Rejects with `store_refused`.
   */
  static async open(options: EventsOptions): Promise<Events> {
    const { ledger, host, log, now, pauseMs, limits, turn = null } = options;
    const tally = new Tally(host, limits);
    tally.resume(await refusalsOf(ledger), now());
    const crossings = await Crossings.open({ ledger, log, now, pauseMs, turn });
    return new Events(options, tally, crossings);
  }

  start(): void {
    this.#crossings.start();
    this.#cleaning ??= setInterval(() => this.#clean(), hourMs).unref();
  }

  takeTurn(): void {
    this.#crossings.takeTurn();
  }

  reconfigure({ keepMs }: Pick<EventsOptions, 'keepMs'>): void {
    this.#keepMs = keepMs;
  }

  refused(refusal: RefusalRecord): void {
    this.#tally.add(refusal, this.#named(refusal.owner), this.#options.now());
    this.#flushSoon();
  }

  unasked(told: UnaskedRecord): void {
    this.#tally.addUnasked(told, this.#named(told.owner), this.#options.now());
    this.#flushSoon();
  }

  #named(owner: string) {
    const { owners } = this.#options.ledger.documents;
    return { key: owners.keyOf(owner), record: owners.named(owner) };
  }

  #flushSoon(): void {
    const { pauseMs = 1000 } = this.#options;
    this.#flushing ??= setTimeout(() => this.#flush(), pauseMs).unref();
  }

  /** Records that the worker collected garbage; `owner` null: the repository has no owner. */
  collected({ owner, repository, freed, fault }: Told<'reclaim'>): void {
    if (fault === null && freed < leastFreedBytes) return;
    this.#enqueue('reclaim', owner, { repository, freed, fault });
  }

  /** Records that a pool of forks counts for another owner, because its project no longer exists. */
  inherited({ owner, ...fields }: Told<'inherited'>): void {
    this.#enqueue('inherited', owner, fields);
  }

  #enqueue(kind: EventKind, owner: string | null, fields: object): void {
    const { ledger, now, host } = this.#options;
    const record = owner === null ? undefined : ledger.documents.owners.named(owner);
    const event = {
      id: this.#ids.next(),
      kind,
      at: now(),
      ownerId: record?.id ?? null,
      ownerKey: record?.key ?? null,
      text: JSON.stringify({ owner, host, ...fields }),
    };
    ledger.eventLog.enqueue({ events: [event] });
  }

  /**
   * Returns a page of the events in the store, without those that wait to be written. A page can have few
   * events or none, and still a `next`. Throws `invalid` if `after` is invalid, `store_refused` if an event
   * cannot be read.
   */
  async list({ kind, owner, ...page }: EventsQuery): Promise<EventsPage> {
    const { ledger } = this.#options;
    const kinds = kind === undefined ? eventKinds : [kind];
    if (owner === undefined) return this.#page(kinds, null, page);
    const ownerKey = ledger.documents.owners.keyOf(owner);
    return this.#page(kinds, { ownerId: ledger.documents.owners.named(owner)?.id ?? null, ownerKey }, page);
  }

  /** Lists events of these kinds of this owner, without those of earlier owners of the name. */
  listOf<Kind extends EventKind>(
    ownerId: number,
    kinds: readonly Kind[],
    page: Pick<EventsQuery, 'after' | 'limit'>,
  ): Promise<EventsPage<EventOf<Kind>>> {
    return this.#page(kinds, { ownerId, ownerKey: null }, page);
  }

  /** Counts the stored refusals of each of the last days in UTC, today last. */
  async refusalsByDay(days = daysTold): Promise<readonly { readonly day: string; readonly count: number }[]> {
    const { ledger, now } = this.#options;
    const first = dayOf(now()) - days + 1;
    const counts = new Map(Array.from({ length: days }, (_, later) => [first + later, 0]));
    const from = first * dayMs;
    for (let after: EventRecord | undefined; ; ) {
      const records = await ledger.eventLog.events({
        kinds: [dayKind],
        limit: daysAtOnce,
        ...(after === undefined ? {} : { after }),
      });
      for (const { at, text } of records) {
        const { count } = fieldsIn(text);
        const before = counts.get(dayOf(at));
        if (before !== undefined && typeof count === 'number') counts.set(dayOf(at), before + count);
      }
      after = records.at(-1);
      if (records.length < daysAtOnce || after === undefined || after.at < from) break;
    }
    return [...counts].map(([day, count]) => ({ day: isoTime(day * dayMs).slice(0, 10), count }));
  }

  /**
   * Counts the stored refusals from the day of a time up to yesterday, in UTC. Today is left to the call
   * that begins where this one ends, so that none is counted twice.
   */
  async refusalsSince(since: number): Promise<number> {
    const days = await this.refusalsByDay(dayOf(this.#options.now()) - dayOf(since) + 1);
    return days.slice(0, -1).reduce((sum, { count }) => sum + count, 0);
  }

  async #page<Kind extends EventKind>(
    kinds: readonly Kind[],
    owner: NonNullable<EventQuery['owner']> | null,
    { after, limit, ...filter }: Omit<EventsQuery, 'kind' | 'owner'>,
  ): Promise<EventsPage<EventOf<Kind>>> {
    const { ledger } = this.#options;
    const isMeant = eventMatcher(filter, name => ledger.documents.owners.keyOf(name));
    // The search begins an hour earlier, since the record of an hour has the time of its first refusal.
    const from = filter.since === undefined ? Number.NEGATIVE_INFINITY : filter.since - hourMs;
    const events: EventOf<Kind>[] = [];
    const atOnce = isMeant === null ? limit + 1 : lookedAtOnce;
    // This place comes after all events up to `until`, since ids begin with a letter.
    const until = filter.until === undefined ? undefined : { at: filter.until + 1, id: '0' };
    let place = after === undefined ? until : placeIn(after);
    for (let looked = 0; looked < mostLookedAt; looked += atOnce) {
      const records = await ledger.eventLog.events({
        kinds,
        ...(owner === null ? {} : { owner }),
        ...(place === undefined ? {} : { after: place }),
        limit: atOnce,
      });
      let isOver = records.length < atOnce;
      let isFull = false;
      await inSlices(records, record => {
        if (record.at < from) isOver = true;
        else isFull ||= events.length === limit;
        if (record.at < from || isFull) return;
        const read = () => toldOf(record, kinds);
        if (isMeant === null || isMeant(record, read)) events.push(read());
        place = record;
      });
      if (isFull) return { events, next: nameOf(place) };
      if (isOver) return { events, next: null };
    }
    return { events, next: nameOf(place) };
  }

  /** Resolves once all events up to now are in the store, or the store is away. */
  async kept(): Promise<void> {
    await this.#crossings.noted();
    this.#flush();
    await this.#options.ledger.kept();
  }

  /** Passes all remaining events to the ledger, which writes them. */
  async close(): Promise<void> {
    if (this.#cleaning !== null) clearInterval(this.#cleaning);
    await this.#crossings.close();
    this.#flush();
  }

  #flush(): void {
    if (this.#flushing !== null) clearTimeout(this.#flushing);
    this.#flushing = null;
    const events = this.#tally.take();
    if (events.length > 0) this.#options.ledger.eventLog.enqueue({ events });
  }

  #clean(): void {
    const { ledger, now } = this.#options;
    // A wrong clock could delete all events.
    if (ledger.steadyClock.isSteady()) ledger.eventLog.enqueue({ goneEventsBefore: now() - this.#keepMs });
  }
}

function toldOf<Kind extends EventKind>(record: EventRecord, kinds: readonly Kind[]): EventOf<Kind> {
  const event = eventOf(record);
  const isAsked = (told: Event): told is EventOf<Kind> => kinds.some(kind => kind === told.kind);
  if (event !== null && isAsked(event)) return event;
  throw new SoftquotaError('store_refused', `the store is damaged: its event ${record.id} cannot be read`);
}

async function refusalsOf(ledger: Pick<Ledger, 'eventLog' | 'kept'>): Promise<readonly EventRecord[]> {
  try {
    const kinds = ['refusal', 'unasked'] as const;
    const found = kinds.map(kind => ledger.eventLog.events({ kinds: [kind], limit: mostOfAnHour }));
    return (await Promise.all(found)).flat();
  } catch (error) {
    if (error instanceof SoftquotaError && error.code === 'store_away') return [];
    throw error;
  }
}

type Place = Pick<EventRecord, 'at' | 'id'>;

function nameOf(place: Place | undefined): string | null {
  return place === undefined ? null : `${place.at}.${place.id}`;
}

function placeIn(text: string): Place {
  const [, at = '', id = ''] = /^(-?\d{1,15})\.([a-z0-9-]{1,100})$/.exec(text) ?? [];
  if (id === '')
    throw new SoftquotaError('invalid', 'after: expected the value from the Link of the previous page');
  return { at: Number(at), id };
}

interface EventFilter {
  /**
   * Milliseconds since 1970, inclusive. The sum of an hour is found at any time between its first and last.
   */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly actor?: string | undefined;
  /** A part of any name, path or text of the event. */
  readonly q?: string | undefined;
}

/** Returns a function that tells whether an event matches; null: all match. */
function eventMatcher(
  { since, actor, q }: EventFilter,
  keyOf: (name: string) => string,
): ((record: EventRecord, read: () => Event) => boolean) | null {
  if (since === undefined && actor === undefined && q === undefined) return null;
  const from = since === undefined ? null : isoTime(since);
  const actorKey = actor === undefined ? null : keyOf(actor);
  const words = q === undefined ? null : folded(q);
  // A search in the raw text first, since most records do not match and need not be parsed.
  const inText = words === null ? null : JSON.stringify(words).slice(1, -1);
  return (record, read) => {
    if (inText !== null && !folded(record.text).includes(inText)) return false;
    const event = read();
    if (from !== null && ('last_at' in event ? event.last_at : event.at) < from) return false;
    const actor = 'actor' in event ? event.actor : 'by' in event ? event.by?.name : null;
    if (actorKey !== null && keyOf(actor ?? '') !== actorKey) return false;
    return words === null || hasWords(event, words);
  };
}

const unspoken: ReadonlySet<string> = new Set(['id', 'at', 'last_at', 'kind', 'change', 'token_id']);

/** Searches the values of an event, and not the names of its fields. */
function hasWords(value: unknown, words: string): boolean {
  if (typeof value === 'string') return folded(value).includes(words);
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.some(each => hasWords(each, words));
  return Object.entries(value).some(([name, field]) => !unspoken.has(name) && hasWords(field, words));
}

function folded(text: string): string {
  return text.normalize('NFC').toLowerCase();
}
