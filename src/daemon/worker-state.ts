/** The git user's worker, as the daemon knows it: its last report, its tasks, and what it found. */

import { randomUUID } from 'node:crypto';
import type { TaskOutcome, WorkerLink, WorkerState, WorkerTasks } from '../gate/index.ts';
import type { ObservedWorker } from '../health/index.ts';
import type { UnitRecord } from '../store/index.ts';
import { Space, type SpaceOptions } from './space.ts';
import { SpaceRound, type SpaceRoundOptions } from './space-round.ts';
import { WorkerQueue } from './worker-queue.ts';

/** It reports every five seconds. */
const goneMs = 30_000;
const lookEveryMs = 5000;

export interface DaemonWorkerOptions
  extends Omit<SpaceOptions, 'queue' | 'hasWorker' | 'pageToNote' | 'isUnit'>,
    Omit<SpaceRoundOptions, 'space'> {
  /** The page about the space of this unit; empty where nobody said where it is. */
  pageOf(unit: UnitRecord): string;
}

export class DaemonWorker implements WorkerLink {
  readonly space: Space;
  readonly #round: SpaceRound;
  readonly #queue = new WorkerQueue();
  readonly #id = randomUUID();
  readonly #watching: NodeJS.Timeout;
  #last: { readonly state: Omit<WorkerState, 'repositories'>; readonly at: number } | null = null;
  readonly #startedAt = performance.now();

  constructor(options: DaemonWorkerOptions) {
    const { ledger, pageOf } = options;
    this.space = new Space({
      ...options,
      queue: this.#queue,
      hasWorker: () => this.isHere,
      isUnit: path => ledger.units.unit(path) !== undefined,
      pageToNote: path => {
        const unit = ledger.units.unit(path);
        return unit === undefined || unit.owner === null || !this.#round.isNear(unit.owner)
          ? null
          : pageOf(unit);
      },
    });
    this.#round = new SpaceRound({ ...options, space: this.space });
    this.#watching = setInterval(() => {
      if (!this.isHere && this.#queue.isWaitedFor) this.#queue.fail('the worker has stopped');
    }, lookEveryMs).unref();
  }

  /** From now on repositories are looked through unasked. */
  start(): void {
    this.#round.start();
  }

  reported({ repositories, ...state }: WorkerState): string {
    this.#last = { state, at: performance.now() };
    this.space.take(repositories);
    return this.#id;
  }

  tasks(waitMs: number): Promise<WorkerTasks> {
    return this.#queue.tasks(waitMs);
  }

  ended(id: string, outcome: TaskOutcome): boolean {
    return this.#queue.ended(id, outcome);
  }

  /** Something was pushed into a repository. */
  pushed(path: string): void {
    this.space.pushed(path);
    this.#round.want(path);
    // Nobody would take them.
    if (this.isHere) this.#queue.pushed(path);
  }

  /** `isWanted`: `[hooks] KEEP`; `collects`: `[reclaim] RUN = gc`. */
  observed({ isWanted, collects }: Pick<ObservedWorker, 'isWanted' | 'collects'>): ObservedWorker {
    const { state = null, at = this.#startedAt } = this.#last ?? {};
    return { isWanted, collects, ...this.space.observed(), state, silentMs: performance.now() - at };
  }

  /** Somebody wants to push there and may not. */
  refused(path: string): void {
    this.#round.want(path);
  }

  async close(): Promise<void> {
    clearInterval(this.#watching);
    this.#queue.close();
    await this.#round.close();
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
