/** The git user's worker, as the daemon knows it: its last report, its tasks, and what it found. */

import { randomUUID } from 'node:crypto';
import type { TaskOutcome, WorkerLink, WorkerState, WorkerTasks } from '../gate/index.ts';
import type { ObservedWorker } from '../health/index.ts';
import { Space, type SpaceOptions } from './space.ts';
import { WorkerQueue } from './worker-queue.ts';

/** It reports every five seconds. */
const goneMs = 30_000;
const lookEveryMs = 5000;

export class DaemonWorker implements WorkerLink {
  readonly space: Space;
  readonly #queue = new WorkerQueue();
  readonly #id = randomUUID();
  readonly #watching: NodeJS.Timeout;
  #last: { readonly state: Omit<WorkerState, 'repositories'>; readonly at: number } | null = null;
  readonly #startedAt = performance.now();

  constructor(options: Omit<SpaceOptions, 'queue' | 'hasWorker'>) {
    this.space = new Space({ ...options, queue: this.#queue, hasWorker: () => this.isHere });
    this.#watching = setInterval(() => {
      if (!this.isHere && this.#queue.isWaitedFor) this.#queue.fail('the worker has stopped');
    }, lookEveryMs).unref();
  }

  reported({ repositories, ...state }: WorkerState): string {
    this.#last = { state, at: performance.now() };
    this.space.take(repositories);
    return this.#id;
  }

  tasks(waitMs: number, worker: string): Promise<WorkerTasks> {
    return this.#queue.tasks(waitMs, worker);
  }

  ended(id: string, outcome: TaskOutcome): boolean {
    return this.#queue.ended(id, outcome);
  }

  /** Something was pushed into a repository. */
  pushed(path: string): void {
    this.space.pushed(path);
    // Nobody would take them.
    if (this.isHere) this.#queue.pushed(path);
  }

  /** `isWanted`: `[hooks] KEEP`; `collects`: `[reclaim] RUN = gc`. */
  observed({ isWanted, collects }: Pick<ObservedWorker, 'isWanted' | 'collects'>): ObservedWorker {
    const { state = null, at = this.#startedAt } = this.#last ?? {};
    return { isWanted, collects, ...this.space.observed(), state, silentMs: performance.now() - at };
  }

  close(): void {
    clearInterval(this.#watching);
    this.#queue.close();
  }

  /** Tells whether it ever reported. */
  get isKnown(): boolean {
    return this.#last !== null;
  }

  /** Tells whether it reported lately. */
  get isHere(): boolean {
    return this.#last !== null && performance.now() - this.#last.at < goneMs;
  }
}
