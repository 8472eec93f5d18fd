/** The git user's worker, as the daemon knows it: its last report, its tasks, and what it found. */

import { randomUUID } from 'node:crypto';
import type { Config } from '../config/index.ts';
import { noRoom, type PushWorker, type Room, WorkerLink } from '../gate/index.ts';
import type { WorkerPresence } from '../health/index.ts';
import { isOfGitaly, type LargeBlobsLook, type Quarantine } from '../layout/index.ts';
import type { Reach } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import type { RepositoryWatch } from '../measuring/index.ts';
import { type Decision, type DiskFull, isRepository, leafMask, passesWithout } from '../quota/index.ts';
import type { UnitRecord } from '../store/index.ts';
import { type RepositoryFigures, type WorkerReport, workerAnswers } from '../wire/index.ts';
import { Space, type SpaceOptions } from './space.ts';
import { spaceLines } from './space-lines.ts';
import { SpaceRound, type SpaceRoundOptions } from './space-round.ts';

interface DaemonWorkerOptions
  extends Omit<SpaceOptions, 'isUnit' | 'link' | 'log'>,
    Omit<SpaceRoundOptions, 'collects' | 'log' | 'space'> {
  readonly reach: Pick<Reach, 'doubt' | 'doubted' | 'forget' | 'measured' | 'number' | 'onLapse'>;
  quarantineRemoved(unit: string): void;
  /** The address of the page about the space of this unit; empty if unknown. */
  pageOf(unit: UnitRecord): string;
  /** `[reclaim]`. */
  reclaim(): Pick<Config['reclaim'], 'expireMs' | 'run'>;
  /** `[scan] MEASURE`. */
  measure(): 'apparent' | 'allocated';
  readonly log: Pick<Log, 'error' | 'info' | 'warn'>;
}

const mostGits = 10;
const lookEveryMs = 5000;
/** Time after which the figures of a silent worker no longer count. */
const forgottenMs = 86_400_000;
/** New repositories are measured out of turn only if the worker has fewer tasks than this. */
const fewTasks = 100;
/** Time that the worker takes after the expiry, for a collection and other tasks. */
const workMs = 120_000;
/** Most units of a refused owner that are examined. */
const mostLookedAt = 10_000;

export class DaemonWorker implements RepositoryWatch, PushWorker {
  readonly space: Space;
  readonly link = new WorkerLink({
    mark: () => `${this.#id} ${this.#options.reach.number}`,
    reported: (report, isFirst) => this.#reported(report, isFirst),
  });
  readonly #options: DaemonWorkerOptions;
  readonly #round: SpaceRound;
  readonly #id = randomUUID();
  readonly #watching: NodeJS.Timeout;
  #last: { readonly state: Omit<WorkerReport, 'repositories'>; readonly at: number } | null = null;
  #isForgotten = false;
  #isAskedEarly = false;
  /** Exec paths of gits that pushes used and the worker does not have. */
  readonly #otherGits = new Set<string>();
  readonly #startedAt = performance.now();

  constructor(options: DaemonWorkerOptions) {
    const { ledger } = options;
    this.#options = options;
    this.space = new Space({
      ...options,
      link: this.link,
      isUnit: path => ledger.units.unit(path) !== undefined,
    });
    const collects = () => options.reclaim().run === 'gc';
    this.#round = new SpaceRound({ ...options, collects, space: this.space });
    options.reach.onLapse = path =>
      options.log.warn(
        { path, worker: this.link.isHere },
        'the worker has not measured this repository after a push: nothing in it is forgiven until then',
      );
    this.#watching = setInterval(() => this.look(), lookEveryMs).unref();
  }

  start(): void {
    this.#round.start();
  }

  gitUsed(execPath: string): void {
    if (!this.link.isHere) return;
    const known = this.#last?.state.exec_paths ?? [];
    if (execPath === '' || known.length === 0 || this.#otherGits.size >= mostGits) return;
    if (!known.includes(execPath)) this.#otherGits.add(execPath);
  }

  async quarantine(unit: string, name: string, deadlineMs: number): Promise<Quarantine | null> {
    const task = { kind: 'quarantine', path: unit, name, measure: this.#options.measure() } as const;
    const found = await this.link.ask(task, deadlineMs).catch(() => null);
    const parsed = workerAnswers.quarantine.safeParse(found);
    return parsed.success ? { name, ...parsed.data } : null;
  }

  async largeFiles(
    unit: string,
    name: string,
    overBytes: number,
    deadlineMs: number,
  ): Promise<LargeBlobsLook | null> {
    const question = { path: unit, name, over_bytes: overBytes, deadline_ms: deadlineMs };
    const found = await this.link.ask({ kind: 'large_blobs', ...question }, deadlineMs).catch(() => null);
    return workerAnswers.large_blobs.safeParse(found).data ?? null;
  }

  spaceLines(unit: string): readonly string[] {
    const report = this.space.current(unit);
    const record = this.#options.ledger.units.unit(unit);
    return report === null || record === undefined ? [] : spaceLines(report, this.#options.pageOf(record));
  }

  roomFor(owner: string, unit: string | null, decision: Decision | DiskFull): Room {
    const reclaim = this.#options.reclaim();
    if (!this.link.isHere || reclaim.run === 'never') return noRoom;
    const isForgiving = this.#isForgiving;
    if (reclaim.run === 'measure') return { ...noRoom, isForgiving };
    return { isForgiving, ...this.#roomByCollections(owner, unit, decision, reclaim.expireMs) };
  }

  /** Predicts when a refused owner gets room, because the worker collects garbage. */
  #roomByCollections(
    owner: string,
    unit: string | null,
    decision: Decision | DiskFull,
    expireMs: number,
  ): Omit<Room, 'isForgiving'> {
    const { ledger } = this.#options;
    const now = this.#options.now();
    const freedAt =
      unit !== null && isCollected(unit, this.space.figures(unit)) ? now + expireMs + workMs : null;
    if (decision.by !== 'rule') return { passesAt: null, freedAt };
    const counts = decision.subjects.reduce((mask, subject) => mask | leafMask(subject), 0);
    const due: { readonly at: number; readonly bytes: number }[] = [];
    for (const { id, leaf } of ledger.units.measuredOf(owner, mostLookedAt)) {
      if ((leafMask(leaf) & counts) === 0 || (decision.per === 'repository' && id !== unit)) continue;
      const figures = this.space.figures(id);
      const by = isCollected(id, figures) ? (figures?.collected_by ?? null) : null;
      // A collection that is overdue waits for others, and nobody knows how long.
      if (by !== null && by > now - workMs)
        due.push({ at: Math.max(now, by) + workMs, bytes: figures?.measured?.unreachable_bytes ?? 0 });
    }
    let freed = 0;
    for (const { at, bytes } of due.sort((a, b) => a.at - b.at)) {
      freed += bytes;
      if (passesWithout(decision, freed, ledger.settings)) return { passesAt: at, freedAt };
    }
    return { passesAt: null, freedAt };
  }

  changed(path: string): void {
    this.space.pushed(path);
    if (this.#isForgiving) this.#options.reach.doubt(path);
    this.#round.want(path);
    this.#tell(path, 'pushed');
  }

  letThrough(path: string): void {
    this.#tell(path, 'asked');
    if (this.#isForgiving) this.#options.reach.doubt(path);
  }

  mayHaveChanged(path: string): void {
    if (this.#isForgiving) this.#tell(path, 'pushed');
  }

  resized(path: string): void {
    if (this.#isForgiving) this.changed(path);
  }

  appeared(path: string): void {
    if (this.link.untoldCount < fewTasks) this.mayHaveChanged(path);
  }

  /** Records that a receive-pack asked before the objects of a push arrived. */
  askedEarly(): void {
    this.#isAskedEarly = true;
  }

  presence({ hooks, reclaim, storages }: Pick<Config, 'hooks' | 'reclaim' | 'storages'>): WorkerPresence {
    const { state = null, at = this.#startedAt } = this.#last ?? {};
    return {
      isWanted: hooks.keep,
      collects: reclaim.run === 'gc',
      isForgiving: this.#isForgiving,
      leavesBroken: !this.#isAskedEarly && storages.some(({ kind }) => kind === 'repos'),
      otherGits: [...this.#otherGits],
      state,
      silentMs: performance.now() - at,
    };
  }

  refused(path: string): void {
    this.#tell(path, 'asked');
    this.#round.want(path);
  }

  async close(): Promise<void> {
    clearInterval(this.#watching);
    this.link.close();
    await this.#round.close();
  }

  get isKnown(): boolean {
    return this.#last !== null;
  }

  get isHere(): boolean {
    return this.link.isHere;
  }

  /** `[quota] GARBAGE = forgive`. */
  get #isForgiving(): boolean {
    return this.#options.ledger.settings.garbage === 'forgive';
  }

  #reported({ repositories, ...state }: WorkerReport, isFirst: boolean): void {
    this.#last = { state, at: performance.now() };
    this.#isForgotten = false;
    for (const path of state.exec_paths) this.#otherGits.delete(path);
    this.space.take(repositories);
    for (const figures of repositories) this.#take(figures);
    for (const { unit, name, bytes } of state.quarantines.removed) {
      this.#options.quarantineRemoved(unit);
      const removed = { path: unit, quarantine: name, bytes };
      this.#options.log.info(removed, 'the worker removed what a push left behind');
    }
    // A new worker does not know the tasks of the one before.
    if (isFirst) for (const path of this.#options.reach.doubted) this.#tell(path, 'pushed');
  }

  /** Tells the worker of a path, unless it is a unit of another kind than a repository. */
  #tell(path: string, what: 'asked' | 'pushed'): void {
    const leaf = this.#options.ledger.units.unit(path)?.leaf;
    if (leaf === undefined || isRepository(leaf)) this.link.tell(path, what);
  }

  /**
   * Stores the figures of a repository. If other repositories borrow objects from it, nothing counts as
   * unreachable: its own refs do not say what is in use.
   */
  #take({ path, mark, measured }: RepositoryFigures): void {
    const [, number = '0'] = mark.startsWith(`${this.#id} `) ? mark.split(' ') : [];
    const found =
      measured === null || measured.lent
        ? null
        : { reachableBytes: measured.reachable_bytes, unreachableBytes: measured.unreachable_bytes };
    this.#options.reach.measured(path, found, /^\d{1,15}$/.test(number) ? Number(number) : 0);
  }

  /** Forgives nothing any more if no worker has reported for a day. */
  look(): void {
    if (this.link.isHere || this.#isForgotten) return;
    const { state: _, at } = this.#last ?? { state: null, at: this.#startedAt };
    if (performance.now() - at < forgottenMs) return;
    this.#isForgotten = true;
    const repositories = this.#options.reach.forget();
    const words = 'no worker has reported for a day: nothing is forgiven any more';
    if (repositories > 0) this.#options.log.warn({ repositories }, words);
  }
}

/** False if the last collection failed or freed nothing: nobody knows when the next one does better. */
function isCollected(path: string, figures: RepositoryFigures | null): boolean {
  if (isOfGitaly(path) || figures === null || figures.fault !== null) return false;
  const { measured, collected } = figures;
  if (measured === null || measured.lent) return false;
  return collected === null || (collected.fault === null && collected.freed_bytes > 0);
}
