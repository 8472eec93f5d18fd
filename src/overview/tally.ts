/**
 * Counts refusals by owner, actor, subject and hour.
 *
 * Everybody who can reach the gate can cause refusals, again and again, with any names. So the number of sums
 * is limited, per hour and per owner; all further refusals are added up together.
 */

import { EventIds } from '../documents/index.ts';
import { given } from '../given.ts';
import type { BoundScope, RefusalRecord, UnaskedRecord } from '../quota/index.ts';
import type { EventRecord, OwnerRecord } from '../store/index.ts';
import { isoTime } from '../text.ts';
import { type EventOf, eventOf } from './event-shapes.ts';
import { dayOf, hourOf } from './history.ts';

interface Refused {
  readonly key: string;
  /** Undefined: the owner is unknown. */
  readonly record: OwnerRecord | undefined;
}

/** Limits of the number of sums; they apply to refusals and to unchecked actions separately. */
export interface TallyLimits {
  /** Most sums of an hour. */
  readonly sums: number;
  readonly ofAnOwner: number;
}

/** Longer paths of files are cut, since a pusher can choose any path. */
const longestPath = 1000;

const noRuling = {
  mode: 'enforce',
  used: null,
  limit: null,
  group: null,
  rule: null,
  full_disk: false,
} as const;

const usualLimits: TallyLimits = { sums: 2000, ofAnOwner: 50 };

interface Body extends Omit<EventOf<'refusal'>, 'id' | 'at' | 'kind' | 'last_at'> {
  readonly lastAt: string;
  /** The kind of limit that could not be checked; absent: it is a refusal. */
  readonly unasked?: BoundScope;
}

/** An event that is still growing. */
interface Sum extends Omit<EventRecord, 'text' | 'kind'> {
  body: Body;
}

/** The kind of records that count the refusals of one day in one run of the daemon, for the chart by day. */
export const dayKind = 'refusals';

interface DaySum extends Pick<EventRecord, 'id' | 'at'> {
  readonly day: number;
  count: number;
}

/** The owner, actor, subject and mode of refusals that are counted together. */
type Place = Pick<Body, 'actor' | 'subject' | 'mode' | 'others' | 'unasked'> &
  Pick<EventRecord, 'ownerId' | 'ownerKey'>;

export class Tally {
  readonly #host: string;
  readonly #limits: TallyLimits;
  readonly #ids = new EventIds('r');
  #hour = Number.NaN;
  #sums = new Map<string, Sum>();
  /** Number of sums, by kind, and by owner with `ofOwner`. */
  #taken = new Map<string, number>();
  readonly #changed = new Set<Sum>();
  #day: DaySum | null = null;
  readonly #changedDays = new Set<DaySum>();

  constructor(host: string, limits: TallyLimits = usualLimits) {
    this.#host = host;
    this.#limits = limits;
  }

  /** Continues the sums of the current hour from before a restart; ignores other records. */
  resume(kept: readonly EventRecord[], now: number): void {
    this.#turnTo(now);
    for (const record of kept) {
      const event = eventOf(record);
      if (event?.kind !== 'refusal' && event?.kind !== 'unasked') continue;
      if (event.host !== this.#host || hourOf(record.at) !== this.#hour) continue;
      const { id, at, kind, last_at: lastAt, ...told } = event;
      const { ownerId, ownerKey } = record;
      const body = { ...noRuling, ...told, lastAt };
      this.#put({ ...body, ownerId, ownerKey }, { id, at: record.at, ownerId, ownerKey, body });
    }
  }

  /** `now`: milliseconds since 1970. */
  add(refusal: RefusalRecord, refused: Refused, now: number): void {
    this.#turnTo(now);
    const { by, used, limit, group, rule, per, share, unit, file } = refusal.decision;
    const bound = { per, share, unit, file: file?.name?.slice(0, longestPath), object: file?.object };
    const ruling = { used, limit, group, rule, ...bound, full_disk: by === 'disk' };
    const place = this.#placeFor(refusal, refused);
    // A sum over several owners has no single limit.
    this.#addTo(place, refusal.owner, place.ownerKey === null ? {} : ruling, now);
    this.#addToDay(now);
  }

  addUnasked({ per: unasked, ...told }: UnaskedRecord, letThrough: Refused, now: number): void {
    this.#turnTo(now);
    const place = this.#placeFor({ ...told, mode: 'enforce', unasked }, letThrough);
    this.#addTo(place, told.owner, {}, now);
  }

  #addTo(place: Place, owner: string, ruling: Partial<Body>, now: number): void {
    const sum = this.#sums.get(nameOf(place)) ?? this.#begin(place, owner, now);
    sum.body = { ...sum.body, ...ruling, count: sum.body.count + 1, lastAt: isoTime(now) };
    this.#changed.add(sum);
  }

  /** Takes the sums that have changed since the last call. */
  take(): readonly EventRecord[] {
    const taken = [...this.#changed].map(({ body, ...record }) => ({
      ...record,
      kind: kindOf(body),
      text: JSON.stringify(body),
    }));
    this.#changed.clear();
    const days = [...this.#changedDays].map(({ id, at, count }) => ({
      id,
      kind: dayKind,
      at,
      ownerId: null,
      ownerKey: null,
      text: JSON.stringify({ count }),
    }));
    this.#changedDays.clear();
    return [...taken, ...days];
  }

  #addToDay(now: number): void {
    const day = dayOf(now);
    if (this.#day?.day !== day) this.#day = { id: this.#ids.next(), at: now, day, count: 0 };
    this.#day.count += 1;
    this.#changedDays.add(this.#day);
  }

  #turnTo(now: number): void {
    const hour = hourOf(now);
    if (hour === this.#hour) return;
    this.#hour = hour;
    this.#sums = new Map();
    this.#taken = new Map();
  }

  /**
   * Returns the sum to count in: its own, or without room, that of the owner's others, or that of all others.
   */
  #placeFor(
    { actor, subject, mode, unasked }: Omit<RefusalRecord, 'decision'> & Pick<Place, 'unasked'>,
    { key: ownerKey, record }: Refused,
  ): Place {
    const ownerId = record?.id ?? null;
    const named = { actor: actor === '' ? null : actor, subject, mode, others: false };
    const own: Place = { ownerId, ownerKey, ...named, ...given({ unasked }) };
    if (this.#sums.has(nameOf(own))) return own;
    const isFull = this.#takenBy(kindOf(own)) >= this.#limits.sums;
    if (!isFull && this.#takenBy(ofOwner(own)) < this.#limits.ofAnOwner) return own;
    const others = { ...own, actor: null, others: true };
    if (!isFull || this.#sums.has(nameOf(others))) return others;
    return { ...others, ownerId: null, ownerKey: null };
  }

  #begin(place: Place, owner: string, now: number): Sum {
    const { ownerId, ownerKey, ...named } = place;
    const sum: Sum = {
      id: this.#ids.next(),
      at: now,
      ownerId,
      ownerKey,
      body: {
        ...noRuling,
        ...named,
        owner: ownerKey === null ? null : owner,
        host: this.#host,
        count: 0,
        lastAt: isoTime(now),
      },
    };
    this.#put(place, sum);
    return sum;
  }

  #put(place: Place, sum: Sum): void {
    this.#sums.set(nameOf(place), sum);
    const { ownerKey, others } = place;
    const counted = [kindOf(place), ...(ownerKey !== null && !others ? [ofOwner(place)] : [])];
    for (const name of counted) this.#taken.set(name, this.#takenBy(name) + 1);
  }

  #takenBy(name: string): number {
    return this.#taken.get(name) ?? 0;
  }
}

/** Separates the two kinds, so that unchecked actions never use up the room of refusals. */
function kindOf({ unasked }: Pick<Body, 'unasked'>): 'refusal' | 'unasked' {
  return unasked === undefined ? 'refusal' : 'unasked';
}

function ofOwner(place: Pick<Place, 'ownerKey' | 'unasked'>): string {
  return `${kindOf(place)}\0${place.ownerKey ?? ''}`;
}

/** Keys and actors contain no NUL. The id separates owners who had the same name one after the other. */
function nameOf({ others, ownerId, ownerKey, actor, subject, mode, unasked }: Place): string {
  return `${unasked ?? ''}\0${others}\0${ownerId ?? ''}\0${ownerKey ?? ''}\0${actor ?? ''}\0${subject}\0${mode}`;
}
