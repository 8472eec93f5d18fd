/**
 * The pushes into one repository, and the quarantines there that belong to no push (strays): the bytes that
 * each counts in addition to the last walk, and how it ended. All of it is only in memory.
 *
 * A push counts its measured bytes, or those seen in its quarantine if they are more. After its quarantine is
 * gone, an accepted push counts until a walk that began later has ended. A stray counts from one minute after
 * its birth, even if it is still written to. Pushes into a repository that another host walks count here by
 * reservations.
 */

import { SoftquotaError } from '../errors.ts';
import type { AllowedPush } from '../gate/index.ts';
import type { Quarantine } from '../layout/index.ts';
import type { Ledger } from '../ledger/index.ts';
import { leafMask } from '../quota/index.ts';
import type { FoundQuarantine, FoundQuarantines, ListedQuarantine, PushFacts } from '../scan/index.ts';

export const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** Longest list of refs that is compared, in characters; for a longer one any post-receive may be its own. */
const mostLines = 16_384;
/** Most ended pushes that are remembered because their post-receive may still come. */
const mostSettled = 100;

interface Arriving {
  readonly name: string;
  /** Null: the quarantine was never seen. */
  readonly id: string | null;
  readonly isPush: boolean;
  /** Null: nobody could measure it. */
  readonly bytes: number | null;
  readonly sample: string | null;
  readonly lines: string;
  /** Its place in the order of walks. */
  readonly beganSeq: number;
  /** The beginning of the push, or the birth of the stray, on the monotonic clock. */
  readonly since: number;
  /** Tells whether its content cannot be read. */
  readonly isUnreadable: boolean;
  readonly hasArrived: boolean;
  readonly end: { readonly seq: number; readonly isTaken: boolean } | null;
}

interface SettledPush {
  readonly lines: string;
  readonly hasCounted: boolean;
  readonly until: number;
}

type BeginningPush = Pick<AllowedPush, 'lines' | 'quarantine'> & { readonly name: string };

export class PushBook {
  /** Pushes and strays by the names of their quarantines. */
  readonly #arriving = new Map<string, Arriving>();
  #settled: readonly SettledPush[] = [];
  /** Quarantines that have ended, which a look that began earlier may still show. */
  #ended: readonly { readonly key: string; readonly until: number }[] = [];

  get listed(): readonly ListedQuarantine[] {
    return this.#open.map(({ name, sample }) => ({ name, sample }));
  }

  /** Quarantines that the daemon cannot read, and that the worker has to measure. */
  get unreadable(): readonly string[] {
    return this.#open
      .filter(({ isUnreadable, isPush, bytes }) => isUnreadable && (!isPush || bytes === null))
      .map(({ name }) => name);
  }

  get pushCount(): number {
    return [...this.#arriving.values()].filter(({ isPush }) => isPush).length;
  }

  /** Tells whether something is under way, or waits for a walk. */
  get isActive(): boolean {
    return this.#arriving.size > 0;
  }

  /** Returns the bytes that count in addition to the last walk. */
  bytes(now: number): number {
    return [...this.#arriving.values()].reduce((sum, each) => sum + countedOf(each, now), 0);
  }

  /** Returns the strays that count. */
  strays(now: number): readonly { readonly bytes: number; readonly ageMs: number }[] {
    return this.#open
      .filter(each => !each.isPush && countedOf(each, now) > 0)
      .map(each => ({ bytes: countedOf(each, now), ageMs: now - each.since }));
  }

  /** `seq`: the push's place in the order of walks. */
  begin({ name, quarantine, lines }: BeginningPush, seq: number, now: number): void {
    this.#arriving.set(name, {
      name,
      id: quarantine?.id ?? null,
      isPush: true,
      bytes: quarantine?.bytes ?? null,
      sample: quarantine?.sample ?? null,
      lines: lines.length > mostLines ? '' : lines,
      beganSeq: seq,
      since: now,
      isUnreadable: quarantine === null,
      hasArrived: false,
      end: null,
    });
  }

  /** Restarts the minute of a stray when a check asks about it, so that it does not count in the answer. */
  asked(name: string, now: number): void {
    const known = this.#arriving.get(name);
    if (known?.isPush === false) this.#arriving.set(name, { ...known, since: now });
  }

  withdraw(name: string, now: number): void {
    const known = this.#arriving.get(name);
    if (known?.end === null) this.#arriving.set(name, { ...known, isPush: false, since: now });
  }

  /** Takes a post-receive. Returns false if it belongs to no known push. */
  arrived(lines: string, now: number): boolean {
    const [first = ''] = lines.split('\n');
    const isSame = (of: string): boolean => of === '' || of.split('\n').includes(first);
    for (const each of this.#arriving.values()) {
      if (!each.isPush || each.hasArrived || !isSame(each.lines)) continue;
      this.#arriving.set(each.name, { ...each, hasArrived: true });
      return true;
    }
    const settled = this.#settled.find(each => each.until > now && isSame(each.lines));
    this.#settled = this.#settled.filter(each => each !== settled);
    return settled?.hasCounted === true;
  }

  /**
   * Takes the quarantines that were found. `wallNow`: the time now, in milliseconds since 1970, to compare
   * with times of birth; null if these come from another clock. Returns true if a quarantine has ended.
   */
  saw({ there, gone }: FoundQuarantines, seq: number, now: number, wallNow: number | null): boolean {
    let hasEnded = false;
    for (const each of there) {
      const known = this.#arriving.get(each.name);
      if (known !== undefined && known.id !== null && known.id !== each.id && known.end === null)
        hasEnded = this.#end(each.name, false, seq, now) || hasEnded;
      this.#sawOne(each, seq, now, wallNow);
    }
    for (const { name, isTaken } of gone) hasEnded = this.#end(name, isTaken, seq, now) || hasEnded;
    return hasEnded;
  }

  /** Takes the worker's measurement of a quarantine that the daemon cannot read. */
  measured({ name, bytes, sample }: Quarantine): void {
    const known = this.#arriving.get(name);
    if (known !== undefined && known.end === null)
      this.#arriving.set(name, { ...known, bytes: Math.max(known.bytes ?? 0, bytes), sample });
  }

  /** Treats pushes that are older than a day as strays. */
  endOld(now: number): void {
    for (const each of this.#open)
      if (each.isPush && now - each.since >= dayMs) this.#arriving.set(each.name, { ...each, isPush: false });
  }

  /** Forgets what ended before the walk with place `seq` began, since that walk counts it. */
  walked(seq: number, now: number): PushFacts {
    const all = [...this.#arriving.values()];
    const earlier = all.filter(({ end }) => end !== null && end.seq <= seq);
    for (const each of earlier) this.#settle(each, now);
    return {
      takenBytes: earlier.reduce((sum, each) => sum + countedOf(each, now), 0),
      hasEnded: all.some(
        ({ beganSeq, end, isPush }) => (isPush && beganSeq > seq) || (end !== null && end.seq > seq),
      ),
      isUnsure: earlier.some(each => each.bytes === null),
    };
  }

  get #open(): readonly Arriving[] {
    return [...this.#arriving.values()].filter(({ end }) => end === null);
  }

  #sawOne(seen: FoundQuarantine, seq: number, now: number, wallNow: number | null): void {
    const { name, id, bytes, sample, isUnreadable } = seen;
    const known = this.#arriving.get(name);
    if (known?.end !== undefined && known.end !== null) return;
    if (known !== undefined) {
      const most = isUnreadable ? known.bytes : Math.max(known.bytes ?? 0, bytes);
      const latest = isUnreadable ? known.sample : (sample ?? known.sample);
      this.#arriving.set(name, { ...known, id, bytes: most, sample: latest, isUnreadable });
      return;
    }
    if (this.#ended.some(({ key, until }) => key === keyOf(seen) && until > now)) return;
    const age = wallNow === null || seen.bornAt === null ? 0 : Math.max(0, wallNow - seen.bornAt);
    this.#arriving.set(name, {
      name,
      id,
      isPush: false,
      bytes: isUnreadable ? null : bytes,
      sample,
      lines: '',
      beganSeq: seq,
      since: now - age,
      isUnreadable,
      hasArrived: false,
      end: null,
    });
  }

  #end(name: string, isTaken: boolean, seq: number, now: number): boolean {
    const known = this.#arriving.get(name);
    if (known === undefined || known.end !== null) return false;
    this.#ended = this.#ended.filter(({ until }) => until > now).slice(-mostSettled);
    if (known.id !== null)
      this.#ended = [...this.#ended, { key: keyOf({ name, id: known.id }), until: now + minuteMs }];
    // The objects of an accepted stray are stored, and count like those of a push.
    if (!known.isPush && !isTaken) this.#arriving.delete(name);
    else this.#arriving.set(name, { ...known, end: { seq, isTaken } });
    return true;
  }

  #settle(each: Arriving, now: number): void {
    this.#arriving.delete(each.name);
    if (!each.isPush || each.hasArrived) return;
    const settled = { lines: each.lines, hasCounted: hasBrought(each), until: now + minuteMs };
    this.#settled = [...this.#settled.filter(({ until }) => until > now), settled].slice(-mostSettled);
  }
}

function countedOf(each: Arriving, now: number): number {
  const bytes = each.bytes ?? 0;
  if (each.end !== null) return hasBrought(each) ? bytes : 0;
  const counts = each.isPush || each.name.startsWith('tmp_objdir-gone-') || now - each.since >= minuteMs;
  return counts ? bytes : 0;
}

function hasBrought({ end, hasArrived }: Arriving): boolean {
  return end?.isTaken === true || hasArrived;
}

function keyOf({ name, id }: { readonly name: string; readonly id: string }): string {
  return `${name} ${id}`;
}

/** Most units that are remembered, since anybody may report that a unit has changed. */
const mostUnsure = 100_000;

/** Units with pushes of unknown size. The result of their next walk counts without comparison. */
export class UnsureUnits {
  /** The first and the last place in the order of walks at which something came. */
  readonly #units = new Map<string, { readonly first: number; readonly last: number }>();

  /** Notes that data of unknown size arrives. A walk with a later place in the order sees it. */
  add(unit: string, seq: number): void {
    const first = this.#units.get(unit)?.first ?? seq;
    if (this.#units.size < mostUnsure || first !== seq) this.#units.set(unit, { first, last: seq });
  }

  /** Tells whether the walk with place `seq` is the first that saw such data. */
  take(unit: string, seq: number): boolean {
    const unsure = this.#units.get(unit);
    if (unsure === undefined || unsure.first > seq) return false;
    if (unsure.last < seq) this.#units.delete(unit);
    else this.#units.set(unit, { first: unsure.last, last: unsure.last });
    return true;
  }

  forget(unit: string): void {
    this.#units.delete(unit);
  }
}

/** Tells whether each of git's lines `OLD NEW REF` deletes a ref. */
export function areDeletions(lines: string): boolean {
  return lines
    .split('\n')
    .filter(line => line !== '')
    .every(line => /^\S+ 0+ /.test(line));
}

type ReservingLedger = Pick<Ledger, 'documents' | 'ownerUsage' | 'reservations'>;

/** Longest time for which such a push counts unless the other host reports it. */
const elsewhereSeconds = 60;

/** Counts a push into a repository of another host, until that host reports the owner's growth. */
export function reserveElsewhere(ledger: ReservingLedger, { unit, quarantine, name }: AllowedPush): void {
  if (unit.owner === null || name === null || quarantine === null) return;
  const { reservations } = ledger;
  const reservation = {
    id: reservationId(unit.path, name),
    ownerKey: ledger.documents.owners.keyOf(unit.owner),
    mask: leafMask(unit.leaf),
    bytes: quarantine.bytes,
    isReported: false,
    unit: unit.path,
    expiresAt: reservations.endIn(elsewhereSeconds),
  };
  try {
    reservations.hold(reservation, ledger.ownerUsage(unit.owner).usage);
  } catch (error) {
    // There are too many reservations: the next walk counts the push.
    if (!(error instanceof SoftquotaError)) throw error;
  }
}

export function releaseElsewhere({ reservations }: ReservingLedger, unit: string, name: string): void {
  const reservation = reservations.byId(reservationId(unit, name));
  if (reservation !== null) reservations.release(reservation);
}

function reservationId(unit: string, name: string): string {
  return `push ${name} ${unit}`;
}
