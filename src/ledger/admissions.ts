/**
 * Lets uploads start, and reserves what they bring until it is measured.
 *
 * An upload is decided and its bytes are reserved in one turn, so that many at once cannot together pass a
 * limit. Each host decides by its own reservations.
 */

import { type Decision, leafMask, type Subject } from '../quota/index.ts';
import type { OwnerDecision, OwnerUsage } from './answer.ts';
import type { Clock } from './clock.ts';
import type { LedgerSettings } from './options.ts';
import type { Reservation, Reservations } from './reservations.ts';
import type { UsageIndex } from './usage-index.ts';

/** An upload that is about to start. */
export interface Action extends Pick<Reservation, 'isReported' | 'unit'> {
  readonly ownerName: string;
  readonly subject: Subject;
  /**
   * The parts that it brings. The owner's earlier parts with the same ids are those of an earlier try, and
   * go.
   */
  readonly parts: readonly { readonly id: string; readonly bytes: number }[];
  readonly seconds: number;
}

interface Admission extends OwnerDecision {
  /** Empty where nothing is reserved: it is refused, or quotas are off and nobody would report it. */
  readonly reservations: readonly Reservation[];
}

interface AdmissionsOptions {
  readonly ledger: {
    readonly settings: LedgerSettings;
    ownerUsage(ownerName: string): OwnerUsage;
    deciderFor(owner: OwnerUsage): (subject: Subject, addingBytes: number) => Decision;
  };
  readonly owners: UsageIndex['owners'];
  readonly reservations: Reservations;
  readonly clock: Clock;
}

export class Admissions {
  readonly #options: AdmissionsOptions;

  constructor(options: AdmissionsOptions) {
    this.#options = options;
  }

  /** Decides, and reserves what is let through. Throws `too_many_reservations`. */
  admit({ ownerName, subject, parts, isReported, unit, seconds }: Action): Admission {
    const { ledger, owners, reservations, clock } = this.#options;
    const ownerKey = owners.keyOf(ownerName);
    const found = ledger.ownerUsage(ownerName);
    const reserved = reservations.besides(ownerKey, new Set(parts.map(({ id }) => id)));
    const owner = { ...found, reserved };
    const adding = parts.reduce((sum, { bytes }) => sum + bytes, 0);
    const decision = ledger.deciderFor(owner)(subject, Math.min(adding, Number.MAX_SAFE_INTEGER));
    const isLetThrough = decision.allowed || ledger.settings.mode === 'report';
    if (!isLetThrough || !(isReported || ledger.settings.enabled)) {
      return { owner, decision, reservations: [] };
    }
    const mask = leafMask(subject);
    const expiresAt = clock.monotonic() + seconds * 1000;
    const held = parts
      .filter(({ bytes }) => bytes > 0 || isReported)
      .map(part => reservations.hold({ ...part, ownerKey, mask, isReported, unit, expiresAt }, owner.usage));
    return { owner, decision, reservations: held };
  }

  /** Gives a reservation another end of its time. */
  renew(reservation: Reservation, seconds: number): Reservation {
    const { reservations, clock } = this.#options;
    return reservations.replace(reservation, { expiresAt: clock.monotonic() + seconds * 1000 });
  }
}
