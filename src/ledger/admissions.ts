/**
 * Lets actions start, and reserves what they bring until it is measured.
 *
 * An action is decided and its bytes are reserved in one step, so that many at once cannot together pass a
 * limit. With several hosts, the shared store takes that step: a host decides by its own usage and
 * reservations, which it knows best, and by those of the others as the store has them. Where the store does
 * not answer in time, the host decides alone by what it knows.
 */

import {
  addBytes,
  bytesUnder,
  decide,
  leafMask,
  leaves,
  limitsFor,
  noUsage,
  type Reserved,
  type ReservedBytes,
  reservedUnder,
  type Standing,
  type Subject,
  type Usage,
} from '../quota/index.ts';
import type { OthersReserved, ReserveRequest } from '../store/index.ts';
import type { OwnerDecision, OwnerUsage } from './answer.ts';
import type { Clock } from './clock.ts';
import type { LedgerSettings } from './options.ts';
import type { Reservation, ReservationEnd, Reservations } from './reservations.ts';
import type { UsageIndex } from './usage-index.ts';

/** An action that is about to start. */
export interface Action {
  readonly ownerName: string;
  readonly subject: Subject;
  /**
   * The parts that it brings. The owner's earlier parts with the same ids are those of an earlier try, and
   * go.
   */
  readonly parts: readonly { readonly id: string; readonly bytes: number }[];
  readonly end: ReservationEnd;
  /** The unit that it goes to, where that is known. */
  readonly unit: string | null;
  readonly seconds: number;
}

export interface Admission extends OwnerDecision {
  /** Empty where nothing is reserved: it is refused, or there is no limit. */
  readonly reservations: readonly Reservation[];
}

/** A request to the shared store to reserve bytes. */
export type SharedRequest = Omit<ReserveRequest, 'host'>;

export interface SharedReservations {
  /** Null: reserved. Rejects where the store does not answer in time. */
  reserve(request: SharedRequest): Promise<OthersReserved | null>;
  /** Takes it out again, once the others can know what became of it. */
  ended(reservation: Reservation): void;
}

interface AdmissionsLedger {
  readonly settings: LedgerSettings;
  ownerUsage(ownerName: string): OwnerUsage;
  standing(owner: Pick<OwnerUsage, 'id'>): Standing;
  decide(ownerName: string, subject: Subject, addingBytes: number): OwnerDecision;
}

export interface AdmissionsOptions {
  readonly ledger: AdmissionsLedger;
  readonly usage: Pick<UsageIndex, 'accountByKey' | 'owners'>;
  readonly reservations: Reservations;
  readonly clock: Clock;
}

/** What changes between a question to the shared store and its answer does not change so often. */
const mostTries = 5;

export class Admissions {
  readonly #options: AdmissionsOptions;
  #shared: SharedReservations | null = null;
  /** The last of those that wait for the shared store, by owner. */
  readonly #queues = new Map<string, Promise<unknown>>();

  constructor(options: AdmissionsOptions) {
    this.#options = options;
  }

  /** Several hosts have one quota. */
  shareWith(shared: SharedReservations): void {
    this.#shared = shared;
    this.#options.reservations.onEnded = reservation => shared.ended(reservation);
  }

  /** Tells whether actions are kept in mind until they are measured. */
  get isTracking(): boolean {
    const { enabled, precise, burstBytes } = this.#options.ledger.settings;
    return enabled && (precise || burstBytes !== null);
  }

  /** Tells whether the shared store takes part. */
  get isShared(): boolean {
    return this.#shared !== null && this.#options.ledger.settings.precise;
  }

  /**
   * The bytes that an action counts with whose size nobody knows: with BURST as many as that, so that one
   * alone is never refused for what it may bring.
   */
  get unknownBytes(): number {
    const { precise, burstBytes } = this.#options.ledger.settings;
    return precise ? 0 : (burstBytes ?? 0);
  }

  /** Decides, and reserves what is allowed. Waits only for a shared store. Throws `too_many_reservations`. */
  admit(action: Action): Admission | Promise<Admission> {
    const shared = this.isShared ? this.#shared : null;
    if (shared === null) return this.#admitHere(action);
    const ownerKey = this.#keyOf(action);
    const before = this.#queues.get(ownerKey) ?? Promise.resolve();
    const turn = before.then(() => this.#admitShared(action, shared));
    const ended = turn
      .catch(() => {})
      .then(() => {
        if (this.#queues.get(ownerKey) === ended) this.#queues.delete(ownerKey);
      });
    this.#queues.set(ownerKey, ended);
    return turn;
  }

  /** Gives a reservation another end of its time. */
  async renew(reservation: Reservation, seconds: number): Promise<Reservation> {
    const { reservations, clock } = this.#options;
    const milliseconds = seconds * 1000;
    const renewed = reservations.renew(reservation, clock.monotonic() + milliseconds);
    const { ownerKey, mask, id, bytes } = renewed;
    const request = {
      ownerKey,
      mask,
      parts: [{ id, bytes }],
      milliseconds,
      limits: null,
      refusesReached: false,
    };
    // The store may be away: then it ends there with its first time.
    if (this.isShared) await this.#shared?.reserve(request).catch(() => {});
    return renewed;
  }

  #keyOf({ ownerName }: Pick<Action, 'ownerName'>): string {
    const { owners } = this.#options.usage;
    return owners.named(ownerName)?.key ?? owners.keyOf(ownerName);
  }

  #admitHere(action: Action): Admission {
    const { ledger, reservations } = this.#options;
    const { ownerName, subject, parts, end } = action;
    const ofOwner = reservations.ofOwner(this.#keyOf(action));
    const earlier = parts.flatMap(({ id }) => ofOwner.get(id) ?? []);
    reservations.lift(earlier);
    const answer = ledger.decide(ownerName, subject, sumOf(parts));
    const { decision } = answer;
    const isLimited = decision.by === 'rule' && decision.limit !== -1;
    const isLetThrough = decision.allowed || ledger.settings.mode === 'report';
    if (!isLetThrough) reservations.restore(earlier, answer.owner.usage);
    const isHeld = isLetThrough && (isLimited || end === 'reported');
    return { ...answer, reservations: isHeld ? this.#hold(action, answer.owner) : [] };
  }

  #hold(action: Action, { usage }: OwnerUsage): readonly Reservation[] {
    const { clock, reservations } = this.#options;
    const { subject, parts, end, unit, seconds } = action;
    const ownerKey = this.#keyOf(action);
    const mask = leafMask(subject);
    const expiresAt = clock.monotonic() + seconds * 1000;
    return parts
      .filter(({ bytes }) => bytes > 0 || end === 'reported')
      .map(({ id, bytes }) => reservations.hold({ id, ownerKey, mask, bytes, end, expiresAt, unit }, usage));
  }

  async #admitShared(action: Action, shared: SharedReservations): Promise<Admission> {
    const { ledger, reservations } = this.#options;
    for (let tries = 1; ; tries++) {
      const here = this.#admitHere(action);
      if (here.reservations.length === 0) return here;
      const elsewhere = await shared.reserve(this.#requestFor(action)).catch(() => null);
      if (elsewhere === null) return here;
      reservations.lift(here.reservations);
      const owner = this.#wholeOf(action, elsewhere);
      const { usage, reserved, unreachable } = owner;
      const adding = sumOf(action.parts);
      const standing = ledger.standing(owner);
      const decision = decide(
        ledger.settings,
        standing,
        usage,
        action.subject,
        adding,
        reserved,
        unreachable,
      );
      // Usage or policy has become another meanwhile, and nothing refuses it any more: the store is asked again.
      if (decision.allowed && tries < mostTries) continue;
      const isLetThrough = decision.allowed || ledger.settings.mode === 'report';
      if (isLetThrough) reservations.restore(here.reservations, ledger.ownerUsage(action.ownerName).usage);
      return { owner, decision, reservations: isLetThrough ? here.reservations : [] };
    }
  }

  #requestFor(action: Action): SharedRequest {
    const { ledger, reservations } = this.#options;
    const { ownerName, subject, parts, seconds } = action;
    const ownerKey = this.#keyOf(action);
    const reserved = reservations.besides(ownerKey, new Set(parts.map(({ id }) => id)));
    const { usage, unreachable } = this.#ownOf(ownerKey);
    const { settings } = ledger;
    const limits = limitsFor(settings, ledger.standing(ledger.ownerUsage(ownerName)), subject);
    return {
      ownerKey,
      mask: leafMask(subject),
      parts,
      milliseconds: seconds * 1000,
      limits:
        limits?.map(rules =>
          rules.map(({ limitBytes, atMostBytes, counts }) => ({
            limitBytes: atMostBytes,
            counts,
            ownBytes: ownUnder({ usage, reserved }, counts),
            ownUnreachable: bytesUnder(unreachable, counts),
            forgivesBytes: settings.garbage === 'forgive' ? (settings.garbageMostBytes ?? limitBytes) : 0,
          })),
        ) ?? null,
      refusesReached: settings.refuseWhen === 'reached',
    };
  }

  /** What this host measures itself. */
  #ownOf(ownerKey: string): { readonly usage: Usage; readonly unreachable: Usage } {
    const account = this.#options.usage.accountByKey(ownerKey);
    return { usage: account?.ownUsage ?? noUsage, unreachable: account?.ownUnreachable ?? noUsage };
  }

  /** The owner with what this host knows now, and what the others have by the store. */
  #wholeOf(action: Action, elsewhere: OthersReserved): OwnerUsage {
    const { ledger } = this.#options;
    const own = this.#ownOf(this.#keyOf(action));
    const known = ledger.ownerUsage(action.ownerName);
    const isForgiving = ledger.settings.garbage === 'forgive';
    return {
      ...known,
      usage: sumOfLeaves(own.usage, elsewhere.usage),
      unreachable: isForgiving ? sumOfLeaves(own.unreachable, elsewhere.unreachable) : null,
      reserved: together(known.reserved, elsewhere.reserved),
    };
  }
}

interface Load {
  readonly usage: Usage;
  readonly reserved: readonly ReservedBytes[];
}

function sumOfLeaves(one: Usage, other: Usage): Usage {
  return leaves.map((_leaf, index) => addBytes(one[index] ?? 0, other[index] ?? 0));
}

function ownUnder({ usage, reserved }: Load, counts: number): number {
  return Math.min(bytesUnder(usage, counts) + reservedUnder(reserved, counts), Number.MAX_SAFE_INTEGER);
}

function sumOf(parts: Action['parts']): number {
  return Math.min(
    parts.reduce((sum, { bytes }) => sum + bytes, 0),
    Number.MAX_SAFE_INTEGER,
  );
}

function together(own: Reserved | null, others: readonly ReservedBytes[]): Reserved {
  return { claimed: [...(own?.claimed ?? []), ...others], expected: own?.expected ?? [] };
}
