/** The client: asks the gate, and decides by `onError` when the daemon does not answer. */

import { type QuotaAnswer, readAnswer, readUsage } from './answers.ts';
import { faultOf, type GateCall, GateConnection } from './connection.ts';
import { QuotaUnavailableError } from './errors.ts';
import type { ClientOptions, QuotaClient } from './questions.ts';
import { actInRoom, reserveRoom, withoutRoom } from './reservation.ts';

const sockets = { open: '/run/softquota/gate.sock', trusted: '/run/softquota/trusted.sock' } as const;
const timeouts = { usual: 2000, least: 100, most: 60_000 } as const;
const policies = ['allow', 'deny', 'throw'] as const;

/** Throws a TypeError for options that make no client. */
export function createClient(options: ClientOptions = {}): QuotaClient {
  const {
    trusted = false,
    timeoutMs = timeouts.usual,
    onError = 'allow',
    onUnavailable = () => {},
  } = options;
  const { socket = trusted ? sockets.trusted : sockets.open } = options;
  if (!socket.startsWith('/')) throw new TypeError(`socket: expected an absolute path, not ${shown(socket)}`);
  if (!(timeoutMs >= timeouts.least && timeoutMs <= timeouts.most)) {
    throw new TypeError(`timeoutMs: expected ${timeouts.least} to ${timeouts.most}, not ${shown(timeoutMs)}`);
  }
  if (!policies.includes(onError)) {
    throw new TypeError(`onError: expected allow, deny or throw, not ${shown(onError)}`);
  }
  const connection = new GateConnection(socket, timeoutMs);

  /** Decides by `onError` if the daemon cannot be asked; throws any other error on. */
  const decided = async <Answer>(asked: Promise<Answer>, allow: Fallback<Answer>, deny: Fallback<Answer>) => {
    try {
      return await asked;
    } catch (error) {
      if (!(error instanceof QuotaUnavailableError)) throw error;
      onUnavailable(error);
      if (onError === 'throw') throw error;
      return onError === 'allow' ? allow(error) : deny(error);
    }
  };
  const called = async (call: Omit<GateCall, 'parameters'>, parameters: object) =>
    connection.call({ ...call, parameters: textsOf(parameters) });
  const needTrust = (what: string): void => {
    if (!trusted) throw new TypeError(`${what} needs TRUSTED_SOCKET: createClient({ trusted: true })`);
  };

  const client: QuotaClient = {
    check: async question => {
      const ask = async () => {
        const answer = await called({ method: 'GET', address: 'check', isRepeatable: true }, question);
        const { status, decision, json } = answer;
        if (status === 200 && decision === 'allowed') return readAnswer(json, true);
        if (status === 413 && decision === 'refused') return readAnswer(json, false);
        throw faultOf(answer);
      };
      const undecided = (allowed: boolean) => (error: Error) => undecidedAnswer(question, allowed, error);
      return decided(ask(), undecided(true), undecided(false));
    },
    reserve: async question => {
      const denied = (error: Error) => ({
        allowed: false as const,
        answer: undecidedAnswer(question, false, error),
      });
      return decided(reserveRoom(connection, textsOf(question)), withoutRoom, denied);
    },
    changed: async change => {
      if ('owner' in change) needTrust('a report of bytes');
      // Bytes that are reported twice count twice.
      const call = { method: 'POST', address: 'changed', isRepeatable: 'path' in change } as const;
      const answer = await called(call, change);
      if (answer.status !== 202) throw faultOf(answer);
    },
    withQuota: (owner, subject, size, action) =>
      actInRoom({ client, trusted, onUnavailable }, { owner, subject, size }, action),
    usage: async owner => {
      needTrust('usage');
      const answer = await called({ method: 'GET', address: 'usage', isRepeatable: true }, { owner });
      if (answer.status !== 200) throw faultOf(answer);
      return readUsage(answer.json);
    },
    close: () => connection.close(),
  };
  return client;
}

type Fallback<Answer> = (error: QuotaUnavailableError) => Answer;

/** Parameters as texts; throws a TypeError for a number that is none of bytes or seconds. */
function textsOf(parameters: object): Readonly<Record<string, string>> {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    given.map(([name, value]) => {
      const isText = typeof value === 'string';
      const isWhole = Number.isSafeInteger(value) && (name === 'delta' || Number(value) >= 0);
      if (!isText && !isWhole) throw new TypeError(`${name}: expected a whole number, not ${shown(value)}`);
      return [name, String(value)];
    }),
  );
}

function undecidedAnswer(
  question: { readonly owner?: string; readonly subject?: string },
  allowed: boolean,
  error: Error,
): QuotaAnswer {
  const { owner, subject } = question;
  const message = `The quota could not be checked, so this is ${allowed ? 'allowed' : 'refused. Try again later'}.`;
  return { ...readAnswer({ owner, subject, message }, allowed), error };
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
