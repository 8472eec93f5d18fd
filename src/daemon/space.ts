/**
 * The space inside repositories, as the worker says: figures, reports, and collections that somebody asked
 * for.
 */

import type { SpaceService, SpaceState } from '../api/index.ts';
import { messageOf, SoftquotaError } from '../errors.ts';
import type { ReportedRepository } from '../gate/index.ts';
import type { ObservedWorker } from '../health/index.ts';
import { type ReclaimRun, reclaimRun, spaceReport } from '../wire/index.ts';
import type { WorkerQueue } from './worker-queue.ts';

const otherVersion = 'the worker is of another version than the daemon';
const collectedShape = reclaimRun.pick({ freed_bytes: true, unreachable_bytes: true });

export interface SpaceOptions {
  readonly queue: Pick<WorkerQueue, 'ask'>;
  /** A worker has reported lately. */
  hasWorker(): boolean;
  /** True while there is such a unit. */
  isUnit(path: string): boolean;
  /** The worker collected garbage, or failed to. */
  collected(figures: ReportedRepository): void;
  /** Milliseconds since 1970. */
  now(): number;
}

interface Explained {
  readonly state: SpaceState;
  readonly at: number;
}

const explainMs = 90_000;
const reclaimMs = 7 * 3_600_000;
const keptMs = 300_000;
const keptFaultMs = 10_000;
const mostExplained = 100;
const mostRuns = 2000;
const mostFailing = 100;
const noWorker =
  'no worker runs on this host: start softquota worker as the user that git runs as (systemctl enable --now softquota-worker)';

export class Space implements SpaceService {
  readonly #options: SpaceOptions;
  readonly #startedAt: number;
  readonly #figures = new Map<string, ReportedRepository>();
  readonly #explained = new Map<string, Explained>();
  #runs: readonly (ReclaimRun & { readonly path: string })[] = [];
  #lastRun = 0;
  #pruneAt = 1000;

  constructor(options: SpaceOptions) {
    this.#options = options;
    this.#startedAt = options.now();
  }

  /** Takes figures of the worker. */
  take(reported: readonly ReportedRepository[]): void {
    for (const figures of reported) {
      const before = this.#figures.get(figures.path);
      const at = figures.collected?.at ?? 0;
      this.#figures.set(figures.path, figures);
      // The collections before this start are known.
      if (at >= this.#startedAt && at !== before?.collected?.at) this.#options.collected(figures);
    }
    this.#prune();
  }

  /** Something was pushed: the last report is not true any more. */
  pushed(path: string): void {
    if (this.#explained.get(path)?.state.is !== 'running') this.#explained.delete(path);
  }

  /** Sums over all repositories. */
  observed(): Pick<ObservedWorker, 'failing' | 'unreachableBytes'> {
    let unreachableBytes = 0;
    let count = 0;
    const first: { path: string; why: string }[] = [];
    for (const { path, measured, fault } of this.#figures.values()) {
      unreachableBytes += measured?.unreachableBytes ?? 0;
      if (fault === null) continue;
      count += 1;
      if (first.length < mostFailing) first.push({ path, why: fault });
    }
    return { unreachableBytes, failing: { first, count } };
  }

  figures(path: string): ReportedRepository | null {
    return this.#figures.get(path) ?? null;
  }

  explain(path: string): SpaceState {
    const { now, hasWorker } = this.#options;
    const known = this.#explained.get(path);
    if (known !== undefined) {
      const age = now() - known.at;
      const kept = known.state.is === 'failed' ? keptFaultMs : keptMs;
      if (known.state.is === 'running' || (age >= 0 && age < kept)) return known.state;
    }
    if (!hasWorker()) throw new SoftquotaError('not_ready', noWorker);
    const state = { is: 'running' } as const;
    this.#keep(path, state);
    void this.#explain(path);
    return state;
  }

  reclaim(path: string, repository: string): ReclaimRun {
    const running = this.#runs.find(run => run.path === path && run.state === 'running');
    if (running !== undefined) return shown(running);
    if (!this.#options.hasWorker()) throw new SoftquotaError('not_ready', noWorker);
    const id = ++this.#lastRun;
    const begun = {
      id,
      path,
      repository,
      state: 'running',
      freed_bytes: null,
      unreachable_bytes: null,
      message: null,
    } as const;
    this.#runs = [begun, ...this.#runs].slice(0, mostRuns);
    void this.#reclaim(id, path);
    return shown(begun);
  }

  runs(): readonly ReclaimRun[] {
    return this.#runs.map(shown);
  }

  async #explain(path: string): Promise<void> {
    try {
      const result = await this.#options.queue.ask('space', path, explainMs);
      const parsed = spaceReport.safeParse(result);
      this.#keep(
        path,
        parsed.success ? { is: 'done', report: parsed.data } : { is: 'failed', message: otherVersion },
      );
    } catch (error) {
      this.#keep(path, { is: 'failed', message: messageOf(error) });
    }
  }

  #keep(path: string, state: SpaceState): void {
    this.#explained.delete(path);
    this.#explained.set(path, { state, at: this.#options.now() });
    if (this.#explained.size <= mostExplained) return;
    const [oldest] = [...this.#explained].filter(
      ([
        ,
        {
          state: { is },
        },
      ]) => is !== 'running',
    );
    if (oldest !== undefined) this.#explained.delete(oldest[0]);
  }

  async #reclaim(id: number, path: string): Promise<void> {
    try {
      const found = collectedShape.safeParse(await this.#options.queue.ask('reclaim', path, reclaimMs));
      this.#ended(
        id,
        found.success ? { state: 'done', ...found.data } : { state: 'failed', message: otherVersion },
      );
    } catch (error) {
      this.#ended(id, { state: 'failed', message: messageOf(error) });
    }
  }

  #ended(id: number, end: Partial<ReclaimRun>): void {
    this.#runs = this.#runs.map(run => (run.id === id ? { ...run, ...end } : run));
  }

  /** Forgets repositories that have gone, once they are many. */
  #prune(): void {
    if (this.#figures.size < this.#pruneAt) return;
    for (const path of this.#figures.keys()) if (!this.#options.isUnit(path)) this.#figures.delete(path);
    this.#pruneAt = Math.max(1000, 2 * this.#figures.size);
  }
}

function shown({ path: _path, ...run }: ReclaimRun & { readonly path: string }): ReclaimRun {
  return run;
}
