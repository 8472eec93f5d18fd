/**
 * Measures how much of each repository is reachable, and collects garbage if `[reclaim] RUN` says so.
 *
 * A repository is measured after its refs have changed: at once if the daemon reports a push, else on the
 * next round. If nothing has changed, the last result is reported again, for the daemon forgives nothing that
 * may have changed. Unreachable data is collected once it is older than the expiry. A repository whose
 * collection fails, or frees nothing, is tried less and less often.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../errors.ts';
import { isOfGitaly } from '../../layout/index.ts';
import { formatBytes, printable } from '../../text.ts';
import type { RepositoryFigures } from '../../wire/index.ts';
import { CollectionPlan } from './collection-plan.ts';
import { DiskQueues } from './disk-queues.ts';
import { isThere } from './files.ts';
import { Loans } from './loans.ts';
import { mayDiffer, type RefsSignature, refsSignature } from './refs-signature.ts';
import { type JobOptions, Pace } from './repository-walk.ts';
import { collect, writeBitmap } from './space/collect.ts';
import { type GitProgram, UnusableRepository } from './space/git.ts';
import { measure, type Reachability, storedObjects } from './space/measure.ts';
import { withView } from './space/view.ts';

export interface ReclaimOptions extends JobOptions {
  readonly gitFor: (path: string) => GitProgram;
  /** `[reclaim] RUN`, if that is not `never`. */
  readonly run: 'measure' | 'gc';
  readonly expireMs: number;
}

interface CollectedNow {
  readonly freed_bytes: number;
  /** The bytes that became unreachable recently, and stay. */
  readonly unreachable_bytes: number;
}

interface Known {
  signature: RefsSignature | null;
  /** Figures for the daemon; there are none yet while `at` is 0. */
  figures: RepositoryFigures;
  isQueued: boolean;
  /** Time before which it is not measured again, on the monotonic clock. */
  restsUntil: number;
  readonly plan: CollectionPlan;
  /** A collection waits or runs. */
  isCollecting: boolean;
  bitmapAt: number;
  /** The last measurement ran into its time limit: other repositories go first. */
  isOverdue: boolean;
}

const gitlabCollects =
  'softquota collects no garbage in repositories of GitLab: GitLab removes what is unreachable itself, within ten days';
const roundMs = 600_000;
const restForRound = 19;
const lookEveryMs = 1000;
const measureMs = 600_000;
const collectMs = 6 * 3_600_000;
const slowMs = 1000;
const restPerWork = 4;
const dayMs = 86_400_000;
/** Longest figures in a report, in characters of JSON; the daemon takes a mebibyte for the whole report. */
const mostReported = 200_000;
const mostAtOnce = 200;
/** Longest fault in a report: strangers' files are named in it. The daemon cuts at four times as many. */
const longestFault = 1000;

export class Reclaim {
  readonly #options: ReclaimOptions;
  readonly #known = new Map<string, Known>();
  /** Those of them that only a push or a request named: no walk has found them yet. */
  readonly #unfound = new Set<string>();
  /** Repositories whose figures the daemon does not have yet. */
  readonly #unsent = new Set<string>();
  /** Repositories whose collection waits for no round. */
  readonly #first = new Set<string>();
  readonly #looking: NodeJS.Timeout;
  readonly #queues = new DiskQueues();
  readonly #signal: AbortSignal;
  readonly #loans = new Loans();
  mark = '';
  #rounds: Promise<void> = Promise.resolve();

  constructor(options: ReclaimOptions) {
    this.#options = options;
    this.#signal = options.repositories.signal;
    this.#looking = setInterval(() => this.#collectDue(), lookEveryMs).unref();
    options.repositories.add({
      found: path => {
        this.#meet(path);
        this.#unfound.delete(path);
        this.#loans.came();
      },
      gone: path => this.#forget(path),
    });
  }

  start(): void {
    this.#rounds = this.#goRound();
  }

  async close(): Promise<void> {
    clearInterval(this.#looking);
    await Promise.all([this.#rounds, this.#queues.close()]);
  }

  pushed(path: string): void {
    const known = this.#meet(path);
    this.#measureSoon(path, known, !known.isOverdue);
  }

  /** Collects now, as far as the expiry allows; rejects with the reason if that is impossible. */
  async collectNow(path: string): Promise<CollectedNow> {
    // Gitaly takes no lock that git's own programs know, so two collections would run at a time.
    if (isOfGitaly(path)) throw new UnusableRepository(gitlabCollects);
    const known = this.#meet(path);
    return this.#queues.run(path, () => this.#collect(path, known, true), true);
  }

  /** Collects as soon as the expiry allows, even little garbage, because the owner has little room left. */
  collectFirst(path: string): void {
    const known = this.#known.get(path);
    const measured = known?.figures.measured ?? null;
    if (known === undefined || measured === null || !this.#mayCollect(path)) return;
    if (known.plan.isFirst || known.isCollecting) return;
    if (!known.plan.isWorth(measured.object_bytes, measured.unreachable_bytes, true)) return;
    known.plan.isFirst = true;
    known.plan.makeDue();
    this.#first.add(path);
    this.#publish(known, {});
  }

  /** Sends all figures over a new connection, since some may have been lost with the previous one. */
  sendAllAgain(): void {
    for (const [path, { figures }] of this.#known) if (figures.at > 0) this.#unsent.add(path);
  }

  get hasUnsent(): boolean {
    return this.#unsent.size > 0;
  }

  nextFigures(): readonly RepositoryFigures[] {
    const found: RepositoryFigures[] = [];
    let length = 0;
    for (const path of this.#unsent) {
      const figures = this.#known.get(path)?.figures;
      if (figures === undefined) {
        this.#unsent.delete(path);
        continue;
      }
      length += JSON.stringify(figures).length;
      if (found.length > 0 && (length > mostReported || found.length === mostAtOnce)) break;
      this.#unsent.delete(path);
      found.push(figures);
    }
    return found;
  }

  #meet(path: string): Known {
    const before = this.#known.get(path);
    if (before !== undefined) return before;
    const known: Known = {
      signature: null,
      figures: { path, at: 0, mark: '', measured: null, fault: null, collected_by: null, collected: null },
      isQueued: false,
      restsUntil: Number.NEGATIVE_INFINITY,
      plan: new CollectionPlan(this.#options.expireMs),
      isCollecting: false,
      bitmapAt: Number.NEGATIVE_INFINITY,
      isOverdue: false,
    };
    this.#known.set(path, known);
    this.#unfound.add(path);
    return known;
  }

  #forget(path: string): void {
    this.#known.delete(path);
    this.#unfound.delete(path);
    this.#unsent.delete(path);
  }

  /** Forgets a path at which no walk has found a repository, if there is none. */
  async #isForgotten(path: string): Promise<boolean> {
    if (!this.#unfound.has(path) || (await isThere(`${path}/objects`))) return false;
    this.#forget(path);
    return true;
  }

  async #goRound(): Promise<void> {
    const pace = new Pace(restForRound, this.#signal);
    await this.#options.repositories.start();
    while (!this.#signal.aborted) {
      await this.#findLent(pace);
      for (const [path, known] of [...this.#known]) {
        if (this.#signal.aborted) return;
        const signature = await refsSignature(path);
        if (signature === null) continue;
        if (mayDiffer(known.signature, signature)) this.#measureSoon(path, known);
        else if (known.plan.isDue) this.#collectSoon(path, known);
        await pace.step();
      }
      await pace.pause(roundMs);
    }
  }

  #measureSoon(path: string, known: Known, first = false): void {
    if (known.isQueued) return;
    known.isQueued = true;
    // Waits until it may be measured again, since anybody can report pushes again and again.
    const restMs = Math.max(0, known.restsUntil - performance.now());
    void delay(restMs, undefined, { signal: this.#signal })
      .catch(() => {})
      .then(() => this.#queues.run(path, () => this.#measure(path, known), first))
      .catch(() => {});
  }

  /** Starts the collections that are due and wait for no round. */
  #collectDue(): void {
    for (const path of this.#first) {
      const known = this.#known.get(path);
      if (known?.plan.isFirst !== true) this.#first.delete(path);
      else if (known.plan.isDue) this.#collectSoon(path, known);
    }
  }

  #collectSoon(path: string, known: Known): void {
    if (known.isCollecting) return;
    known.isCollecting = true;
    known.plan.dueAt = null;
    void this.#queues
      .run(path, () => this.#collectMeasured(path, known), known.plan.isFirst)
      // The error is in the figures and the log.
      .catch(() => known.plan.failed())
      .finally(() => {
        known.isCollecting = false;
      });
  }

  /** Collects if no ref has changed since the measurement; else measures first, so that new garbage waits. */
  async #collectMeasured(path: string, known: Known): Promise<void> {
    const signature = await refsSignature(path);
    if (signature === null || mayDiffer(known.signature, signature)) this.#measureSoon(path, known);
    else await this.#collect(path, known);
  }

  async #measure(path: string, known: Known): Promise<void> {
    known.isQueued = false;
    if (await this.#isForgotten(path)) return;
    const { mark } = this;
    const signature = await refsSignature(path);
    if (signature !== null && (await this.#isAsBefore(path, known, signature))) {
      this.#publish(known, { mark });
      return;
    }
    // Changes from here on are measured again.
    known.signature = signature;
    const begun = performance.now();
    try {
      const found = await withView(
        path,
        { program: this.#options.gitFor(path), objects: this.#options.repositories.objectsPathOf(path) },
        { timeoutMs: measureMs, signal: this.#signal, isAlone: this.#options.isAlone },
        async view => {
          const measured = await measure(view);
          const tookMs = performance.now() - begun;
          if (tookMs > slowMs && begun - known.bitmapAt > dayMs && !isOfGitaly(path)) {
            known.bitmapAt = begun;
            await writeBitmap(view);
          }
          return measured;
        },
      );
      const isOther = found.unreachableBytes !== (known.figures.measured?.unreachable_bytes ?? 0);
      if (isOther && found.unreachableBytes > 0) known.plan.grew(begun);
      if (this.#mayCollect(path)) known.plan.take(found);
      await this.#tell(path, known, found, { mark });
    } catch (error) {
      if (this.#signal.aborted) return;
      // It is tried again on the next round.
      known.signature = null;
      this.#tellFault(path, known, error);
    } finally {
      const now = performance.now();
      known.restsUntil = now + restPerWork * (now - begun);
      known.isOverdue = now - begun >= measureMs;
    }
  }

  /** Tells whether softquota collects there; GitLab does it itself. */
  #mayCollect(path: string): boolean {
    return this.#options.run === 'gc' && !isOfGitaly(path);
  }

  async #collect(path: string, known: Known, isAsked = false): Promise<CollectedNow> {
    const { mark } = this;
    known.plan.isFirst = false;
    const { gitFor, expireMs, log, repositories } = this.#options;
    try {
      await this.#options.repositories.start();
      if (isAsked || !this.#loans.isFresh) await this.#findLent(new Pace(1, this.#signal));
      if (await this.#loans.isLender(path))
        throw new UnusableRepository('nothing is deleted: another repository uses its objects');
      const { unclear } = this.#loans;
      if (unclear !== null)
        throw new UnusableRepository(
          `nothing is deleted: it cannot be told whose objects ${printable(unclear)} uses (objects/info/alternates)`,
        );
      const { before, after } = await withView(
        path,
        { program: gitFor(path), objects: repositories.objectsPathOf(path) },
        { timeoutMs: collectMs, signal: this.#signal, isAlone: this.#options.isAlone },
        view => collect(view, { expireMs, now: Date.now }),
      );
      const freedBytes = before.stored.bytes - after.stored.bytes;
      known.plan.vain = freedBytes > 0 ? 0 : known.plan.vain + 1;
      log.info({ path, freed: formatBytes(Math.max(0, freedBytes)) }, 'garbage is collected');
      const collected = { at: Date.now(), freed_bytes: freedBytes, fault: null };
      if (this.#mayCollect(path)) known.plan.take(after);
      await this.#tell(path, known, after, { mark, collected });
      return { freed_bytes: freedBytes, unreachable_bytes: after.unreachableBytes };
    } catch (error) {
      if (!this.#signal.aborted) {
        known.plan.vain += 1;
        const collected = { at: Date.now(), freed_bytes: 0, fault: faultOf(error) };
        this.#tellFault(path, known, error, { collected });
        // A repository that cannot be collected is measured, so that its garbage is still forgiven.
        known.signature = null;
        this.#measureSoon(path, known);
      }
      throw error;
    }
  }

  async #isAsBefore(path: string, known: Known, signature: RefsSignature): Promise<boolean> {
    const { measured } = known.figures;
    if (measured === null || known.signature === null || !known.signature.isSure) return false;
    if (known.signature.text !== signature.text) return false;
    // Another program may have collected garbage.
    const stored = await storedObjects(this.#options.repositories.objectsPathOf(path), this.#signal);
    return stored.bytes === measured.object_bytes;
  }

  async #findLent(pace: Pace): Promise<void> {
    for (const path of this.#unfound) await this.#isForgotten(path);
    const wasAny = this.#loans.isAny;
    await this.#loans.look(this.#known.keys(), pace);
    if (!wasAny && !this.#loans.isAny) return;
    for (const [path, known] of [...this.#known]) {
      if (known.figures.measured === null) continue;
      const lent = await this.#loans.isLender(path);
      const { measured } = known.figures;
      if (measured !== null && measured.lent !== lent)
        this.#publish(known, { measured: { ...measured, lent } });
    }
  }

  async #tell(
    path: string,
    known: Known,
    { stored, reachableBytes, unreachableBytes }: Reachability,
    more: Partial<RepositoryFigures>,
  ): Promise<void> {
    const measured = {
      object_bytes: stored.bytes,
      reachable_bytes: reachableBytes,
      unreachable_bytes: unreachableBytes,
      lent: await this.#loans.isLender(path),
    };
    this.#publish(known, { ...more, measured, fault: null });
  }

  #tellFault(path: string, known: Known, error: unknown, more: Partial<RepositoryFigures> = {}): void {
    const fault = faultOf(error);
    if (fault !== known.figures.fault)
      this.#options.log.warn({ path, why: fault }, 'garbage is not measured or collected');
    this.#publish(known, { ...more, measured: null, fault });
  }

  #publish(known: Known, found: Partial<RepositoryFigures>): void {
    // It may have gone while it was measured.
    if (this.#known.get(known.figures.path) !== known) return;
    const { path, mark } = known.figures;
    const kept = { ...known.figures, mark: this.#unsent.has(path) ? mark : '' };
    known.figures = { ...kept, ...found, collected_by: known.plan.doneBy, at: Date.now() };
    this.#unsent.add(path);
    this.#options.changed();
  }
}

function faultOf(error: unknown): string {
  return messageOf(error).slice(0, longestFault);
}
