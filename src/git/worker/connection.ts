/**
 * The worker's connection to the daemon on TRUSTED_SOCKET, open while both run. Without the daemon the worker
 * goes on, and tries to connect again after growing pauses of up to ten seconds.
 */

import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Exchange, type ExchangeHandlers, type Fields } from '../../bounded/index.ts';
import { messageOf } from '../../errors.ts';

interface ConnectionOptions extends Required<Pick<ExchangeHandlers, 'answer' | 'take'>> {
  readonly socketPath: string;
  connected(): void;
  /** Called with each new reason why there is no connection, and with null once there is one. */
  fault(why: string | null): void;
}

const protocol = 'softquota-worker';
const longestLine = 4 * 1024 * 1024;
/** The longest line that the daemon takes. */
const longestSent = 1024 * 1024;
const answerMs = 5000;
const firstRetryMs = 100;
const lastRetryMs = 10_000;

export class DaemonConnection {
  readonly #options: ConnectionOptions;
  readonly #stop = new AbortController();
  #exchange: Exchange | null = null;
  #ended: Promise<void> = Promise.resolve();
  /** Settles once no question from an earlier connection is being answered. */
  #idle: Promise<unknown> = Promise.resolve();
  #fault: string | null = null;
  /** Why the daemon has ended the connection. */
  #refused = '';

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  start(): void {
    this.#ended = this.#go();
  }

  /** Resolves once no question of the daemon is being answered any more. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#exchange?.close('the worker stops');
    await this.#ended;
    await this.#idle;
  }

  get isOpen(): boolean {
    return this.#exchange !== null;
  }

  /** Sends a message; returns false if there is no connection, or the message is too long. */
  send(message: object): boolean {
    return this.#exchange?.send(message) ?? false;
  }

  async #go(): Promise<void> {
    const { signal } = this.#stop;
    for (let retryMs = firstRetryMs; !signal.aborted; retryMs = Math.min(2 * retryMs, lastRetryMs)) {
      try {
        const { socket, head } = await upgraded(this.#options.socketPath, signal);
        this.#refused = '';
        const begun = performance.now();
        await this.#serve(socket, head);
        // Only a connection that lasted resets the pause: one that was refused at once is refused again.
        if (performance.now() - begun > lastRetryMs) retryMs = firstRetryMs;
        if (!signal.aborted) this.#tell(this.#refused || 'the daemon has ended the connection');
      } catch (error) {
        if (!signal.aborted) this.#tell(messageOf(error));
      }
      await delay(retryMs, undefined, { signal }).catch(() => {});
    }
  }

  #serve(socket: Socket, head: Buffer): Promise<void> {
    const { connected, take, answer } = this.#options;
    const exchange = new Exchange(socket, {
      other: 'the daemon',
      mostTaken: longestLine,
      mostSent: longestSent,
    });
    this.#exchange = exchange;
    return new Promise(resolve => {
      const ended = (): void => {
        this.#exchange = null;
        this.#idle = Promise.all([this.#idle, exchange.idle()]);
        resolve();
      };
      const taken = (message: Fields): void => {
        if (typeof message.refused === 'string') {
          this.#refused = message.refused;
          return;
        }
        this.#tell(null);
        take(message);
      };
      exchange.serve({ answer, take: taken, ended }, head);
      connected();
    });
  }

  #tell(fault: string | null): void {
    if (fault === this.#fault) return;
    this.#fault = fault;
    this.#options.fault(fault);
  }
}

/** Opens a connection; rejects if the daemon does not upgrade it. */
function upgraded(
  socketPath: string,
  signal: AbortSignal,
): Promise<{ readonly socket: Socket; readonly head: Buffer }> {
  const overdue = AbortSignal.timeout(answerMs);
  return new Promise((resolve, reject) => {
    const asked = request({
      socketPath,
      path: '/v1/worker',
      headers: { Connection: 'Upgrade', Upgrade: protocol },
      agent: false,
      signal: AbortSignal.any([signal, overdue]),
    });
    asked.on('upgrade', (_: IncomingMessage, socket, head) => resolve({ socket, head }));
    asked.on('response', response => {
      response.resume();
      reject(new Error(`the daemon is of another version: it answers with ${response.statusCode}`));
    });
    asked.on('error', error => reject(overdue.aborted ? new Error('the daemon does not answer') : error));
    asked.end();
  });
}
