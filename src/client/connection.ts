/**
 * HTTP over the gate's Unix socket, with connections that stay open and one time limit for everything.
 *
 * If a connection is refused, reset or closed without an answer, the request is retried until the time is
 * over, so that no decision is lost while the daemon restarts. A request that must not happen twice is
 * retried only if it was certainly not sent.
 */

import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { QuotaRequestError, QuotaUnavailableError } from './answers.ts';
import { fieldsOf, gateJson } from './reading.ts';

interface GateCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The path below `/v1/`. */
  readonly address: string;
  /** Texts and whole numbers; undefined values are not sent. */
  readonly parameters?: object;
  /** Statuses of success, in addition to decisions. */
  readonly success?: readonly number[];
  /** True if sending it twice has the effect of once; unless given, true for all methods except POST. */
  readonly isRepeatable?: boolean;
}

interface GateAnswer {
  readonly status: number;
  /** The decision; null if the answer is no decision. */
  readonly allowed: boolean | null;
  /** Undefined if the body is no JSON. */
  readonly json: unknown;
}

/** Most requests at a time; further ones wait, within their time limit. */
const mostConnections = 64;
const longestAnswer = 4 * 1024 * 1024;
const pauseMs = 100;

/** Errors that occur before a byte is sent. */
const neverSent: readonly unknown[] = ['EAGAIN', 'ECONNREFUSED', 'ENOENT'];
const lost: readonly unknown[] = [...neverSent, 'ECONNRESET', 'EPIPE'];

export class GateConnection {
  readonly #socket: string;
  readonly #timeoutMs: number;
  readonly #kept = new Agent({ keepAlive: true, maxSockets: mostConnections });
  /**
   * Agent for requests that must not happen twice. The daemon may close an idle connection at the moment in
   * which it is used again, and nobody could tell whether the request was read.
   */
  readonly #fresh = new Agent({ maxSockets: mostConnections });
  #isClosed = false;

  constructor(socket: string, timeoutMs: number) {
    this.#socket = socket;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Returns a decision, or a successful answer. Rejects with QuotaUnavailableError if there is none in time,
   * and with QuotaRequestError if the daemon rejects the call.
   */
  async call(call: GateCall): Promise<GateAnswer> {
    const { isRepeatable = call.method !== 'POST', success = [] } = call;
    const text = textOf(call.parameters ?? {});
    const overdue = AbortSignal.timeout(this.#timeoutMs);
    for (;;) {
      if (this.#isClosed) throw new QuotaUnavailableError('the client is closed');
      let answer: GateAnswer;
      try {
        answer = await this.#send(call, text, isRepeatable ? this.#kept : this.#fresh, overdue);
      } catch (error) {
        const mayRepeat = (isRepeatable ? lost : neverSent).includes(codeOf(error));
        if (overdue.aborted || !mayRepeat) throw this.#unavailable(error, overdue.aborted);
        // Many programs must not retry all at once.
        const waited = delay(pauseMs * (1 + Math.random()), undefined, { signal: overdue });
        await waited.catch(() => Promise.reject(this.#unavailable(error, false)));
        continue;
      }
      if (answer.allowed !== null || success.includes(answer.status)) return answer;
      throw faultOf(answer);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#kept.destroy();
    this.#fresh.destroy();
  }

  #send({ method, address }: GateCall, text: string, agent: Agent, signal: AbortSignal) {
    const isForm = method === 'POST' || method === 'PUT';
    const path = `/v1/${address}${isForm || text === '' ? '' : `?${text}`}`;
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const headers = { Accept: 'application/json', ...(isForm ? form : {}) };
    return new Promise<GateAnswer>((resolve, reject) => {
      const asking = request({ socketPath: this.#socket, path, method, agent, signal, headers });
      asking.on('response', response => read(response).then(resolve, reject));
      asking.on('error', reject);
      asking.end(isForm ? text : undefined);
    });
  }

  #unavailable(error: unknown, isOverdue: boolean): QuotaUnavailableError {
    const place = `the daemon at ${this.#socket}`;
    const words = isOverdue
      ? `${place} did not answer within ${this.#timeoutMs} ms`
      : `${place} does not answer: ${error instanceof Error ? error.message : String(error)}`;
    return new QuotaUnavailableError(words, { cause: error });
  }
}

/** Encodes parameters as a form. Throws a TypeError for a number that cannot be bytes or seconds. */
function textOf(parameters: object): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  for (const [name, value] of given) {
    const isWhole = Number.isSafeInteger(value) && (name === 'delta' || value >= 0);
    if (typeof value !== 'string' && !isWhole) {
      throw new TypeError(`${name}: expected a whole number, not ${String(value)}`);
    }
  }
  return new URLSearchParams(Object.fromEntries(given)).toString();
}

async function read(response: IncomingMessage): Promise<GateAnswer> {
  let text = '';
  for await (const part of response.setEncoding('utf8')) {
    text += part;
    if (text.length > longestAnswer) throw new Error('its answer is too long');
  }
  const { statusCode: status = 0, headers } = response;
  const decision = `${status} ${headers['x-softquota-decision']}`;
  const isRefused = decision === '413 refused';
  return { status, allowed: isRefused ? false : decision === '200 allowed' || null, json: gateJson(text) };
}

/** The error for an answer that is neither a decision nor a success. */
function faultOf({ status, json }: GateAnswer): QuotaRequestError | QuotaUnavailableError {
  const absent = { message: `the daemon answered with status ${status}`, code: '' };
  const { message, code } = fieldsOf(json, absent);
  // Faults of the daemon, and 408 and 429 (too slow, too often), may pass.
  return status >= 400 && status < 500 && status !== 408 && status !== 429
    ? new QuotaRequestError(status, code, message)
    : new QuotaUnavailableError(message);
}

/** The code of a system error, which has it as an own property. */
function codeOf(error: unknown): unknown {
  return fieldsOf(error, { code: null }).code;
}
