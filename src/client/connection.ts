/**
 * HTTP over the gate's Unix socket, with connections that stay open and one time limit for everything.
 *
 * A connection that is refused, reset or closed without an answer is tried again until the time is over, with
 * growing pauses: a daemon that restarts costs a moment, and no decision. What must not happen twice is tried
 * again only if it was certainly not sent.
 */

import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { fieldsOf, stringOf } from './answers.ts';
import { QuotaRequestError, QuotaUnavailableError } from './errors.ts';

export interface GateCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Behind `/v1/`. */
  readonly address: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** Sent twice, it has the effect of one. */
  readonly isRepeatable: boolean;
}

interface HttpAnswer {
  readonly status: number;
  /** The header X-Softquota-Decision. */
  readonly decision: string;
  /** Undefined if it is no JSON. */
  readonly json: unknown;
}

/** Requests under way at once; more wait for their turn, within their time. */
const mostConnections = 64;
const longestAnswerBytes = 4 * 1024 * 1024;
const firstPauseMs = 50;
const longestPauseMs = 400;

/** Before a byte is sent. */
const neverSent: ReadonlySet<string> = new Set(['EAGAIN', 'ECONNREFUSED', 'ENOENT']);
const lost: ReadonlySet<string> = new Set([...neverSent, 'ECONNRESET', 'EPIPE']);

export class GateConnection {
  readonly #socket: string;
  readonly #timeoutMs: number;
  readonly #kept = new Agent({ keepAlive: true, maxSockets: mostConnections });
  /**
   * Agent for requests that must not happen twice: the daemon may close a connection that stayed open at the
   * moment in which it is used again, and nobody could tell whether the request was read.
   */
  readonly #fresh = new Agent({ maxSockets: mostConnections });
  #isClosed = false;

  constructor(socket: string, timeoutMs: number) {
    this.#socket = socket;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Rejects with QuotaUnavailableError if there is no answer in time. Any answer is one, whatever its status.
   */
  async call(call: GateCall): Promise<HttpAnswer> {
    const overdue = AbortSignal.timeout(this.#timeoutMs);
    for (let pause = firstPauseMs; ; pause = Math.min(2 * pause, longestPauseMs)) {
      if (this.#isClosed) throw new QuotaUnavailableError('the client is closed');
      try {
        return await this.#send(call, overdue);
      } catch (error) {
        const mayRepeat = (call.isRepeatable ? lost : neverSent).has(codeOf(error));
        if (overdue.aborted || !mayRepeat) throw this.#unavailable(error, overdue.aborted);
        // A crowd of programs does not come back all at once.
        const waited = delay(pause * (1 + Math.random()), undefined, { signal: overdue });
        await waited.catch(() => Promise.reject(this.#unavailable(error, false)));
      }
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#kept.destroy();
    this.#fresh.destroy();
  }

  #send({ method, address, parameters, isRepeatable }: GateCall, signal: AbortSignal): Promise<HttpAnswer> {
    const text = new URLSearchParams(parameters).toString();
    const body = method === 'POST' || method === 'PUT' ? text : null;
    return new Promise((resolve, reject) => {
      const asking = request(
        {
          socketPath: this.#socket,
          path: `/v1/${address}${body === null && text !== '' ? `?${text}` : ''}`,
          method,
          agent: isRepeatable ? this.#kept : this.#fresh,
          signal,
          headers: {
            Host: 'localhost',
            Accept: 'application/json',
            ...(body === null
              ? {}
              : {
                  'Content-Type': 'application/x-www-form-urlencoded',
                  'Content-Length': Buffer.byteLength(body),
                }),
          },
        },
        response => collect(response).then(resolve, reject),
      );
      asking.on('error', reject);
      asking.end(body ?? undefined);
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

async function collect(response: IncomingMessage): Promise<HttpAnswer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    const part: Buffer = chunk; // no encoding was set
    bytes += part.length;
    if (bytes > longestAnswerBytes) throw new Error('its answer is too long');
    chunks.push(part);
  }
  const { 'x-softquota-decision': decision } = response.headers;
  return {
    status: response.statusCode ?? 0,
    decision: typeof decision === 'string' ? decision : '',
    json: jsonOf(Buffer.concat(chunks).toString()),
  };
}

/** Makes an error of an answer that is neither a decision nor the expected success. */
export function faultOf({ status, json }: HttpAnswer): QuotaRequestError | QuotaUnavailableError {
  const { message, code } = fieldsOf(json);
  const words = stringOf(message) ?? `the daemon answered with status ${status}`;
  // A fault of the daemon, or a request that came too slowly or too often, may pass.
  return status >= 400 && status < 500 && status !== 408 && status !== 429
    ? new QuotaRequestError(status, stringOf(code) ?? '', words)
    : new QuotaUnavailableError(words);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** System errors have it as a property of their own. */
function codeOf(error: unknown): string {
  return stringOf(fieldsOf(error).code) ?? '';
}
