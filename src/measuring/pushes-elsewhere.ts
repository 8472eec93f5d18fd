/** Pushes into repositories that another host walks: they count here by reservations. */

import { SoftquotaError } from '../errors.ts';
import type { AllowedPush } from '../gate/index.ts';
import type { Ledger } from '../ledger/index.ts';
import { leafMask } from '../quota/index.ts';

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
