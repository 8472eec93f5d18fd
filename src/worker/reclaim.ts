/**
 * The job that knows what of each repository is reachable, and collects garbage where that is wanted.
 *
 * It measures a repository after its refs have changed: at once where the daemon tells of a push, and else on
 * the next round. What became unreachable is collected once it is older than the expiry. A repository whose
 * collection fails, or frees nothing, is tried less and less often.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { SoftquotaError } from '../errors.ts';
import type { StorageSettings } from '../layout/index.ts';
import type { Log } from '../log.ts';
import { formatBytes } from '../text/index.ts';
import { borrowerOf } from './borrowers.ts';
import { DiskQueues } from './disk-queues.ts';
import { RepositoryFinder } from './finder.ts';
import { Pace } from './pace.ts';
import { refsSignature } from './refs-signature.ts';
import type { Collection, RepositoryFigures } from './report.ts';
import { spaceJson } from './space/advice.ts';
import { writeBitmap } from './space/bitmap.ts';
import { collect } from './space/collect.ts';
import { explainSpace } from './space/explain.ts';
import type { GitVersion } from './space/git-version.ts';
import { measure, type Reachability } from './space/measure.ts';
import { UnusableRepository } from './space/unusable-repository.ts';
import { RepositoryView } from './space/view.ts';

export interface ReclaimOptions {
  readonly storages: readonly StorageSettings[];
  /** Names of directories that are left out. */
  readonly exclude: readonly string[];
  /** `[reclaim] RUN`, where that is not `never`. */
  readonly run: 'measure' | 'gc';
  /** `[reclaim] EXPIRE`. */
  readonly expireMs: number;
  readonly gitVersion: GitVersion;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Called with each figure that is new. */
  readonly found: (figures: RepositoryFigures) => void;
  /** Called with each repository that went. */
  readonly gone: (path: string) => void;
  /** Milliseconds between two rounds; ten minutes unless given. */
  readonly roundEveryMs?: number;
}

/** The result of a collection. */
export interface CollectedNow {
  readonly freedBytes: number;
  /** The bytes that became unreachable only lately, and stay. */
  readonly unreachableBytes: number;
}

interface Known {
  signature: string | null;
  /** A measurement waits or runs. */
  isQueued: boolean;
  /** On the monotonic clock: until then it is not measured again. */
  restsUntil: number;
  /** When garbage is collected, on the monotonic clock; null: there is none. */
  dueAt: number | null;
  /** Collections in a row that failed or freed nothing. */
  vain: number;
  bitmapAt: number;
  collected: Collection | null;
  /** The fault that was logged last. */
  fault: string | null;
}

const roundMs = 600_000;
const restForRound = 19;
const measureMs = 600_000;
const collectMs = 6 * 3_600_000;
const explainMs = 60_000;
const slowMs = 1000;
const restPerWork = 4;
const dayMs = 86_400_000;
/** Beyond the expiry, so that what was counted as garbage is surely over it. */
const slackMs = 60_000;
const leastGarbage = 256 * 1024;
const leastShare = 0.01;
/** git's own thresholds, gc.auto and gc.autoPackLimit. */
const mostLoose = 6700;
const mostPacks = 50;
const mostExplained = 2;

export class Reclaim {
  readonly #options: ReclaimOptions;
  readonly #known = new Map<string, Known>();
  readonly #queues = new DiskQueues();
  readonly #stop = new AbortController();
  readonly #finder: RepositoryFinder;
  readonly #explaining = new Set<Promise<unknown>>();
  #rounds: Promise<void> = Promise.resolve();

  constructor(options: ReclaimOptions) {
    this.#options = options;
    const { storages, exclude } = options;
    this.#finder = new RepositoryFinder({
      storages,
      exclude,
      found: paths => {
        for (const path of paths) this.#meet(path);
      },
      gone: path => {
        this.#known.delete(path);
        options.gone(path);
      },
      isStopped: () => this.#isStopped,
    });
  }

  start(): void {
    this.#rounds = this.#goRound();
  }

  /** Ends what runs, without harm to any repository. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#rounds, this.#queues.close(), ...this.#explaining]);
  }

  /** Somebody pushed: the repository is measured soon. */
  pushed(path: string): void {
    const known = this.#known.get(path);
    if (known !== undefined) this.#measureSoon(path, known, true);
  }

  /** Collects now, as far as the expiry allows; rejects with the reason where that cannot be. */
  async collectNow(path: string): Promise<CollectedNow> {
    const known = this.#meet(path);
    return new Promise((resolve, reject) => {
      const run = () => this.#collect(path, known).then(resolve, reject);
      const dropped = () => reject(new SoftquotaError('not_ready', 'the worker has stopped'));
      this.#queues.add({ path, run, dropped }, true).catch(reject);
    });
  }

  /** The report about a repository's space, in the form in which the API shows it. */
  async explain(path: string): Promise<object> {
    if (this.#explaining.size >= mostExplained)
      throw new SoftquotaError('not_ready', 'other repositories are being looked through; ask again later');
    const explained = this.#explain(path);
    const ended = explained.catch(() => {});
    this.#explaining.add(ended);
    return explained.finally(() => this.#explaining.delete(ended));
  }

  get #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  #meet(path: string): Known {
    const before = this.#known.get(path);
    if (before !== undefined) return before;
    const known: Known = {
      signature: null,
      isQueued: false,
      restsUntil: Number.NEGATIVE_INFINITY,
      dueAt: null,
      vain: 0,
      bitmapAt: Number.NEGATIVE_INFINITY,
      collected: null,
      fault: null,
    };
    this.#known.set(path, known);
    return known;
  }

  async #goRound(): Promise<void> {
    const pace = new Pace(restForRound, this.#stop.signal);
    while (!this.#isStopped) {
      await this.#finder.pass(pace);
      for (const [path, known] of [...this.#known]) {
        if (this.#isStopped) return;
        const signature = await refsSignature(path);
        if (signature === null) continue;
        if (known.signature !== signature) this.#measureSoon(path, known);
        else if (known.dueAt !== null && performance.now() >= known.dueAt) this.#collectSoon(path, known);
        await pace.step();
      }
      await pace.pause(this.#options.roundEveryMs ?? roundMs);
    }
  }

  #measureSoon(path: string, known: Known, first = false): void {
    if (known.isQueued) return;
    known.isQueued = true;
    void this.#rest(known).then(() =>
      this.#queues.add({ path, run: () => this.#measure(path, known) }, first),
    );
  }

  /** Anybody can say again and again that somebody pushed. */
  async #rest({ restsUntil }: Known): Promise<void> {
    const restMs = restsUntil - performance.now();
    if (restMs > 0) await delay(restMs, undefined, { signal: this.#stop.signal }).catch(() => {});
  }

  #collectSoon(path: string, known: Known): void {
    known.dueAt = null;
    // It is in the figures and the log.
    const run = async () => void (await this.#collect(path, known).catch(() => this.#planAgain(known)));
    void this.#queues.add({ path, run });
  }

  async #measure(path: string, known: Known): Promise<void> {
    known.isQueued = false;
    const signature = await refsSignature(path);
    if (signature !== null && signature === known.signature) return;
    // Changes from here on are measured again.
    known.signature = signature;
    const begun = performance.now();
    try {
      const found = await this.#withView(path, measureMs, async (view, limits) => {
        const measured = await measure(view, limits);
        const tookMs = performance.now() - begun;
        if (tookMs > slowMs && begun - known.bitmapAt > dayMs) {
          known.bitmapAt = begun;
          await writeBitmap(view, this.#options.gitVersion, limits);
        }
        return measured;
      });
      this.#tell(path, known, found);
      this.#planCollection(path, known, found);
    } catch (error) {
      if (this.#isStopped) return;
      // It is tried again on the next round.
      known.signature = null;
      this.#tellFault(path, known, error);
    } finally {
      const now = performance.now();
      known.restsUntil = now + restPerWork * (now - begun);
    }
  }

  #planAgain(known: Known): void {
    known.dueAt = performance.now() + this.#pauseOf(known);
  }

  /** Twice as long after each collection in vain. */
  #pauseOf({ vain }: Known): number {
    return Math.min((this.#options.expireMs + slackMs) * 2 ** Math.min(vain, 20), dayMs);
  }

  /** Something is collected at the earliest when all that is garbage now is older than the expiry. */
  #planCollection(path: string, known: Known, { stored, unreachableBytes }: Reachability): void {
    if (this.#options.run !== 'gc' || isOfGitLab(path)) return;
    const isWorth =
      unreachableBytes >= Math.max(leastGarbage, stored.bytes * leastShare) ||
      stored.loose > mostLoose ||
      stored.packs > mostPacks;
    if (!isWorth) known.dueAt = null;
    else known.dueAt ??= performance.now() + this.#pauseOf(known);
  }

  async #collect(path: string, known: Known): Promise<CollectedNow> {
    const { gitVersion, expireMs, log } = this.#options;
    try {
      const borrower = await borrowerOf(path, this.#known.keys(), new Pace(1, this.#stop.signal));
      if (borrower !== null)
        throw new UnusableRepository('nothing is deleted: another repository uses its objects');
      const { before, after } = await this.#withView(path, collectMs, (view, limits) =>
        collect(view, { expireMs, gitVersion, limits, now: Date.now }),
      );
      const freedBytes = before.stored.bytes - after.stored.bytes;
      known.vain = freedBytes > 0 ? 0 : known.vain + 1;
      known.collected = { at: Date.now(), freedBytes, fault: null };
      log.info({ path, freed: formatBytes(Math.max(0, freedBytes)) }, 'garbage is collected');
      this.#tell(path, known, after);
      this.#planCollection(path, known, after);
      return { freedBytes, unreachableBytes: after.unreachableBytes };
    } catch (error) {
      if (!this.#isStopped) {
        known.vain += 1;
        known.collected = { at: Date.now(), freedBytes: 0, fault: wordsOf(error) };
        this.#tellFault(path, known, error);
      }
      throw error;
    }
  }

  #explain(path: string): Promise<object> {
    return this.#withView(path, explainMs, async (view, limits) =>
      spaceJson(await explainSpace(view, { ...limits, isUrgent: true })),
    );
  }

  async #withView<Result>(
    path: string,
    timeoutMs: number,
    work: (view: RepositoryView, limits: { timeoutMs: number; signal: AbortSignal }) => Promise<Result>,
  ): Promise<Result> {
    const view = await RepositoryView.open(path);
    const overdue = AbortSignal.timeout(timeoutMs);
    try {
      return await work(view, { timeoutMs, signal: AbortSignal.any([this.#stop.signal, overdue]) });
    } catch (error) {
      if (overdue.aborted) throw new UnusableRepository(`no end within ${timeoutMs / 1000} s`);
      throw error;
    } finally {
      await view.close();
    }
  }

  #tell(path: string, known: Known, found: Reachability): void {
    const { collected } = known;
    known.fault = null;
    const { stored, reachableBytes, unreachableBytes } = found;
    const measured = { objectBytes: stored.bytes, reachableBytes, unreachableBytes };
    this.#options.found({ path, at: Date.now(), measured, fault: null, collected });
  }

  #tellFault(path: string, known: Known, error: unknown): void {
    const fault = wordsOf(error);
    if (fault !== known.fault)
      this.#options.log.warn({ path, why: fault }, 'garbage is not measured or collected');
    known.fault = fault;
    this.#options.found({ path, at: Date.now(), measured: null, fault, collected: known.collected });
  }
}

/** GitLab's housekeeping collects these, unless somebody asks for it here. */
function isOfGitLab(path: string): boolean {
  return path.includes('/@hashed/');
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
