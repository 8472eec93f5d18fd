/**
 * The worker's connection to the daemon on TRUSTED_SOCKET: open as long as both are there, lines of JSON both
 * ways. The worker goes on while the daemon is away, and tries again later and later, up to ten seconds.
 */

import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { takeLines } from '../../bounded/index.ts';
import { messageOf } from '../../errors.ts';

export interface ConnectionOptions {
  /** `[server] TRUSTED_SOCKET`. */
  readonly socketPath: string;
  connected(): void;
  /** A message of the daemon, as JSON. */
  take(message: Fields): void;
  /** The connection has ended, and what was asked over it. */
  ended(): void;
  /** Called with each new reason why there is no connection, and with null once there is one. */
  fault(why: string | null): void;
}

export type Fields = Readonly<Record<string, unknown>>;

const protocol = 'softquota-worker';
const longestLine = 4 * 1024 * 1024;
/** The daemon takes no longer line. */
export const longestSent = 1024 * 1024;
const answerMs = 5000;
/** The daemon answers each report. */
const silentMs = 30_000;
const firstRetryMs = 100;
const lastRetryMs = 10_000;

export class DaemonConnection {
  readonly #options: ConnectionOptions;
  readonly #stop = new AbortController();
  #socket: Socket | null = null;
  #ended: Promise<void> = Promise.resolve();
  #fault: string | null = null;
  /** Why the daemon has ended the connection. */
  #refused = '';

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  start(): void {
    this.#ended = this.#go();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#socket?.destroySoon();
    await this.#ended;
  }

  get isOpen(): boolean {
    return this.#socket !== null;
  }

  /** Sends a message; false where there is no connection, or it is too long. */
  send(message: object): boolean {
    const line = `${JSON.stringify(message)}\n`;
    if (this.#socket === null || Buffer.byteLength(line) > longestSent) return false;
    this.#socket.write(line);
    return true;
  }

  async #go(): Promise<void> {
    const { signal } = this.#stop;
    for (let retryMs = firstRetryMs; !signal.aborted; retryMs = Math.min(2 * retryMs, lastRetryMs)) {
      try {
        const { socket, head } = await upgraded(this.#options.socketPath, signal);
        this.#refused = '';
        const begun = performance.now();
        await this.#serve(socket, head);
        // One that is refused at once is refused again.
        if (performance.now() - begun > lastRetryMs) retryMs = firstRetryMs;
        if (!signal.aborted) this.#tell(this.#refused || 'the daemon has ended the connection');
      } catch (error) {
        if (!signal.aborted) this.#tell(messageOf(error));
      }
      await delay(retryMs, undefined, { signal }).catch(() => {});
    }
  }

  #serve(socket: Socket, head: Buffer): Promise<void> {
    const { connected, take, ended } = this.#options;
    this.#socket = socket;
    socket.setTimeout(silentMs, () => socket.destroy());
    // The end of the connection tells all.
    socket.on('error', () => {});
    const closed = new Promise<void>(resolve => {
      socket.once('close', () => {
        this.#socket = null;
        ended();
        resolve();
      });
    });
    takeLines(socket, {
      mostBytes: longestLine,
      take: line => {
        const message = fieldsOf(line);
        if (typeof message.refused === 'string') this.#refused = message.refused;
        else {
          this.#tell(null);
          take(message);
        }
      },
      tooLong: () => socket.destroy(),
    });
    if (head.length > 0) socket.unshift(head);
    connected();
    return closed;
  }

  #tell(fault: string | null): void {
    if (fault === this.#fault) return;
    this.#fault = fault;
    this.#options.fault(fault);
  }
}

/** A line of the daemon; one that is not understood has no fields. */
function fieldsOf(line: Buffer): Fields {
  try {
    const json: unknown = JSON.parse(line.toString());
    return typeof json === 'object' && json !== null ? { ...json } : {};
  } catch {
    return {};
  }
}

/** Rejects where the daemon does not take the connection over. */
function upgraded(
  socketPath: string,
  signal: AbortSignal,
): Promise<{ readonly socket: Socket; readonly head: Buffer }> {
  return new Promise((resolve, reject) => {
    const asked = request({
      socketPath,
      path: '/v1/worker',
      headers: { Connection: 'Upgrade', Upgrade: protocol },
      agent: false,
    });
    const stop = (): void => void asked.destroy(new Error('the worker stops'));
    const overdue = setTimeout(() => asked.destroy(new Error('the daemon does not answer')), answerMs);
    const settled = (): void => {
      clearTimeout(overdue);
      signal.removeEventListener('abort', stop);
    };
    signal.addEventListener('abort', stop, { once: true });
    asked.on('upgrade', (_: IncomingMessage, socket, head) => {
      settled();
      resolve({ socket, head });
    });
    asked.on('response', response => {
      settled();
      response.resume();
      reject(new Error(`the daemon is of another version: it answers with ${response.statusCode}`));
    });
    asked.on('error', error => {
      settled();
      reject(error);
    });
    asked.end();
  });
}
