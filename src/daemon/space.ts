/** The worker's data about space in repositories: figures, reports, and requested collections. */

import type { SpaceService } from '../api/index.ts';
import { messageOf, SoftquotaError } from '../errors.ts';
import type { WorkerLink } from '../gate/index.ts';
import type { ObservedWorker } from '../health/index.ts';
import { isOfGitaly } from '../layout/index.ts';
import type { Log } from '../log.ts';
import type { ForgeSync } from '../measuring/index.ts';
import { isoTime } from '../text.ts';
import { inSlices, within } from '../turns.ts';
import {
  type ReclaimRun,
  type RepositoryFigures,
  type SpaceReport,
  spaceReport,
  workerAnswers,
} from '../wire/index.ts';

const otherVersion = 'the worker is of another version than the daemon';

export interface SpaceOptions {
  readonly link: Pick<WorkerLink, 'ask' | 'isHere'>;
  /** Null: no forge is named. */
  readonly forge: Pick<ForgeSync, 'lfsObjects'> | null;
  isUnit(path: string): boolean;
  /** Called when the worker has collected garbage, or failed to. */
  collected(figures: RepositoryFigures): void;
  /** Milliseconds since 1970. */
  now(): number;
  readonly log: Pick<Log, 'warn'>;
}

/** The last report about a repository, as text, whose memory can be bounded. */
interface KeptReport {
  readonly text: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly objectBytes: number;
  readonly reachableBytes: number;
  /** The repository has changed while it was examined. */
  readonly hasMoved: boolean;
  /** The repository has changed since. */
  isOld: boolean;
}

/** The state of an examination that runs, or has failed. */
type Look =
  | { readonly is: 'running'; hasChanged: boolean }
  | { readonly is: 'failed'; readonly message: string; readonly at: number };

const explainMs = 90_000;
const noteMs = 360_000;
/** Time limits for the forge's database: if somebody waits, and if nobody does. */
const lfsMs = 30_000;
const unaskedLfsMs = 300_000;
/** Most examinations at a time: of those that somebody waits for, and of others. */
const mostAtOnce = 2;
const collectFirstMs = 10_000;
const reclaimMs = 7 * 3_600_000;
const freshMs = 3_600_000;
const keptFaultMs = 10_000;
/** Pause between two examinations of a repository, so that repeated requests do not keep the worker busy. */
const restMs = 5000;
/** Pauses before an examination that nobody requested: after a report, and after a failure. */
const noteEveryMs = 72_000_000;
const noteAgainMs = 3_600_000;
const mostLooks = 2000;
const mostReports = 2000;
const mostCharacters = 16 * 1024 * 1024;
const mostRuns = 2000;
/** Most collections that the worker is asked for at a time: its other questions need room beside them. */
const mostReclaims = 50;
const mostFailing = 100;
const noWorker =
  'no worker runs on this host: start softquota worker as the user that git runs as (systemctl enable --now softquota-worker)';
const tooMany = 'many collections wait already: ask again when some of them have ended';
const nothingMeasured =
  'the worker has measured no repository yet: ask again later, and set [reclaim] RUN = measure or gc if it is never';

export class Space implements SpaceService {
  readonly #options: SpaceOptions;
  readonly #startedAt: number;
  readonly #figures = new Map<string, RepositoryFigures>();
  /** Figures for which the worker was already asked to collect first. */
  readonly #askedFirst = new WeakSet<RepositoryFigures>();
  /** The latest last. */
  readonly #reports = new Map<string, KeptReport>();
  #characters = 0;
  readonly #looks = new Map<string, Look>();
  #runs: readonly (ReclaimRun & { readonly path: string })[] = [];
  #lastRun = 0;
  /** Requested collections for which the worker was not asked yet. */
  readonly #toReclaim: (readonly [id: number, path: string])[] = [];
  #reclaiming = 0;
  /** Numbers of examinations now, as in `mostAtOnce`. */
  readonly #running = { urgent: 0, others: 0 };
  #pruneAt = 1000;

  constructor(options: SpaceOptions) {
    this.#options = options;
    this.#startedAt = options.now();
  }

  take(reported: readonly RepositoryFigures[]): void {
    for (const figures of reported) {
      const before = this.#figures.get(figures.path);
      const at = figures.collected?.at ?? 0;
      this.#figures.set(figures.path, figures);
      const { measured } = figures;
      const kept = this.#reports.get(figures.path);
      if (kept !== undefined && measured !== null)
        kept.isOld ||=
          kept.objectBytes !== measured.object_bytes || kept.reachableBytes !== measured.reachable_bytes;
      // Collections before this daemon's start are recorded already.
      if (at >= this.#startedAt && at !== before?.collected?.at) this.#options.collected(figures);
    }
    this.#prune();
  }

  pushed(path: string): void {
    const kept = this.#reports.get(path);
    if (kept !== undefined) kept.isOld = true;
    const look = this.#looks.get(path);
    if (look?.is === 'running') look.hasChanged = true;
    else this.#looks.delete(path);
  }

  async observed(): Promise<Pick<ObservedWorker, 'failing' | 'unreachableBytes'>> {
    let unreachableBytes = 0;
    let count = 0;
    const first: { path: string; why: string }[] = [];
    await inSlices(this.#figures.values(), ({ path, fault }) => {
      if (!this.#options.isUnit(path)) return;
      unreachableBytes += this.collectableBytes(path);
      if (fault === null) return;
      count += 1;
      if (first.length < mostFailing) first.push({ path, why: fault });
    });
    return { unreachableBytes, failing: { first, count } };
  }

  figures(path: string): RepositoryFigures | null {
    return this.#figures.get(path) ?? null;
  }

  explain(path: string, newerThan: number): ReturnType<SpaceService['explain']> {
    const { now, link } = this.#options;
    const known = this.#reports.get(path) ?? null;
    const last = { report: known && reportIn(known), reported_at: known && isoTime(known.at), message: null };
    const look = this.#looks.get(path);
    if (look?.is === 'running') return { state: 'running', ...last };
    if (look !== undefined && isWithin(now() - look.at, keptFaultMs))
      return { state: 'failed', ...last, message: look.message };
    if (known?.isOld === false) {
      const isFresh = known.at > newerThan && !known.hasMoved;
      if (isWithin(now() - known.at, isFresh ? freshMs : restMs)) return { state: 'done', ...last };
    }
    if (!link.isHere) {
      if (known === null) throw new SoftquotaError('not_ready', noWorker);
      return { state: 'failed', ...last, message: noWorker };
    }
    void this.#look(path, true);
    return { state: 'running', ...last };
  }

  /** The last report, if the repository has not changed since; else null. */
  current(path: string): SpaceReport | null {
    const known = this.#reports.get(path);
    return known === undefined || known.isOld || known.hasMoved ? null : reportIn(known);
  }

  /** Returns true if the report for refused pushes is missing or too old, and can be made now. */
  isDue(path: string): boolean {
    const { now, link } = this.#options;
    if (!link.isHere) return false;
    const look = this.#looks.get(path);
    if (look !== undefined && (look.is === 'running' || isWithin(now() - look.at, noteAgainMs))) return false;
    const known = this.#reports.get(path);
    if (known === undefined || known.isOld || known.hasMoved) return true;
    return !isWithin(now() - known.at, noteEveryMs);
  }

  /** Makes the worker examine the repository when it has nothing more urgent to do. Never rejects. */
  async look(path: string): Promise<void> {
    await this.#look(path, false);
  }

  collectableBytes(path: string): number {
    const measured = this.#figures.get(path)?.measured ?? null;
    return measured === null || measured.lent || isOfGitaly(path) ? 0 : measured.unreachable_bytes;
  }

  checkMeasured(): void {
    if (!this.#options.link.isHere) throw new SoftquotaError('not_ready', noWorker);
    if (this.#figures.size === 0) throw new SoftquotaError('not_ready', nothingMeasured);
  }

  /** Makes the worker collect the garbage as soon as it is old enough, unless that is planned already. */
  collectFirst(path: string): void {
    const figures = this.#figures.get(path);
    if (figures === undefined || figures.collected_by !== null || this.#askedFirst.has(figures)) return;
    if (this.collectableBytes(path) === 0 || !this.#options.link.isHere) return;
    // The worker is asked again if it reports newer figures.
    this.#askedFirst.add(figures);
    this.#options.link.ask({ kind: 'collect_first', path }, collectFirstMs).catch(() => {});
  }

  reclaim(path: string, repository: string): ReclaimRun {
    const running = this.#runs.find(run => run.path === path && run.state === 'running');
    if (running !== undefined) return shown(running);
    if (!this.#options.link.isHere) throw new SoftquotaError('not_ready', noWorker);
    if (this.#toReclaim.length >= mostRuns - mostReclaims) throw new SoftquotaError('not_ready', tooMany);
    const id = ++this.#lastRun;
    const unknown = { freed_bytes: null, unreachable_bytes: null, message: null };
    const begun = { id, path, repository, state: 'running', ...unknown } as const;
    this.#runs = [begun, ...this.#runs].slice(0, mostRuns);
    this.#toReclaim.push([id, path]);
    if (this.#reclaiming < mostReclaims) void this.#reclaimWaiting();
    return shown(begun);
  }

  runs(): readonly ReclaimRun[] {
    return this.#runs.map(shown);
  }

  async #look(path: string, isUrgent: boolean): Promise<void> {
    const { link, now } = this.#options;
    const look: Look = { is: 'running', hasChanged: false };
    const kind = isUrgent ? 'urgent' : 'others';
    this.#keepLook(path, look);
    this.#running[kind] += 1;
    try {
      if (this.#running[kind] > mostAtOnce)
        throw new SoftquotaError('not_ready', 'other repositories are being looked through; ask again later');
      const lfs = await this.#forgeLfs(path, isUrgent);
      if (!link.isHere) throw new SoftquotaError('not_ready', noWorker);
      const task = { kind: 'space', path, urgent: isUrgent, lfs } as const;
      const parsed = spaceReport.safeParse(await link.ask(task, isUrgent ? explainMs : noteMs));
      if (!parsed.success) throw new SoftquotaError('not_ready', otherVersion);
      this.#keepReport(path, parsed.data, look.hasChanged);
      this.#looks.delete(path);
    } catch (error) {
      this.#keepLook(path, { is: 'failed', message: messageOf(error), at: now() });
    } finally {
      this.#running[kind] -= 1;
    }
  }

  /** The largest LFS objects that only this repository has, from the forge's database; null if unknown. */
  async #forgeLfs(path: string, isUrgent: boolean) {
    const { forge, log } = this.#options;
    if (forge === null) return null;
    try {
      const found = await within(forge.lfsObjects(path), isUrgent ? lfsMs : unaskedLfsMs, null);
      if (found !== null) return [...found];
      log.warn({ path, why: 'the database is late' }, 'the LFS objects of a repository are not known');
    } catch (error) {
      log.warn({ path, why: messageOf(error) }, 'the LFS objects of a repository are not known');
    }
    return null;
  }

  #keepReport(path: string, report: SpaceReport, hasMoved: boolean): void {
    this.#forgetReport(path);
    const text = JSON.stringify(report);
    const { object_bytes: objectBytes, reachable_bytes: reachableBytes } = report;
    const at = this.#options.now();
    this.#reports.set(path, { text, at, objectBytes, reachableBytes, hasMoved, isOld: false });
    this.#characters += text.length;
    for (const oldest of this.#reports.keys()) {
      if (this.#reports.size <= mostReports && this.#characters <= mostCharacters) return;
      this.#forgetReport(oldest);
    }
  }

  #forgetReport(path: string): void {
    this.#characters -= this.#reports.get(path)?.text.length ?? 0;
    this.#reports.delete(path);
  }

  #keepLook(path: string, look: Look): void {
    this.#looks.delete(path);
    this.#looks.set(path, look);
    if (this.#looks.size <= mostLooks) return;
    for (const [oldest, { is }] of this.#looks) {
      if (is === 'running') continue;
      this.#looks.delete(oldest);
      return;
    }
  }

  async #reclaimWaiting(): Promise<void> {
    this.#reclaiming += 1;
    for (let next = this.#toReclaim.shift(); next !== undefined; next = this.#toReclaim.shift())
      await this.#reclaim(...next);
    this.#reclaiming -= 1;
  }

  async #reclaim(id: number, path: string): Promise<void> {
    try {
      const found = workerAnswers.reclaim.safeParse(
        await this.#options.link.ask({ kind: 'reclaim', path }, reclaimMs),
      );
      if (found.success) this.#ended(id, { state: 'done', ...found.data });
      else this.#ended(id, { state: 'failed', message: otherVersion });
    } catch (error) {
      this.#ended(id, { state: 'failed', message: messageOf(error) });
    }
  }

  #ended(id: number, end: Partial<ReclaimRun>): void {
    this.#runs = this.#runs.map(run => (run.id === id ? { ...run, ...end } : run));
  }

  /** Forgets repositories that no longer exist, once there are many. */
  #prune(): void {
    if (this.#figures.size < this.#pruneAt) return;
    for (const path of this.#figures.keys()) if (!this.#options.isUnit(path)) this.#figures.delete(path);
    this.#pruneAt = Math.max(1000, 2 * this.#figures.size);
  }
}

/** Returns false also for a negative age, after the clock was set back. */
function isWithin(ageMs: number, mostMs: number): boolean {
  return ageMs >= 0 && ageMs < mostMs;
}

function reportIn({ text }: KeptReport): SpaceReport {
  return spaceReport.parse(JSON.parse(text));
}

function shown({ path: _path, ...run }: ReclaimRun & { readonly path: string }): ReclaimRun {
  return run;
}
