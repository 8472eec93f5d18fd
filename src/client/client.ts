/** The client: asks the gate, and decides by `onError` when the daemon does not answer. */

import type { QuotaAnswer } from './answers.ts';
import { GateConnection } from './connection.ts';
import { QuotaUnavailableError } from './errors.ts';
import type { ClientOptions, QuotaClient } from './questions.ts';
import { readAnswer, readUsage } from './reading.ts';
import { inRoomOf, reserveRoom, withoutRoom } from './reservation.ts';

/** Throws a TypeError for options that make no client. */
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

  /** Decides by `onError` if the daemon cannot be asked; throws any other error on. */
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
