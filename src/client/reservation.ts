/**
 * Room that is reserved for an upload: it counts as used until it is released, reported, or its time ends.
 */

import { dateOf, fieldsOf, type QuotaAnswer, type QuotaSubject, readAnswer, stringOf } from './answers.ts';
import { faultOf, type GateConnection } from './connection.ts';
import { QuotaUnavailableError } from './errors.ts';

export type ReservationQuestion = (
  | { readonly owner: string; readonly subject: QuotaSubject }
  | { readonly path: string; readonly subject?: QuotaSubject }
) & {
  /** Bytes. */
  readonly size: number;
  /** 600 unless given, at most 3,600. */
  readonly seconds?: number;
};

export interface QuotaReservation {
  /** Null if nothing is reserved: in report mode beyond a limit, or because the daemon could not be asked. */
  readonly id: string | null;
  readonly expiresAt: Date | null;
  /** Set if the daemon could not be asked, and `onError` allowed the upload. */
  readonly error: Error | null;
  /**
   * Keeps the room for so many seconds from now (600 unless given); gives the new end, null if nothing is
   * reserved.
   */
  renew(seconds?: number): Promise<Date | null>;
  /** Gives the room back. Does no harm if its time is over, or if it is called again. */
  release(): Promise<void>;
}

export type ReservationAnswer =
  | { readonly allowed: true; readonly reservation: QuotaReservation }
  | { readonly allowed: false; readonly answer: QuotaAnswer };

/** Rejects with QuotaUnavailableError and QuotaRequestError. */
export async function reserveRoom(
  connection: GateConnection,
  parameters: Readonly<Record<string, string>>,
): Promise<ReservationAnswer> {
  const answer = await connection.call({
    method: 'POST',
    address: 'reservations',
    parameters,
    isRepeatable: false,
  });
  if (answer.status === 413 && answer.decision === 'refused') {
    return { allowed: false, answer: readAnswer(answer.json, false) };
  }
  // Allowed, and not counted: such as in report mode.
  if (answer.status === 200 && answer.decision === 'allowed') return withoutRoom(null);
  if (answer.status !== 201) throw faultOf(answer);
  const { id, expires_at: expiresAt } = fieldsOf(answer.json);
  const name = stringOf(id);
  if (name === null) throw new QuotaUnavailableError('the daemon reserved room without an id');
  return {
    allowed: true,
    reservation: {
      id: name,
      expiresAt: dateOf(expiresAt),
      error: null,
      renew: seconds => renewRoom(connection, name, seconds),
      release: () => releaseRoom(connection, name),
    },
  };
}

/** Nothing is reserved, and the upload may start all the same. */
export function withoutRoom(error: Error | null): ReservationAnswer {
  const reservation = { id: null, expiresAt: null, error, renew: async () => null, release: async () => {} };
  return { allowed: true, reservation };
}

async function renewRoom(connection: GateConnection, id: string, seconds = 600): Promise<Date | null> {
  const answer = await connection.call({
    method: 'PUT',
    address: `reservations/${encodeURIComponent(id)}`,
    parameters: { seconds: String(seconds) },
    isRepeatable: true,
  });
  if (answer.status !== 200) throw faultOf(answer);
  return dateOf(fieldsOf(answer.json).expires_at);
}

async function releaseRoom(connection: GateConnection, id: string): Promise<void> {
  const answer = await connection.call({
    method: 'DELETE',
    address: `reservations/${encodeURIComponent(id)}`,
    parameters: {},
    isRepeatable: true,
  });
  // Its time was over.
  if (answer.status === 204 || answer.status === 404) return;
  throw faultOf(answer);
}
