/**
 * Bytes that are promised to actions and not measured yet, by owner. Only memory.
 *
 * A reservation ends when its bytes are measured or reported, when it is released, or with its time,
 * whichever is first. How its bytes are found again depends on who took it:
 *
 * - `reported`: whoever took it says when the bytes are there, or that they never come.
 * - `landed`: a hook says that the push is over; then it ends with the next walk of the unit, which sees all. What
 *   walks see earlier counts once: so much less is reserved in that unit.
 * - `grown`: nobody says anything, so whatever the owner's usage grows by is taken to be it, the oldest first.
 *
 * Anybody may ask for one. So there is a most for each owner and for all together. What actions bring beyond
 * that is added to a sum that ends with its time: it is never forgotten.
 */

import { SoftquotaError } from '../errors.ts';
import { bytesUnder, type Reserved, type ReservedBytes, type Usage } from '../quota/index.ts';
import type { Clock } from './clock.ts';

export type ReservationEnd = 'reported' | 'landed' | 'grown';

export interface Reservation {
  /** No other of the same owner has it. */
  readonly id: string;
  readonly ownerKey: string;
  /** The leaves that the bytes may come under. */
  readonly mask: number;
  readonly bytes: number;
  readonly end: ReservationEnd;
  /** On the monotonic clock, milliseconds. */
  readonly expiresAt: number;
  /** The unit that the bytes go to; null: unknown. */
  readonly unit: string | null;
  /** The bytes were in place when walks had this place in their order; null: that is not known. */
  readonly landedSeq: number | null;
}

/** A reservation as it outlives a restart. */
export interface KeptReservation extends Omit<Reservation, 'expiresAt' | 'landedSeq'> {
  readonly hasLanded: boolean;
  /** In milliseconds since 1970. */
  readonly endsAt: number;
}

/** The longest that a reservation may last without being renewed. */
const longestMs = 3_600_000;

export interface ReservationsOptions {
  readonly clock: Clock;
  /** The reservations of an owner have changed. */
  onChange(ownerKey: string): void;
  readonly mostOfOwner?: number;
  readonly mostInAll?: number;
}

/** The reservations of one owner. */
interface Book {
  /** The oldest first. */
  readonly byId: Map<string, Reservation>;
  /** Null: to be added up again. */
  sums: Reserved | null;
  /** The usage up to which growth is accounted for. */
  seen: Usage | null;
  nextExpiry: number;
}

const noReservations: ReadonlyMap<string, Reservation> = new Map();

export class Reservations {
  readonly #options: Required<ReservationsOptions>;
  readonly #books = new Map<string, Book>();
  /** Those that are reported, by id. */
  readonly #claims = new Map<string, string>();
  /** The owners who have reservations, by the units that the bytes go to. */
  readonly #ownersByUnit = new Map<string, Set<string>>();
  /** By unit, the bytes that walks have seen of pushes whose end nobody has told yet. */
  readonly #seenByUnit = new Map<string, number>();
  #count = 0;
  #version = 0;
  #alarm: NodeJS.Timeout | null = null;
  #onEnded: (reservation: Reservation) => void = () => {};

  constructor(options: ReservationsOptions) {
    this.#options = { mostOfOwner: 1000, mostInAll: 100_000, ...options };
  }

  /** Calls back with each reservation that ends, also where its time has ended. */
  set onEnded(ended: (reservation: Reservation) => void) {
    this.#onEnded = ended;
  }

  /** Another number after each change. */
  get version(): number {
    return this.#version;
  }

  /** All of them, for after a restart. */
  kept(): readonly KeptReservation[] {
    const { clock } = this.#options;
    const offset = clock.wall() - clock.monotonic();
    return this.all.map(({ expiresAt, landedSeq, ...rest }) => ({
      ...rest,
      hasLanded: landedSeq !== null,
      endsAt: Math.max(Math.round(expiresAt + offset), 0),
    }));
  }

  /** Takes those of an earlier life. The clock may have been set since: none lasts longer than a new one. */
  restoreKept(kept: readonly KeptReservation[]): void {
    const { clock } = this.#options;
    for (const { hasLanded, endsAt, ...rest } of kept) {
      const leftMs = Math.min(endsAt - clock.wall(), longestMs);
      const landedSeq = hasLanded ? 0 : null;
      if (leftMs > 0) this.#put({ ...rest, landedSeq, expiresAt: clock.monotonic() + leftMs }, null);
    }
  }

  get all(): readonly Reservation[] {
    return [...this.#books.values()].flatMap(({ byId }) => [...byId.values()]);
  }

  /** Null: none. `usage` is the owner's now, where it can be added up. */
  of(ownerKey: string, usage: Usage | null): Reserved | null {
    if (this.#count === 0) return null;
    const book = this.#books.get(ownerKey);
    if (book === undefined) return null;
    if (this.#options.clock.monotonic() >= book.nextExpiry) this.#expire(ownerKey, book);
    if (usage !== null && book.seen !== usage) this.#settleGrowth(book, usage);
    if (book.byId.size === 0) return null;
    book.sums ??= this.#sumsOf(book.byId.values());
    return book.sums;
  }

  /** The same without those of these ids, however they count. */
  besides(ownerKey: string, ids: ReadonlySet<string>): readonly ReservedBytes[] {
    const rest = [...this.ofOwner(ownerKey).values()].filter(({ id }) => !ids.has(id));
    const { claimed, expected } = this.#sumsOf(rest);
    return [...claimed, ...expected];
  }

  ofOwner(ownerKey: string): ReadonlyMap<string, Reservation> {
    return this.#books.get(ownerKey)?.byId ?? noReservations;
  }

  /** One that is reported, while its time lasts. */
  claim(id: string): Reservation | null {
    const ownerKey = this.#claims.get(id);
    if (ownerKey === undefined) return null;
    const found = this.ofOwner(ownerKey).get(id) ?? null;
    if (found === null || found.expiresAt > this.#options.clock.monotonic()) return found;
    this.release([found]);
    return null;
  }

  /**
   * Adds one, in place of the owner's with the same id; gives what holds its bytes. Throws
   * `too_many_reservations`.
   */
  hold(asked: Omit<Reservation, 'landedSeq'>, usage: Usage | null): Reservation {
    const { mostOfOwner, mostInAll } = this.#options;
    const book = this.#books.get(asked.ownerKey);
    const before = book?.byId.get(asked.id);
    if (before !== undefined) this.#remove(before);
    const isFull = (book?.byId.size ?? 0) >= mostOfOwner || this.#count >= mostInAll;
    if (!isFull) return this.#put({ ...asked, landedSeq: null }, usage);
    const restId = `rest ${asked.end} ${asked.mask}`;
    const rest = book?.byId.get(restId);
    if (asked.end === 'reported' || (rest === undefined && this.#count >= 2 * mostInAll)) {
      throw new SoftquotaError(
        'too_many_reservations',
        `there are ${this.#count} reservations, ${book?.byId.size ?? 0} of this owner; at most ${mostInAll} and ${mostOfOwner} are possible`,
      );
    }
    if (rest !== undefined) this.#remove(rest);
    const bytes = Math.min((rest?.bytes ?? 0) + asked.bytes, Number.MAX_SAFE_INTEGER);
    const expiresAt = Math.max(rest?.expiresAt ?? 0, asked.expiresAt);
    return this.#put({ ...asked, id: restId, bytes, expiresAt, unit: null, landedSeq: null }, usage);
  }

  /** Puts in as they are; for those that were taken out a moment ago. */
  restore(reservations: readonly Reservation[], usage: Usage | null): void {
    for (const each of reservations) this.#put(each, usage);
  }

  /** Gives one another end of its time. */
  renew(reservation: Reservation, expiresAt: number): Reservation {
    const renewed = { ...reservation, expiresAt };
    this.#replace(reservation, renewed);
    return renewed;
  }

  /** Takes out without telling `onEnded`. */
  lift(reservations: readonly Reservation[]): void {
    for (const each of reservations) this.#remove(each);
  }

  release(reservations: readonly Reservation[]): void {
    for (const each of reservations) {
      this.#remove(each);
      this.#onEnded(each);
    }
  }

  /** The bytes are in place in this unit by now, as whoever took it says: the next walk sees them. */
  landed(reservation: Reservation, unit: string, seq: number): void {
    this.#replace(reservation, { ...reservation, unit, landedSeq: reservation.landedSeq ?? seq });
  }

  /** A moment of the monotonic clock as a time for people. */
  timeOf(monotonicMs: number): string {
    const { clock } = this.#options;
    return new Date(clock.wall() + monotonicMs - clock.monotonic()).toISOString();
  }

  /** The reservation of a push to this unit. */
  ofPush(unit: string, id: string): Reservation | null {
    for (const ownerKey of this.#ownersByUnit.get(unit) ?? []) {
      const found = this.ofOwner(ownerKey).get(id);
      if (found?.unit === unit) return found;
    }
    return null;
  }

  /**
   * A walk of the unit that began at `seq` has seen all that was there, unless some of it is held. The unit
   * grew by so many bytes; 0 where that is not known.
   */
  measured(unit: string, seq: number, grownBytes: number, isHeld: boolean): void {
    const owners = this.#ownersByUnit.get(unit);
    if (owners === undefined) return;
    this.#setSeen(unit, (this.#seenByUnit.get(unit) ?? 0) + grownBytes);
    for (const ownerKey of isHeld ? [] : [...owners]) {
      const inPlace = [...this.ofOwner(ownerKey).values()].filter(
        each => each.unit === unit && each.landedSeq !== null && each.landedSeq < seq,
      );
      for (const each of inPlace) this.#setSeen(unit, (this.#seenByUnit.get(unit) ?? 0) - each.bytes);
      this.release(inPlace);
    }
    for (const ownerKey of owners) this.#changedOf(ownerKey);
  }

  #setSeen(unit: string, bytes: number): void {
    if (bytes > 0) this.#seenByUnit.set(unit, bytes);
    else this.#seenByUnit.delete(unit);
  }

  #changedOf(ownerKey: string): void {
    const book = this.#books.get(ownerKey);
    if (book !== undefined) this.#changed(ownerKey, book);
  }

  close(): void {
    if (this.#alarm !== null) clearTimeout(this.#alarm);
    this.#alarm = null;
  }

  #put(reservation: Reservation, usage: Usage | null): Reservation {
    const { ownerKey, id, unit, end, expiresAt } = reservation;
    const book = this.#books.get(ownerKey) ?? {
      byId: new Map<string, Reservation>(),
      sums: null,
      seen: null,
      nextExpiry: Number.POSITIVE_INFINITY,
    };
    this.#books.set(ownerKey, book);
    if (book.byId.size === 0) book.seen = usage;
    const before = book.byId.get(id);
    book.byId.set(id, reservation);
    if (before !== undefined) {
      this.#count -= 1;
      if (before.unit !== unit) this.#unlink(book, before);
    }
    book.nextExpiry = Math.min(book.nextExpiry, expiresAt);
    this.#count += 1;
    if (end === 'reported') this.#claims.set(id, ownerKey);
    if (unit !== null) {
      const owners = this.#ownersByUnit.get(unit) ?? new Set();
      this.#ownersByUnit.set(unit, owners.add(ownerKey));
    }
    this.#changed(ownerKey, book);
    return reservation;
  }

  #remove({ ownerKey, id, unit }: Reservation): void {
    const book = this.#books.get(ownerKey);
    if (book?.byId.delete(id) !== true) return;
    this.#count -= 1;
    this.#claims.delete(id);
    if (book.byId.size === 0) this.#books.delete(ownerKey);
    this.#unlink(book, { ownerKey, unit });
    this.#changed(ownerKey, book);
  }

  /** Forgets that the owner has one in this unit, unless there is another. */
  #unlink(book: Book, { ownerKey, unit }: Pick<Reservation, 'ownerKey' | 'unit'>): void {
    if (unit === null) return;
    for (const each of book.byId.values()) if (each.unit === unit) return;
    const owners = this.#ownersByUnit.get(unit);
    owners?.delete(ownerKey);
    if (owners?.size !== 0) return;
    this.#ownersByUnit.delete(unit);
    this.#seenByUnit.delete(unit);
  }

  #sumsOf(reservations: Iterable<Reservation>): Reserved {
    const claimed = new Map<number, number>();
    const expected = new Map<number, number>();
    const seen = new Map<string, number>();
    for (const { end, mask, bytes, unit } of reservations) {
      const sums = end === 'reported' ? claimed : expected;
      const known =
        end === 'landed' && unit !== null ? (seen.get(unit) ?? this.#seenByUnit.get(unit) ?? 0) : 0;
      const rest = Math.max(bytes - known, 0);
      if (known > 0 && unit !== null) seen.set(unit, known - (bytes - rest));
      if (rest > 0) sums.set(mask, Math.min((sums.get(mask) ?? 0) + rest, Number.MAX_SAFE_INTEGER));
    }
    return { claimed: listOf(claimed), expected: listOf(expected) };
  }

  /** At its place, so that the order of age stays. */
  #replace(before: Reservation, after: Reservation): void {
    const book = this.#books.get(before.ownerKey);
    if (book?.byId.has(before.id) === true) this.#put(after, book.seen);
  }

  #changed(ownerKey: string, book: Book): void {
    book.sums = null;
    this.#version += 1;
    this.#options.onChange(ownerKey);
    this.#setAlarm();
  }

  /** Whatever the leaves grew by since was on its way before. */
  #settleGrowth(book: Book, usage: Usage): void {
    const before = book.seen;
    book.seen = usage;
    if (before === null) return;
    const left = usage.map((bytes, index) => Math.max(bytes - (before[index] ?? 0), 0));
    if (left.every(bytes => bytes === 0)) return;
    for (const each of [...book.byId.values()]) {
      if (each.end !== 'grown') continue;
      const taken = Math.min(bytesUnder(left, each.mask), each.bytes);
      if (taken === 0) continue;
      takeFrom(left, each.mask, taken);
      if (taken === each.bytes) this.release([each]);
      else this.#replace(each, { ...each, bytes: each.bytes - taken });
    }
  }

  #expire(ownerKey: string, book: Book): void {
    const now = this.#options.clock.monotonic();
    const all = [...this.ofOwner(ownerKey).values()];
    book.nextExpiry = Math.min(
      ...all.map(({ expiresAt }) => expiresAt).filter(expiresAt => expiresAt > now),
      Number.POSITIVE_INFINITY,
    );
    this.release(all.filter(({ expiresAt }) => expiresAt <= now));
  }

  /** Others are told of what has ended, though nobody asks about the owner. */
  #setAlarm(): void {
    if (this.#alarm !== null || this.#count === 0) return;
    this.#alarm = setTimeout(() => {
      this.#alarm = null;
      const now = this.#options.clock.monotonic();
      for (const [ownerKey, book] of [...this.#books]) {
        if (book.nextExpiry <= now) this.#expire(ownerKey, book);
      }
      this.#setAlarm();
    }, alarmMs).unref();
  }
}

/** Between two looks for those whose time has ended. */
const alarmMs = 1000;

function listOf(sums: ReadonlyMap<number, number>): readonly ReservedBytes[] {
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
