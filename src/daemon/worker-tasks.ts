/** The connection to the worker: what it is told and asked, and its answers. Nothing here waits for a disk. */

import { randomBytes } from 'node:crypto';
import { SoftquotaError } from '../errors.ts';
import type { TaskOutcome, WorkerChannel, WorkerTask } from '../gate/index.ts';

interface Pending {
  readonly timer: NodeJS.Timeout;
  end(outcome: TaskOutcome): void;
}

const mostUntold = 10_000;
const mostAsked = 1000;

export class WorkerTasks {
  #channel: WorkerChannel | null = null;
  /** Repositories that the worker has not been told of yet. */
  readonly #untold = new Map<string, 'pushed' | 'asked'>();
  readonly #pending = new Map<string, Pending>();
  /** Tasks that wait for a worker to connect. */
  readonly #waiting = new Set<() => void>();
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
    const before = this.#channel;
    this.#fail('the worker was restarted; ask again');
    before?.close('another worker has connected');
    this.#channel = channel;
    for (const wake of [...this.#waiting]) wake();
  }

  /** False: another worker has taken its place. */
  closed(channel: WorkerChannel): boolean {
    if (this.#channel !== channel) return false;
    this.#channel = null;
    this.#untold.clear();
    this.#fail('the worker has stopped');
    return true;
  }

  /** Resolves once a worker is connected, or at the end of the daemon. */
  async connection(): Promise<void> {
    if (this.#channel !== null || this.#isClosed) return;
    await new Promise<void>(resolve => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        resolve();
      };
      this.#waiting.add(wake);
    });
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

  /**
   * Has the worker do a task, at once. Rejects with `not_ready` where there is no answer in time, no worker,
   * too much is asked, or the signal comes; the worker ends what it has begun then.
   */
  ask(task: WorkerTask, answerMs: number, signal?: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
    const channel = this.#channel;
    if (channel === null) return Promise.reject(notReady('no worker is connected'));
    if (this.#pending.size >= mostAsked)
      return Promise.reject(notReady('the worker has too much to do; ask again later'));
    if (signal?.aborted === true) return Promise.reject(notReady('nobody waits for it any more'));
    const id = randomBytes(12).toString('hex');
    return new Promise((resolve, reject) => {
      const cancel = (why: string): void => {
        channel.send({ cancel: id });
        this.ended(id, { is: 'fault', why });
      };
      const gone = (): void => cancel('nobody waits for it any more');
      signal?.addEventListener('abort', gone, { once: true });
      this.#pending.set(id, {
        timer: setTimeout(() => cancel('the worker did not answer in time'), answerMs).unref(),
        end: outcome => {
          signal?.removeEventListener('abort', gone);
          if (outcome.is === 'done') resolve(outcome.result);
          else reject(notReady(outcome.why));
        },
      });
      channel.send({ task: { id, ...task } });
    });
  }

  ended(id: string, outcome: TaskOutcome): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    clearTimeout(pending.timer);
    pending.end(outcome);
  }

  /** Answers whoever waits, and ends the connection. */
  close(): void {
    this.#isClosed = true;
    this.#fail('the daemon stops');
    this.#channel?.close('the daemon stops');
    this.#channel = null;
    for (const wake of [...this.#waiting]) wake();
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

  #fail(why: string): void {
    for (const id of [...this.#pending.keys()]) this.ended(id, { is: 'fault', why });
  }
}

function notReady(why: string): SoftquotaError {
  return new SoftquotaError('not_ready', why);
}
