/** The connection to the worker: what it is told and asked. Nothing here waits for a disk. */

import { SoftquotaError } from '../errors.ts';
import type { WorkerChannel } from '../gate/index.ts';
import type { WorkerTask } from '../wire/index.ts';

const mostUntold = 10_000;

export class WorkerTasks {
  #channel: WorkerChannel | null = null;
  /** Repositories that the worker has not been told of yet. */
  readonly #untold = new Map<string, 'pushed' | 'asked'>();
  /** Settled when a worker connects, and at the end. */
  #connection = Promise.withResolvers<void>();
  readonly #mark: () => string;
  #isClosed = false;

  /** `mark`: what the worker measures from now on has it. */
  constructor(mark: () => string) {
    this.#mark = mark;
  }

  get isConnected(): boolean {
    return this.#channel !== null;
  }

  /** A worker has connected: what was asked of an earlier one has failed. */
  connected(channel: WorkerChannel): void {
    if (this.#isClosed) {
      channel.close('the daemon stops');
      return;
    }
    this.#channel?.close('another worker has connected', 'the worker was restarted; ask again');
    this.#channel = channel;
    this.#connection.resolve();
  }

  /** False: another worker has taken its place. */
  closed(channel: WorkerChannel): boolean {
    if (this.#channel !== channel) return false;
    this.#channel = null;
    this.#connection = Promise.withResolvers();
    this.#untold.clear();
    return true;
  }

  /** Resolves once a worker is connected, or at the end of the daemon. */
  connection(): Promise<void> {
    return this.#connection.promise;
  }

  /**
   * Somebody pushed there, or asked for it. The worker finds by itself what is beyond some thousands at once,
   * and what happens while none is connected.
   */
  tell(path: string, what: 'pushed' | 'asked'): void {
    if (this.#channel === null || this.#untold.size >= mostUntold) return;
    if (this.#untold.size === 0) setImmediate(() => this.#tellAll());
    if (what === 'pushed' || !this.#untold.has(path)) this.#untold.set(path, what);
  }

  get untoldCount(): number {
    return this.#untold.size;
  }

  /** Has the worker do a task, at once; see `Exchange.ask`. */
  async ask(
    task: WorkerTask,
    answerMs: number,
    signal?: AbortSignal,
  ): Promise<Readonly<Record<string, unknown>>> {
    if (this.#channel === null) throw new SoftquotaError('not_ready', 'no worker is connected');
    return this.#channel.ask(task, answerMs, signal);
  }

  /** Answers whoever waits, and ends the connection. */
  close(): void {
    this.#isClosed = true;
    this.#channel?.close('the daemon stops');
    this.#channel = null;
    this.#connection.resolve();
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  #tellAll(): void {
    const all = [...this.#untold];
    this.#untold.clear();
    const of = (what: 'pushed' | 'asked') => all.filter(([, each]) => each === what).map(([path]) => path);
    if (all.length > 0) this.#channel?.send({ mark: this.#mark(), pushed: of('pushed'), asked: of('asked') });
  }
}
