/**
 * The job that knows what of each repository is reachable, and collects garbage where that is wanted.
 *
 * It measures a repository after its refs have changed: at once where the daemon tells of a push, and else on
 * the next round. Where it finds nothing changed it says again what it found before, for the daemon forgives
 * nothing that may have changed. What became unreachable is collected once it is older than the expiry. A
 * repository whose collection fails, or frees nothing, is tried less and less often.
 */

import { unlink } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, SoftquotaError } from '../../errors.ts';
import { encodePath } from '../../layout/index.ts';
import type { Log } from '../../log.ts';
import { formatBytes } from '../../text/index.ts';
import type { RepositoryFigures } from '../../wire/index.ts';
import { identity, lentObjects } from './borrowers.ts';
import { DiskQueues } from './disk-queues.ts';
import { Pace } from './pace.ts';
import { mayDiffer, type RefsSignature, refsSignature } from './refs-signature.ts';
import type { RepositoryWalk } from './repository-walk.ts';
import { collect } from './space/collect.ts';
import type { GitProgram } from './space/git-programs.ts';
import { measure, type Reachability } from './space/measure.ts';
import { writeBitmap } from './space/repack.ts';
import { UnusableRepository } from './space/repository-config.ts';
import { storedObjects } from './space/stored.ts';
import { withView } from './space/view.ts';

export interface ReclaimOptions {
  readonly repositories: RepositoryWalk;
  readonly program: GitProgram;
  /** `[reclaim] RUN`, where that is not `never`. */
  readonly run: 'measure' | 'gc';
  /** `[reclaim] EXPIRE`. */
  readonly expireMs: number;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Called with each figure that is new. */
  readonly found: (figures: RepositoryFigures) => void;
  /** Called with each repository that went. */
  readonly gone: (path: string) => void;
  /** Milliseconds between two rounds; ten minutes unless given. */
  readonly roundEveryMs?: number;
}

interface CollectedNow {
  readonly freedBytes: number;
  /** The bytes that became unreachable recently, and stay. */
  readonly unreachableBytes: number;
}

interface Known {
  signature: RefsSignature | null;
  /** The last measurement; null where it failed, or there was none. */
  measured: RepositoryFigures['measured'];
  /** A measurement waits or runs. */
  isQueued: boolean;
  /** On the monotonic clock: until then it is not measured again. */
  restsUntil: number;
  /** The time of the next collection, on the monotonic clock; null: there is no garbage. */
  dueAt: number | null;
  /** Collections in a row that failed or freed nothing. */
  vain: number;
  bitmapAt: number;
  collected: RepositoryFigures['collected'];
  /** The fault that was logged last. */
  fault: string | null;
}

const roundMs = 600_000;
const restForRound = 19;
const measureMs = 600_000;
const collectMs = 6 * 3_600_000;
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

export class Reclaim {
  readonly #options: ReclaimOptions;
  readonly #known = new Map<string, Known>();
  readonly #queues = new DiskQueues();
  readonly #stop = new AbortController();
  /** The object directories that other repositories borrow from. */
  #lent: ReadonlySet<string> = new Set();
  /** The last mark of the daemon. */
  mark = '';
  #rounds: Promise<void> = Promise.resolve();

  constructor(options: ReclaimOptions) {
    this.#options = options;
    options.repositories.add({
      found: path => this.#meet(path),
      gone: path => {
        this.#known.delete(path);
        options.gone(path);
      },
    });
  }

  start(): void {
    this.#rounds = this.#goRound();
  }

  /** Ends what runs, without harm to any repository. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#rounds, this.#queues.close()]);
  }

  /** Somebody pushed: the repository is measured soon. */
  pushed(path: string): void {
    this.#measureSoon(path, this.#meet(path), true);
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

  get #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  #meet(path: string): Known {
    const before = this.#known.get(path);
    if (before !== undefined) return before;
    const known: Known = {
      signature: null,
      measured: null,
      isQueued: false,
      restsUntil: Number.NEGATIVE_INFINITY,
      dueAt: null,
      vain: 0,
      bitmapAt: Number.NEGATIVE_INFINITY,
      collected: null,
      fault: null,
    };
    this.#known.set(path, known);
    // Hooks of earlier versions showed it.
    void unlink(encodePath(`${path}/softquota-space`)).catch(() => {});
    return known;
  }

  async #goRound(): Promise<void> {
    const pace = new Pace(restForRound, this.#stop.signal);
    await this.#options.repositories.start();
    while (!this.#isStopped) {
      await this.#findLent(pace);
      for (const [path, known] of [...this.#known]) {
        if (this.#isStopped) return;
        const signature = await refsSignature(path);
        if (signature === null) continue;
        if (mayDiffer(known.signature, signature)) this.#measureSoon(path, known);
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
    const { mark } = this;
    const signature = await refsSignature(path);
    if (signature !== null && (await this.#isAsBefore(path, known, signature))) {
      this.#options.found({ ...this.#figuresOf(path, known), mark });
      return;
    }
    // Changes from here on are measured again.
    known.signature = signature;
    const begun = performance.now();
    try {
      const found = await withView(
        path,
        { program: this.#options.program },
        { timeoutMs: measureMs, signal: this.#stop.signal },
        async (view, limits) => {
          const measured = await measure(view, limits);
          const tookMs = performance.now() - begun;
          if (tookMs > slowMs && begun - known.bitmapAt > dayMs) {
            known.bitmapAt = begun;
            await writeBitmap(view, limits);
          }
          return measured;
        },
      );
      await this.#tell(path, known, found, mark);
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

  /**
   * At the earliest when all garbage of now is older than the expiry; GitLab's housekeeping does it itself.
   */
  #planCollection(path: string, known: Known, { stored, unreachableBytes }: Reachability): void {
    if (this.#options.run !== 'gc' || path.includes('/@hashed/')) return;
    const isWorth =
      unreachableBytes >= Math.max(leastGarbage, stored.bytes * leastShare) ||
      stored.loose > mostLoose ||
      stored.packs > mostPacks;
    if (!isWorth) known.dueAt = null;
    else known.dueAt ??= performance.now() + this.#pauseOf(known);
  }

  async #collect(path: string, known: Known): Promise<CollectedNow> {
    const { mark } = this;
    const { program, expireMs, log } = this.#options;
    try {
      await this.#options.repositories.start();
      await this.#findLent(new Pace(1, this.#stop.signal));
      if (await this.#isLent(path))
        throw new UnusableRepository('nothing is deleted: another repository uses its objects');
      const { before, after } = await withView(
        path,
        { program },
        { timeoutMs: collectMs, signal: this.#stop.signal },
        (view, limits) => collect(view, { expireMs, limits, now: Date.now }),
      );
      const freedBytes = before.stored.bytes - after.stored.bytes;
      known.vain = freedBytes > 0 ? 0 : known.vain + 1;
      known.collected = { at: Date.now(), freed_bytes: freedBytes, fault: null };
      log.info({ path, freed: formatBytes(Math.max(0, freedBytes)) }, 'garbage is collected');
      await this.#tell(path, known, after, mark);
      this.#planCollection(path, known, after);
      return { freedBytes, unreachableBytes: after.unreachableBytes };
    } catch (error) {
      if (!this.#isStopped) {
        known.vain += 1;
        known.collected = { at: Date.now(), freed_bytes: 0, fault: messageOf(error) };
        this.#tellFault(path, known, error);
      }
      throw error;
    }
  }

  async #isAsBefore(path: string, known: Known, signature: RefsSignature): Promise<boolean> {
    if (known.measured === null || known.signature === null || !known.signature.isSure) return false;
    if (known.signature.text !== signature.text) return false;
    // Another program may have collected garbage.
    const stored = await storedObjects(path, this.#stop.signal);
    return stored.bytes === known.measured.object_bytes;
  }

  async #findLent(pace: Pace): Promise<void> {
    const before = this.#lent;
    this.#lent = await lentObjects(this.#known.keys(), pace);
    if (before.size === 0 && this.#lent.size === 0) return;
    for (const [path, known] of [...this.#known]) {
      const { measured } = known;
      if (measured === null) continue;
      const lent = await this.#isLent(path);
      if (lent === measured.lent) continue;
      known.measured = { ...measured, lent };
      this.#options.found(this.#figuresOf(path, known));
    }
  }

  async #isLent(path: string): Promise<boolean> {
    if (this.#lent.size === 0) return false;
    const objects = await identity(`${path}/objects`);
    return objects !== null && this.#lent.has(objects);
  }

  async #tell(path: string, known: Known, found: Reachability, mark: string): Promise<void> {
    known.fault = null;
    const { stored, reachableBytes, unreachableBytes } = found;
    known.measured = {
      object_bytes: stored.bytes,
      reachable_bytes: reachableBytes,
      unreachable_bytes: unreachableBytes,
      lent: await this.#isLent(path),
    };
    this.#options.found({ ...this.#figuresOf(path, known), mark });
  }

  #figuresOf(path: string, { measured, fault, collected }: Known): RepositoryFigures {
    return { path, at: Date.now(), mark: '', measured, fault, collected };
  }

  #tellFault(path: string, known: Known, error: unknown): void {
    const fault = messageOf(error);
    if (fault !== known.fault)
      this.#options.log.warn({ path, why: fault }, 'garbage is not measured or collected');
    known.fault = fault;
    known.measured = null;
    this.#options.found(this.#figuresOf(path, known));
  }
}
