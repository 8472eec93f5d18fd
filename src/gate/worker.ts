/**
 * `GET /v1/worker` with `Upgrade: softquota-worker`: the connection of the git user's worker, on which both
 * sides send lines of JSON. With GARBAGE = forgive, decisions depend on its reports, so only the trusted
 * socket accepts it. Nothing here waits for a disk.
 */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { z } from 'zod';
import { Exchange, type Fields } from '../bounded/index.ts';
import { badParameter, SoftquotaError } from '../errors.ts';
import { version } from '../version.ts';
import { type WorkerReport, type WorkerTask, workerReport } from '../wire/index.ts';
import { type Reply, requestAddress } from './request.ts';

export const workerAddress = '/v1/worker';

const protocol = 'softquota-worker';
const longestLine = 1024 * 1024;
/** Limit for a message to the worker: a task contains the lines of a push. */
const longestSent = 4 * 1024 * 1024;
const mostUntold = 10_000;
const reported = z.object({ report: workerReport });

export function asksForWorker(request: IncomingMessage): boolean {
  return (
    request.method === 'GET' &&
    requestAddress(request) === workerAddress &&
    request.headers.upgrade === protocol
  );
}

/** Answers a worker that does not ask for an upgrade. Throws `bad_parameter`. */
export function noUpgrade(): Reply {
  const message = `a worker connects with "Upgrade: ${protocol}"; this one is of another version than the daemon`;
  throw badParameter(message);
}

interface WorkerLinkOptions {
  /** Returns the mark for everything that the worker measures from now on. */
  mark(): string;
  /** Takes a report. `isFirst` is true for the first one of a connection. */
  reported(report: WorkerReport, isFirst: boolean): void;
}

export class WorkerLink {
  readonly #options: WorkerLinkOptions;
  #channel: Exchange | null = null;
  #isHere = false;
  #isClosed = false;
  readonly #untold = new Map<string, 'pushed' | 'asked'>();
  /** Resolves when a worker connects, and at the end. */
  #connection = Promise.withResolvers<void>();

  constructor(options: WorkerLinkOptions) {
    this.#options = options;
  }

  /** Takes a connection, which replaces an earlier one. `head` is data that arrived with the request. */
  take(socket: Socket, head: Buffer, unforeseen: (error: unknown) => void): void {
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`);
    const channel = new Exchange(socket, {
      other: 'the worker',
      mostTaken: longestLine,
      mostSent: longestSent,
    });
    const take = (message: Fields): void => {
      const { report } = parsed(message);
      if (this.#channel !== channel) return;
      const isFirst = !this.#isHere;
      this.#isHere = true;
      try {
        this.#options.reported(report, isFirst);
      } catch (error) {
        unforeseen(error);
        throw error;
      }
      this.#greet();
    };
    // A report may have arrived with the request: it is processed as soon as the channel serves.
    const serve = () => channel.serve({ take, ended: () => this.#ended(channel) }, head);
    if (this.#isClosed) {
      serve();
      channel.close('the daemon stops');
      return;
    }
    this.#channel?.close('another worker has connected', 'the worker was restarted; ask again');
    this.#channel = channel;
    this.#isHere = false;
    this.#greet();
    this.#connection.resolve();
    serve();
  }

  /** True if a worker is connected and has reported. */
  get isHere(): boolean {
    return this.#isHere;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Resolves when a worker is connected, or when the daemon ends. */
  connection(): Promise<void> {
    return this.#connection.promise;
  }

  /** Sends a path to the worker, unless thousands wait: the worker finds those by itself. */
  tell(path: string, what: 'pushed' | 'asked'): void {
    if (this.#channel === null || this.#untold.size >= mostUntold) return;
    if (this.#untold.size === 0) setImmediate(() => this.#tellAll());
    if (what === 'pushed' || !this.#untold.has(path)) this.#untold.set(path, what);
  }

  get untoldCount(): number {
    return this.#untold.size;
  }

  /**
   * Sends a task to the worker at once; see `Exchange.ask`. Rejects with `not_ready` if no worker is
   * connected.
   */
  async ask(task: WorkerTask, answerMs: number, signal?: AbortSignal): Promise<Fields> {
    if (this.#channel === null) throw new SoftquotaError('not_ready', 'no worker is connected');
    return this.#channel.ask(task, answerMs, signal);
  }

  /** Ends the connection; tasks that wait are rejected. */
  close(): void {
    this.#isClosed = true;
    this.#channel?.close('the daemon stops');
    this.#channel = null;
    this.#connection.resolve();
  }

  #ended(channel: Exchange): void {
    if (this.#channel !== channel) return;
    this.#channel = null;
    this.#isHere = false;
    this.#connection = Promise.withResolvers();
    this.#untold.clear();
  }

  #greet(): void {
    this.#channel?.send({ version, mark: this.#options.mark() });
  }

  #tellAll(): void {
    const all = [...this.#untold];
    this.#untold.clear();
    const of = (what: 'pushed' | 'asked') => all.filter(([, each]) => each === what).map(([path]) => path);
    const mark = this.#options.mark();
    if (all.length > 0) this.#channel?.send({ mark, pushed: of('pushed'), asked: of('asked') });
  }
}

function parsed(message: Fields): z.infer<typeof reported> {
  const found = reported.safeParse(message);
  if (found.success) return found.data;
  const [issue] = found.error.issues;
  throw badParameter(`${issue?.path.join('.')}: ${issue?.message}`);
}
