/**
 * Room that is reserved for an upload: it counts as used until it is released, reported, or its time ends. An
 * upload in its room, from the reservation to the report of what came.
 */

import { dateOf, fieldsOf, type QuotaLeaf, readAnswer, stringOf } from './answers.ts';
import { faultOf, type GateConnection } from './connection.ts';
import { QuotaExceededError, QuotaUnavailableError } from './errors.ts';
import type { QuotaClient, ReservationAnswer, UploadInProgress } from './questions.ts';

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

interface RoomKeeper {
  readonly client: Pick<QuotaClient, 'reserve' | 'changed'>;
  /** Bytes may be reported. */
  readonly trusted: boolean;
  readonly onUnavailable: (error: QuotaUnavailableError) => void;
}

/** Half of the time for which room is reserved. */
const renewEveryMs = 300_000;

/** Does what QuotaClient.withQuota promises. */
export async function actInRoom<Result>(
  { client, trusted, onUnavailable }: RoomKeeper,
  { owner, subject, size }: { readonly owner: string; readonly subject: QuotaLeaf; readonly size: number },
  action: (upload: UploadInProgress) => Result | Promise<Result>,
): Promise<Result> {
  const asked = await client.reserve({ owner, subject, size });
  if (!asked.allowed) throw new QuotaExceededError(asked.answer);
  const { reservation } = asked;
  // The upload is done, or has failed: a report that is lost now changes neither. The reservation ends by
  // itself, and the next walk finds the bytes.
  const report = (reporting: Promise<void>): Promise<void> =>
    reporting.catch((error: unknown) => {
      onUnavailable(
        error instanceof QuotaUnavailableError
          ? error
          : new QuotaUnavailableError(`the daemon does not take the report: ${String(error)}`, {
              cause: error,
            }),
      );
    });
  let bytes = size;
  const stored = (reported: number): void => {
    if (!Number.isSafeInteger(reported))
      throw new TypeError(`stored: expected a whole number, not ${reported}`);
    bytes = reported;
  };
  // The room is kept as long as the upload takes; if this process ends, the room is free again after ten
  // minutes at most.
  const renewing = setInterval(() => void report(reservation.renew().then(() => {})), renewEveryMs);
  let result: Result;
  try {
    result = await action({ owner, stored });
  } catch (error) {
    await report(reservation.release());
    throw error;
  } finally {
    clearInterval(renewing);
  }
  const id = reservation.id === null ? {} : { reservation: reservation.id };
  await report(trusted ? client.changed({ owner, subject, delta: bytes, ...id }) : reservation.release());
  return result;
}
