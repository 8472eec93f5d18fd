/**
 * The client for programs: asks the gate before an upload, reserves room for it, and reports what came.
 *
 * `import { createClient } from 'softquota/client'`. It needs only Node, reuses its connections, and answers
 * within its time-out: if the daemon does not, `onError` decides. It imports no other module, so that a
 * program that imports it loads no code of the daemon.
 */

import { type QuotaAnswer, QuotaExceededError, QuotaUnavailableError } from './answers.ts';
import { GateConnection } from './connection.ts';
import type {
  ClientOptions,
  QuotaClient,
  QuotaReservation,
  ReservationAnswer,
  ReservationQuestion,
} from './questions.ts';
import { fieldsOf, readAnswer, readUsage } from './reading.ts';

export * from './answers.ts';
export type * from './questions.ts';

/** Throws a TypeError for wrong options. */
export function createClient(options: ClientOptions = {}): QuotaClient {
  const { trusted = false, timeoutMs = 2000, onError = 'allow', onUnavailable = () => {} } = options;
  const { socket = trusted ? '/run/softquota/trusted.sock' : '/run/softquota/gate.sock' } = options;
  if (!socket.startsWith('/')) {
    throw new TypeError(`socket: expected an absolute path, not ${JSON.stringify(socket)}`);
  }
  if (!(timeoutMs >= 100 && timeoutMs <= 60_000)) {
    throw new TypeError(`timeoutMs: expected 100 to 60000, not ${timeoutMs}`);
  }
  if (!['allow', 'deny', 'throw'].includes(onError)) {
    throw new TypeError(`onError: expected allow, deny or throw, not ${JSON.stringify(onError)}`);
  }
  const connection = new GateConnection(socket, timeoutMs);

  /** Decides by `onError` if the daemon does not answer. Rejects with any other error. */
  const decided = async <Answer>(
    asked: Promise<Answer>,
    { owner, subject }: { readonly owner?: string; readonly subject?: string },
    answerWith: (answer: QuotaAnswer) => Answer,
  ): Promise<Answer> => {
    try {
      return await asked;
    } catch (error) {
      if (!(error instanceof QuotaUnavailableError)) throw error;
      onUnavailable(error);
      if (onError === 'throw') throw error;
      const allowed = onError === 'allow';
      const words = allowed ? 'allowed' : 'refused. Try again later';
      const message = `The quota could not be checked, so this is ${words}.`;
      return answerWith({ ...readAnswer({ owner, subject, message }, allowed), error });
    }
  };
  const needTrust = (what: string): void => {
    if (!trusted) throw new TypeError(`${what} needs TRUSTED_SOCKET: createClient({ trusted: true })`);
  };

  const reserve: QuotaClient['reserve'] = question =>
    decided(reserveRoom(connection, question), question, withoutRoom);
  const changed: QuotaClient['changed'] = async change => {
    if ('owner' in change) needTrust('a report of bytes');
    const call = { method: 'POST', address: 'changed', parameters: change, success: [202] } as const;
    // Bytes that are reported twice count twice.
    await connection.call({ ...call, isRepeatable: 'path' in change });
  };

  return {
    check: question => {
      const asked = connection.call({ method: 'GET', address: 'check', parameters: question });
      const answered = asked.then(({ json, allowed }) => readAnswer(json, allowed === true));
      return decided(answered, question, answer => answer);
    },
    reserve,
    changed,
    withQuota: inRoomOf({ reserve, changed }, { trusted, onUnavailable }),
    usage: async owner => {
      needTrust('usage');
      const call = { method: 'GET', address: 'usage', parameters: { owner }, success: [200] } as const;
      return readUsage((await connection.call(call)).json);
    },
    close: () => connection.close(),
  };
}

interface Reserved extends Pick<QuotaReservation, 'expiresAt'> {
  readonly id: string;
}

/** Rejects as `GateConnection.call` does. */
async function reserveRoom(
  connection: GateConnection,
  question: ReservationQuestion,
): Promise<ReservationAnswer> {
  const call = { method: 'POST', address: 'reservations', parameters: question, success: [201] } as const;
  const { allowed, json } = await connection.call(call);
  // A refusal, or an upload that is allowed without a reservation, such as in report mode.
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
    // 404: the reservation has expired.
    await connection.call({ method: 'DELETE', address, success: [204, 404] });
  };
  return { allowed: true, reservation: { id, expiresAt, error: null, renew, release } };
}

/** An answer without a reservation; if it allows the upload, that may start nevertheless. */
function withoutRoom(answer: QuotaAnswer): ReservationAnswer {
  const { allowed, error } = answer;
  if (!allowed) return { allowed, answer };
  const reservation = { id: null, expiresAt: null, error, renew: async () => null, release: async () => {} };
  return { allowed, reservation };
}

/** Half of the time for which room is reserved. */
const renewEveryMs = 300_000;

/** Makes `QuotaClient.withQuota`. */
function inRoomOf(
  client: Pick<QuotaClient, 'changed' | 'reserve'>,
  { trusted, onUnavailable }: Required<Pick<ClientOptions, 'trusted' | 'onUnavailable'>>,
): QuotaClient['withQuota'] {
  // A lost report does no harm: the reservation expires, and the next walk finds the bytes.
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
    // The room stays reserved while the upload runs. If this process dies, the room is free again after ten
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
