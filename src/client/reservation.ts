/**
 * Room that is reserved for an upload: it counts as used until it is released, reported, or its time ends. An
 * upload in its room, from the reservation to the report of what came.
 */

import type { QuotaAnswer } from './answers.ts';
import type { GateConnection } from './connection.ts';
import { QuotaExceededError, QuotaUnavailableError } from './errors.ts';
import type {
  ClientOptions,
  QuotaClient,
  QuotaReservation,
  ReservationAnswer,
  ReservationQuestion,
} from './questions.ts';
import { fieldsOf, readAnswer } from './reading.ts';

interface Reserved extends Pick<QuotaReservation, 'expiresAt'> {
  readonly id: string;
}

/** Rejects as `GateConnection.call` does. */
export async function reserveRoom(
  connection: GateConnection,
  question: ReservationQuestion,
): Promise<ReservationAnswer> {
  const call = { method: 'POST', address: 'reservations', parameters: question, success: [201] } as const;
  const { allowed, json } = await connection.call(call);
  // Allowed, and not counted: such as in report mode.
  if (allowed !== null) return withoutRoom(readAnswer(json, allowed));
  const { id, expiresAt } = fieldsOf<Reserved>(json, { id: '', expiresAt: null });
  if (id === '') throw new QuotaUnavailableError('the daemon reserved room without an id');
  const address = `reservations/${encodeURIComponent(id)}`;
  const renew = async (seconds = 600): Promise<Date | null> => {
    const parameters = { seconds: String(seconds) };
    const renewed = await connection.call({ method: 'PUT', address, parameters, success: [200] });
    return fieldsOf<Reserved>(renewed.json, { id, expiresAt: null }).expiresAt;
  };
  const release = async (): Promise<void> => {
    // 404: its time was over.
    await connection.call({ method: 'DELETE', address, success: [204, 404] });
  };
  return { allowed: true, reservation: { id, expiresAt, error: null, renew, release } };
}

/** Nothing is reserved; if it is allowed, the upload may start all the same. */
export function withoutRoom(answer: QuotaAnswer): ReservationAnswer {
  const { allowed, error } = answer;
  if (!allowed) return { allowed, answer };
  const reservation = { id: null, expiresAt: null, error, renew: async () => null, release: async () => {} };
  return { allowed, reservation };
}

/** Half of the time for which room is reserved. */
const renewEveryMs = 300_000;

/** Makes what keeps the promise of QuotaClient.withQuota. */
export function inRoomOf(
  client: Pick<QuotaClient, 'changed' | 'reserve'>,
  { trusted, onUnavailable }: Required<Pick<ClientOptions, 'trusted' | 'onUnavailable'>>,
): QuotaClient['withQuota'] {
  // The upload is done, or has failed: a report that is lost now changes neither. The reservation ends by
  // itself, and the next walk finds the bytes.
  const report = (reporting: Promise<unknown>) =>
    reporting.catch((error: unknown) => {
      const words = `the daemon does not take the report: ${String(error)}`;
      const isUnavailable = error instanceof QuotaUnavailableError;
      onUnavailable(isUnavailable ? error : new QuotaUnavailableError(words, { cause: error }));
    });
  return async (owner, subject, size, action) => {
    const asked = await client.reserve({ owner, subject, size });
    if (!asked.allowed) throw new QuotaExceededError(asked.answer);
    const { id, release, renew } = asked.reservation;
    let delta = size;
    const stored = (bytes: number): void => {
      if (!Number.isSafeInteger(bytes)) throw new TypeError(`stored: expected a whole number, not ${bytes}`);
      delta = bytes;
    };
    // The room is kept as long as the upload takes; if this process ends, the room is free again after ten
    // minutes at most.
    const renewing = setInterval(() => void report(renew()), renewEveryMs);
    try {
      const result = await action({ owner, stored });
      const room = id === null ? {} : { reservation: id };
      await report(trusted ? client.changed({ owner, subject, delta, ...room }) : release());
      return result;
    } catch (error) {
      await report(release());
      throw error;
    } finally {
      clearInterval(renewing);
    }
  };
}
