/**
 * Bytes that uploads have reserved and that are not measured yet, by owner. They are only in memory: after a
 * restart, the next walk counts the bytes.
 *
 * A reservation ends when it is released or expires. If a program reports its end (`isReported`), it ends
 * with the first walk of its unit that began after the bytes were in place. Otherwise growth of the owner's
 * usage releases as many reserved bytes, the oldest reservation first.
 *
 * Anybody may cause a reservation, so their number is limited, per owner and in all. Beyond that,
 * reservations whose end nobody reports are added to one sum per owner and kind of data, which expires.
 */

import { SoftquotaError } from '../errors.ts';
import {
  bytesUnder,
  leafMask,
  type PooledBytes,
  type ReservedBytes,
  type Subject,
  type Usage,
} from '../quota/index.ts';
import type { Account } from './account.ts';
import type { ActionThings, Clock, OwnerDecision, OwnerUsage } from './options.ts';

export interface Reservation {
  readonly id: string;
  readonly ownerKey: string;
  /** The leaves that the bytes may belong to. */
  readonly mask: number;
  readonly bytes: number;
  /** True if a program reports that the bytes are in place, or that they never come. */
  readonly isReported: boolean;
  /** The unit that the bytes go to; null: unknown. */
  readonly unit: string | null;
  /** On the monotonic clock, milliseconds. */
  readonly expiresAt: number;
  /** The place in the order of walks when the bytes were reported to be in place; absent: not reported. */
  readonly landedSeq?: number;
}

/** An upload that is about to start. */
export interface Action extends Pick<Reservation, 'isReported' | 'unit'> {
  readonly ownerName: string;
  readonly subject: Subject;
  /**
   * The parts of the upload. They replace the owner's reservations with these ids, from an earlier attempt.
   */
  readonly parts: readonly { readonly id: string; readonly bytes: number }[];
  readonly seconds: number;
  readonly things?: ActionThings | undefined;
}

export interface Admission extends OwnerDecision {
  /** Empty if the upload is refused, has no bytes, or quotas are off and no program reports its end. */
  readonly reservations: readonly Reservation[];
}

interface ReservationsOptions {
  readonly clock: Clock;
  onChange(ownerKey: string): void;
  readonly mostOfOwner?: number;
  readonly mostInAll?: number;
}

interface Book {
  /** The oldest first. */
  readonly byId: Map<string, Reservation>;
  /** The bytes by mask; null: to be added up again. */
  sums: readonly ReservedBytes[] | null;
  /** Growth of usage up to this has released reservations already. */
  seen: Usage;
  nextExpiry: number;
}

/** Milliseconds between two searches for expired reservations. */
const expiryLookMs = 1000;

const noReservations: ReadonlyMap<string, Reservation> = new Map();

export class Reservations {
  readonly #options: Required<ReservationsOptions>;
  readonly #books = new Map<string, Book>();
  /** The key of the owner, by the id of the reservation. */
  readonly #owners = new Map<string, string>();
  /** Ends expired reservations, so that watchers are notified even if nothing reads the owner. */
  readonly #timer: NodeJS.Timeout;
  #count = 0;

  constructor(options: ReservationsOptions) {
    this.#options = { mostOfOwner: 1000, mostInAll: 100_000, ...options };
    this.#timer = setInterval(() => {
      for (const [ownerKey, book] of this.#books) this.#expire(ownerKey, book);
    }, expiryLookMs).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Returns reserved bytes by mask, in a new list after each change; null: none. `usage` is the owner's. */
  of(ownerKey: string, usage: Usage): readonly ReservedBytes[] | null {
    const book = this.#books.get(ownerKey);
    if (book === undefined) return null;
    this.#expire(ownerKey, book);
    this.#settleGrowth(book, usage);
    if (book.byId.size === 0) return null;
    book.sums ??= sumsOf(book.byId.values());
    return book.sums;
  }

  /** Adds up some of an owner's reservations. */
  where(ownerKey: string, counts: (reservation: Reservation) => boolean): readonly ReservedBytes[] | null {
    const found = [...this.ofOwner(ownerKey).values()].filter(counts);
    return found.length === 0 ? null : sumsOf(found);
  }

  ofOwner(ownerKey: string): ReadonlyMap<string, Reservation> {
    return this.#books.get(ownerKey)?.byId ?? noReservations;
  }

  byId(id: string): Reservation | null {
    const ownerKey = this.#owners.get(id);
    const book = ownerKey === undefined ? undefined : this.#books.get(ownerKey);
    if (ownerKey === undefined || book === undefined) return null;
    this.#expire(ownerKey, book);
    return book.byId.get(id) ?? null;
  }

  /**
   * Adds a reservation, or replaces the one with its id. Returns the reservation that holds the bytes, which
   * may be the sum of many. Throws `too_many_reservations`.
   */
  hold(asked: Reservation, usage: Usage): Reservation {
    const { mostOfOwner, mostInAll } = this.#options;
    const { ownerKey, isReported, mask } = asked;
    const book = this.#books.get(ownerKey) ?? {
      byId: new Map<string, Reservation>(),
      sums: null,
      seen: usage,
      nextExpiry: Number.POSITIVE_INFINITY,
    };
    const isFull = book.byId.size >= mostOfOwner || this.#count >= mostInAll;
    if (!isFull || book.byId.has(asked.id)) return this.#put(book, asked);
    const restId = `rest ${ownerKey} ${mask}`;
    const rest = book.byId.get(restId);
    if (isReported || (rest === undefined && this.#count >= 2 * mostInAll)) {
      const message = `there are ${this.#count} reservations, ${book.byId.size} of this owner; at most ${mostInAll} and ${mostOfOwner} are possible`;
      throw new SoftquotaError('too_many_reservations', message);
    }
    const bytes = Math.min((rest?.bytes ?? 0) + asked.bytes, Number.MAX_SAFE_INTEGER);
    const expiresAt = Math.max(rest?.expiresAt ?? 0, asked.expiresAt);
    return this.#put(book, { ...asked, id: restId, bytes, expiresAt, unit: null });
  }

  replace(reservation: Reservation, changes: Partial<Reservation>): Reservation {
    const changed = { ...reservation, ...changes };
    const book = this.#books.get(reservation.ownerKey);
    return book?.byId.has(reservation.id) === true ? this.#put(book, changed) : changed;
  }

  release({ ownerKey, id }: Reservation): void {
    const book = this.#books.get(ownerKey);
    if (book?.byId.delete(id) !== true) return;
    this.#count -= 1;
    if (this.#owners.get(id) === ownerKey) this.#owners.delete(id);
    if (book.byId.size === 0) this.#books.delete(ownerKey);
    this.#changed(ownerKey, book);
  }

  /** Ends the reservations of a unit whose bytes were in place before its walk, which the account counts. */
  measured(ownerKey: string, unit: string, seq: number, account: Pick<Account, 'fits' | 'usage'>): void {
    const book = this.#books.get(ownerKey);
    if (book === undefined) return;
    // Growth is settled first, so that bytes of a reservation that ends here do not release others.
    if (account.fits) this.#settleGrowth(book, account.usage);
    for (const each of [...book.byId.values()]) {
      if (each.unit === unit && each.landedSeq !== undefined && each.landedSeq < seq) this.release(each);
    }
  }

  renew(reservation: Reservation, seconds: number): Reservation {
    return this.replace(reservation, { expiresAt: this.endIn(seconds) });
  }

  /** Returns the moment in so many seconds, on the monotonic clock. */
  endIn(seconds: number): number {
    return this.#options.clock.monotonic() + seconds * 1000;
  }

  /** Converts a moment of the monotonic clock to ISO 8601. */
  timeOf(monotonicMs: number): string {
    const { clock } = this.#options;
    return new Date(clock.wall() + monotonicMs - clock.monotonic()).toISOString();
  }

  /** Adds a reservation, or replaces the one with its id at the same place in the order of age. */
  #put(book: Book, reservation: Reservation): Reservation {
    const { ownerKey, id, expiresAt } = reservation;
    if (!book.byId.has(id)) this.#count += 1;
    this.#books.set(ownerKey, book);
    book.byId.set(id, reservation);
    book.nextExpiry = Math.min(book.nextExpiry, expiresAt);
    this.#owners.set(id, ownerKey);
    this.#changed(ownerKey, book);
    return reservation;
  }

  #changed(ownerKey: string, book: Book): void {
    book.sums = null;
    this.#options.onChange(ownerKey);
  }

  #settleGrowth(book: Book, usage: Usage): void {
    const before = book.seen;
    if (before === usage) return;
    book.seen = usage;
    const left = usage.map((bytes, index) => Math.max(bytes - (before[index] ?? 0), 0));
    if (left.every(bytes => bytes === 0)) return;
    for (const each of [...book.byId.values()]) {
      const taken = each.isReported ? 0 : Math.min(bytesUnder(left, each.mask), each.bytes);
      if (taken === 0) continue;
      takeFrom(left, each.mask, taken);
      if (taken === each.bytes) this.release(each);
      else this.#put(book, { ...each, bytes: each.bytes - taken });
    }
  }

  #expire(ownerKey: string, book: Book): void {
    const now = this.#options.clock.monotonic();
    if (now < book.nextExpiry) return;
    book.nextExpiry = Number.POSITIVE_INFINITY;
    for (const each of [...this.ofOwner(ownerKey).values()]) {
      if (each.expiresAt <= now) this.release(each);
      else book.nextExpiry = Math.min(book.nextExpiry, each.expiresAt);
    }
  }
}

function sumsOf(reservations: Iterable<Reservation>): readonly ReservedBytes[] {
  const sums = new Map<number, number>();
  for (const { mask, bytes } of reservations) {
    sums.set(mask, Math.min((sums.get(mask) ?? 0) + bytes, Number.MAX_SAFE_INTEGER));
  }
  return [...sums].map(([mask, bytes]) => ({ mask, bytes }));
}

function takeFrom(left: number[], mask: number, bytes: number): void {
  let rest = bytes;
  for (const [index, there] of left.entries()) {
    if ((mask & (1 << index)) === 0) continue;
    const taken = Math.min(there, rest);
    left[index] = there - taken;
    rest -= taken;
  }
}

/** Divides the room of owners and groups between hosts while Redis is away: each host assumes that all grant as much. */
export class RoomApart {
  readonly #hostsApart: () => number;
  /** By an owner's id or a group's name: the bytes here at the first question about it since Redis is away. */
  readonly #before = new Map<number | string, Usage>();

  /** `hostsApart` counts the hosts that are cut off from each other; 1: none is. */
  constructor(hostsApart: () => number) {
    this.#hostsApart = hostsApart;
  }

  /** Adds the bytes that other hosts may have granted: each as many as this one. `own`: the usage here. */
  reserved(
    { id, reserved }: { readonly id: number | string | null } & Pick<OwnerUsage, 'reserved'>,
    own: Usage,
    subject: Subject,
    addingBytes: number,
  ): OwnerUsage['reserved'] {
    if (addingBytes === 0) return reserved;
    const others = this.#hostsApart() - 1;
    if (others < 1) {
      this.#before.clear();
      return reserved;
    }
    const before = (id === null ? undefined : this.#before.get(id)) ?? own;
    if (id !== null) this.#before.set(id, before);
    const granted: readonly ReservedBytes[] = [
      ...grownBytes(before, own),
      ...(reserved ?? []),
      { mask: leafMask(subject), bytes: addingBytes },
    ];
    const ofOthers = granted.map(({ mask, bytes }) => ({
      mask,
      bytes: Math.min(others * bytes, Number.MAX_SAFE_INTEGER),
    }));
    return [...(reserved ?? []), ...ofOthers];
  }

  /** Does the same for a group. Bytes on other hosts do not change meanwhile, so all growth is here. */
  ofPool(group: string, pool: PooledBytes, subject: Subject, addingBytes: number): PooledBytes {
    const reserved = this.reserved({ id: group, reserved: pool.reserved }, pool.usage, subject, addingBytes);
    return { ...pool, reserved };
  }
}

/**
 * Returns growth by leaf, without bytes that only moved from one leaf to another, for example because a
 * repository became public.
 */
function grownBytes(before: Usage, now: Usage): readonly ReservedBytes[] {
  const changes = now.map((bytes, at) => bytes - (before[at] ?? 0));
  let gone = changes.reduce((sum, bytes) => sum - Math.min(0, bytes), 0);
  return changes.flatMap((bytes, at) => {
    if (bytes <= 0) return [];
    const moved = Math.min(bytes, gone);
    gone -= moved;
    return bytes === moved ? [] : [{ mask: 1 << at, bytes: bytes - moved }];
  });
}
