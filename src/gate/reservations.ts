/**
 * `/v1/reservations`: room for an upload, from before it begins until its bytes are known.
 *
 * It is decided as a check is. What is reserved counts as used until it is released, until what came was
 * reported, or until its time ends. Whoever may connect may reserve, and only who has the id may do more with
 * it.
 */

import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { SoftquotaError } from '../errors.ts';
import type { Reservation } from '../ledger/index.ts';
import { printable } from '../text/index.ts';
import { answered, askedQuestion } from './check.ts';
import { decidedFirstByDisk } from './decided.ts';
import { bytesIn, secondsIn } from './parameters.ts';
import { type Parameters, type Reply, requestAddress } from './request.ts';
import type { GateServices } from './services.ts';

export const reservationsAddress = '/v1/reservations';

const beginning = `${reservationsAddress}/`;
const idBytes = 18;
const longestShown = 80;
const usualSeconds = 600;
const mostSeconds = 3600;

/** `POST /v1/reservations`. */
export async function reserve(services: GateServices, parameters: Parameters): Promise<Reply> {
  bytesIn(parameters, 'size');
  const seconds = secondsIn(parameters, 'seconds', usualSeconds, mostSeconds);
  const question = await askedQuestion(services, parameters);
  const { ownerName, subject, unit, sizeBytes } = question;
  const path = unit?.path ?? null;
  const admission = decidedFirstByDisk(services, { ownerName, subject, path }, () =>
    services.ledger.admit({
      ownerName,
      subject,
      parts: [{ id: randomBytes(idBytes).toString('base64url'), bytes: sizeBytes }],
      isReported: true,
      unit: path,
      seconds,
    }),
  );
  const reply = answered(services, question, admission);
  const [reservation] = 'reservations' in admission ? admission.reservations : [];
  return reservation === undefined ? reply : { ...shown(services, reservation, 201), decision: 'allowed' };
}

/**
 * The reservation of this id, if whoever took it was told the id; null: there is none, or its time has ended.
 */
export function reportedReservation(
  { reservations }: Pick<GateServices['ledger'], 'reservations'>,
  id: string,
): Reservation | null {
  const found = reservations.byId(id);
  return found?.isReported === true ? found : null;
}

/** `DELETE` and `PUT /v1/reservations/ID`: releases it, or gives it another end of its time. */
export async function changeReservation(
  services: GateServices,
  parameters: Parameters,
  request: IncomingMessage,
): Promise<Reply> {
  const { reservations } = services.ledger;
  const id = requestAddress(request).slice(beginning.length);
  const reservation = reportedReservation(services.ledger, id);
  if (reservation === null) {
    const name = printable(id.slice(0, longestShown));
    throw new SoftquotaError(
      'unknown_reservation',
      `there is no reservation "${name}", or its time has ended`,
    );
  }
  if (request.method === 'PUT') {
    const seconds = secondsIn(parameters, 'seconds', usualSeconds, mostSeconds);
    return shown(services, reservations.renew(reservation, seconds), 200);
  }
  reservations.release(reservation);
  return { status: 204, json: () => ({}), text: () => '' };
}

/** In words, the id alone, for shells. */
function shown({ ledger }: GateServices, { id, expiresAt }: Reservation, status: number): Reply {
  const json = { id, expires_at: ledger.reservations.timeOf(expiresAt) };
  return { status, json: () => json, text: () => `${id}\n` };
}
