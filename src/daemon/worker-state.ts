/** The git user's worker, as the daemon knows it: its last report, its tasks, and what it found. */

import { randomUUID } from 'node:crypto';
import type { Config } from '../config/index.ts';
import type { ReportedRepository, TaskOutcome, WorkerLink, WorkerState, WorkerTasks } from '../gate/index.ts';
import type { ObservedWorker } from '../health/index.ts';
import type { Reach } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import type { ForgeSync, RepositoryWatch } from '../measuring/index.ts';
import type { UnitRecord } from '../store/index.ts';
import { Space, type SpaceOptions } from './space.ts';
import { SpaceRound, type SpaceRoundOptions } from './space-round.ts';
import { WorkerQueue } from './worker-queue.ts';

export interface DaemonWorkerOptions
  extends Omit<SpaceOptions, 'queue' | 'hasWorker' | 'pageToNote' | 'isUnit'>,
    Omit<SpaceRoundOptions, 'space' | 'log'> {
  readonly reach: Pick<Reach, 'doubt' | 'doubted' | 'forget' | 'measured' | 'number' | 'onLapse'>;
  /** `[quota] GARBAGE = forgive`. */
  isForgiving(): boolean;
  /** Null: no forge is named. */
  readonly forge: Pick<ForgeSync, 'lfsObjects'> | null;
  /** Milliseconds since any moment, on a clock that nobody sets. */
  monotonic(): number;
  /** The page about the space of this unit; empty where nobody said where it is. */
  pageOf(unit: UnitRecord): string;
  readonly log: Pick<Log, 'error' | 'warn'>;
}

/** It reports every five seconds. */
const goneMs = 30_000;
const lookEveryMs = 5000;
/** After so long nobody knows any more what a silent worker said. */
const forgottenMs = 86_400_000;
/** New repositories are measured out of turn only where there is little else to do. */
const fewTasks = 100;

export class DaemonWorker implements RepositoryWatch, WorkerLink {
  readonly space: Space;
  readonly #options: DaemonWorkerOptions;
  readonly #round: SpaceRound;
  readonly #queue = new WorkerQueue();
  readonly #id = randomUUID();
  readonly #watching: NodeJS.Timeout;
  #last: { readonly state: Omit<WorkerState, 'repositories'>; readonly at: number } | null = null;
  readonly #startedAt: number;

  constructor(options: DaemonWorkerOptions) {
    const { ledger, pageOf } = options;
    this.#options = options;
    this.#startedAt = options.monotonic();
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
    options.reach.onLapse = path =>
      options.log.warn(
        { path, worker: this.isHere },
        'the worker has not measured this repository after a push: nothing in it is forgiven until then',
      );
    this.#watching = setInterval(() => this.look(), lookEveryMs).unref();
  }

  /** From now on repositories are looked through unasked. */
  start(): void {
    this.#round.start();
  }

  reported({ repositories, ...state }: WorkerState): string {
    // Another one does not know what the one before was told.
    const isSame = this.isHere && this.#last?.state.pid === state.pid;
    this.#last = { state, at: this.#options.monotonic() };
    this.space.take(repositories);
    for (const figures of repositories) this.#take(figures);
    if (!isSame) for (const path of this.#options.reach.doubted) this.#queue.pushed(path);
    return this.#id;
  }

  async tasks(waitMs: number, worker: string): Promise<WorkerTasks & { readonly mark: string }> {
    const found = await this.#queue.tasks(waitMs, worker);
    return { ...found, mark: `${this.#id} ${this.#options.reach.number}` };
  }

  ended(id: string, outcome: TaskOutcome): boolean {
    return this.#queue.ended(id, outcome);
  }

  async lfsObjects(path: string): ReturnType<WorkerLink['lfsObjects']> {
    return (await this.#options.forge?.lfsObjects(path)) ?? null;
  }

  /** A hook says that something was pushed into a repository. */
  changed(path: string): void {
    this.space.pushed(path);
    if (this.#options.isForgiving()) this.#options.reach.doubt(path);
    this.#round.want(path);
    // Nobody would take them.
    if (this.isHere) this.#queue.pushed(path);
  }

  letThrough(path: string): void {
    if (this.#options.isForgiving()) this.#options.reach.doubt(path);
  }

  mayHaveChanged(path: string): void {
    if (this.#options.isForgiving() && this.isHere) this.#queue.pushed(path);
  }

  resized(path: string): void {
    if (this.#options.isForgiving()) this.changed(path);
  }

  appeared(path: string): void {
    if (this.#queue.pushedCount < fewTasks) this.mayHaveChanged(path);
  }

  observed({ hooks, reclaim }: Pick<Config, 'hooks' | 'reclaim'>): ObservedWorker {
    const { state = null, at = this.#startedAt } = this.#last ?? {};
    return {
      isWanted: hooks.keep,
      collects: reclaim.run === 'gc',
      isForgiving: this.#options.isForgiving(),
      ...this.space.observed(),
      state,
      silentMs: this.#options.monotonic() - at,
    };
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
    return this.#last !== null && this.#options.monotonic() - this.#last.at < goneMs;
  }

  /** What other repositories borrow from this one may be in use, whatever its own refs reach. */
  #take({ path, mark, measured }: ReportedRepository): void {
    const [, number = '0'] = mark.startsWith(`${this.#id} `) ? mark.split(' ') : [];
    const found = measured === null || measured.isLent ? null : measured;
    this.#options.reach.measured(path, found, /^\d{1,15}$/.test(number) ? Number(number) : 0);
  }

  /** Notices that the worker is silent: what it was asked for fails, and after a day nothing is forgiven. */
  look(): void {
    if (this.isHere) return;
    if (this.#queue.isWaitedFor) this.#queue.fail('the worker has stopped');
    const { state: _, at } = this.#last ?? { state: null, at: this.#startedAt };
    if (this.#options.monotonic() - at < forgottenMs) return;
    const words = this.#options.reach.forget();
    if (words > 0)
      this.#options.log.warn(
        { repositories: words },
        'no worker has reported for a day: nothing is forgiven any more',
      );
  }
}
