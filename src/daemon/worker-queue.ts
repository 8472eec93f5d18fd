/** The worker's tasks and their results. The worker asks for tasks; nothing here waits for a disk. */

import { randomBytes } from 'node:crypto';
import { SoftquotaError } from '../errors.ts';
import type { TaskOutcome, WorkerTask, WorkerTasks } from '../gate/index.ts';

interface Pending {
  readonly timer: NodeJS.Timeout;
  end(outcome: TaskOutcome): void;
}

const most = 10_000;
const mostAsked = 1000;
const mostAtOnce = 100;
const none: WorkerTasks = { pushed: [], asked: [] };

export class WorkerQueue {
  readonly #pushed = new Set<string>();
  #asked: WorkerTasks['asked'] = [];
  readonly #pending = new Map<string, Pending>();
  /** The start of the worker that asked for tasks last. */
  #worker: string | null = null;
  /** The worker that waits for a task. */
  #wake: (() => void) | null = null;
  #isClosed = false;

  /** Somebody pushed there. Of more than some thousands at once, the worker finds the others by itself. */
  pushed(path: string): void {
    if (this.#pushed.size >= most) return;
    this.#pushed.add(path);
    this.#wake?.();
  }

  /** Rejects with `not_ready` where there is no answer in time, or too much is asked. */
  ask(task: WorkerTask, answerMs: number): Promise<Readonly<Record<string, unknown>>> {
    if (this.#pending.size >= mostAsked)
      return Promise.reject(
        new SoftquotaError('not_ready', 'the worker has too much to do; ask again later'),
      );
    const id = randomBytes(12).toString('hex');
    this.#asked = [...this.#asked, { id, ...task }];
    return new Promise((resolve, reject) => {
      const overdue = () => this.ended(id, { is: 'fault', why: 'the worker did not answer in time' });
      this.#pending.set(id, {
        timer: setTimeout(overdue, answerMs).unref(),
        end: outcome => {
          if (outcome.is === 'done') resolve(outcome.result);
          else reject(new SoftquotaError('not_ready', outcome.why));
        },
      });
      this.#wake?.();
    });
  }

  /**
   * Resolves with what there is to do, as soon as there is something, or with nothing when the time is over.
   * `worker` is another after each start of the worker, and what it took before has ended with it.
   */
  async tasks(waitMs: number, worker: string): Promise<WorkerTasks> {
    if (this.#worker !== null && worker !== this.#worker) this.#failTaken();
    this.#worker = worker;
    // A worker that asks again has given up its question before.
    this.#wake?.();
    if (!this.#hasTasks && !this.#isClosed) await this.#somethingToDo(waitMs);
    if (!this.#hasTasks) return none;
    const pushed = [...this.#pushed].slice(0, mostAtOnce);
    for (const path of pushed) this.#pushed.delete(path);
    const asked = this.#asked.slice(0, mostAtOnce);
    this.#asked = this.#asked.slice(mostAtOnce);
    return { pushed, asked };
  }

  ended(id: string, outcome: TaskOutcome): boolean {
    const pending = this.#pending.get(id);
    if (pending === undefined) return false;
    this.#pending.delete(id);
    clearTimeout(pending.timer);
    this.#asked = this.#asked.filter(task => task.id !== id);
    pending.end(outcome);
    return true;
  }

  /** The worker has gone, and what it did with it. */
  fail(why: string): void {
    for (const id of [...this.#pending.keys()]) this.ended(id, { is: 'fault', why });
  }

  /** How many pushes nobody has asked for yet. */
  get pushedCount(): number {
    return this.#pushed.size;
  }

  #failTaken(): void {
    const waiting = new Set(this.#asked.map(({ id }) => id));
    for (const id of [...this.#pending.keys()])
      if (!waiting.has(id)) this.ended(id, { is: 'fault', why: 'the worker was restarted; ask again' });
  }

  get isWaitedFor(): boolean {
    return this.#pending.size > 0;
  }

  /** Answers whoever waits. */
  close(): void {
    this.#isClosed = true;
    this.fail('the daemon stops');
    this.#wake?.();
  }

  get #hasTasks(): boolean {
    return this.#pushed.size > 0 || this.#asked.length > 0;
  }

  #somethingToDo(waitMs: number): Promise<void> {
    return new Promise(resolve => {
      const wake = (): void => {
        clearTimeout(timer);
        if (this.#wake === wake) this.#wake = null;
        resolve();
      };
      const timer = setTimeout(wake, waitMs);
      this.#wake = wake;
    });
  }
}
