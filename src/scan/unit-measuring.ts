/**
 * Walks single units on request, and reports the results of all walks: how many bytes of a unit count, and
 * whether it is gone or only out of reach.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { isWithin, type Layout, type Unit, walkedRoots } from '../layout/index.ts';
import { sparingLog } from '../log.ts';
import { type CountedUnit, UnitCounts } from './counting.ts';
import type { ScannerParts } from './disk-threads.ts';
import { Pool, pathOfTask, type WalkJob } from './pool.ts';
import { classifyKnownUnit, knownByRoot, type SweptRoot, sweptRoots } from './roots.ts';
import {
  type Measurement,
  nothingListed,
  type ScannerOptions,
  type Start,
  type SweepTask,
  type TaskResult,
  type WalkedUnit,
} from './task.ts';

/** Why a unit is walked: by a sweep, after a reported change, or again since git was at work in it. */
type WalkReason = 'sweep' | 'change' | 'again';

export type TargetOutcome =
  | 'counted'
  /** No unit is there any more; it was reported as gone. */
  | 'gone'
  /** No unit is there, and none was known. */
  | 'none'
  /** It could not be read, or its storage is away: it keeps its figures. */
  | 'unread'
  | 'stopped';

/** Reports a result; resolves once it counts. */
type Settle = (path: string, result: TaskResult, start: Start, origin: WalkReason) => Promise<TargetOutcome>;

interface Target {
  readonly path: string;
  origin: WalkReason;
  readonly outcome: PromiseWithResolvers<TargetOutcome>;
  hasBegun: boolean;
  walks: number;
  next: Target | null;
}

/** Limit of walks for one request, for a unit that vanishes and is created again and again. */
const mostWalks = 3;

/** Rest that a unit owes after a walk, as a multiple of the walk's time. */
const restPerWalk = 4;
/** A unit that owes at most this much rest is walked at once. */
const putOffMs = 4000;

/**
 * Merges requests for walks of a unit. Those before the walk begins share it; those during the walk share one
 * afterwards. So the walk that answers a request has always begun after it.
 *
 * After each walk a unit owes rest: anybody who may push may cause requests, and must not keep the walkers
 * busy with a large unit. A little rest may be put off, so that the end of a push does not wait for the rest
 * after an earlier walk.
 */
export class Targets {
  readonly #pool: Pick<Pool, 'add'>;
  readonly #settle: Settle;
  readonly #targets = new Map<string, Target>();
  /** Times until which units owe rest, on the monotonic clock. */
  readonly #rests = new Map<string, number>();

  constructor(pool: Pick<Pool, 'add'>, settle: Settle) {
    this.#pool = pool;
    this.#settle = settle;
  }

  /** Never rejects. */
  measure(path: string, origin: WalkReason): Promise<TargetOutcome> {
    const current = this.#targets.get(path);
    if (current === undefined) return this.#begin(newTarget(path, origin));
    if (current.hasBegun) current.next ??= newTarget(path, origin);
    const target = current.next ?? current;
    // In a unit that was reported as changed, inner units may have changed, too.
    if (origin === 'change') target.origin = origin;
    return target.outcome.promise;
  }

  #begin(target: Target): Promise<TargetOutcome> {
    const { path } = target;
    this.#targets.set(path, target);
    const restMs = (this.#rests.get(path) ?? 0) - putOffMs - performance.now();
    if (restMs > 0) setTimeout(() => this.#add(target), restMs).unref();
    else this.#add(target);
    return target.outcome.promise;
  }

  #rest(path: string, begunMs: number): void {
    const now = performance.now();
    const restsUntil = Math.max(now, this.#rests.get(path) ?? 0) + restPerWalk * (now - begunMs);
    this.#rests.set(path, restsUntil);
    const forget = () => {
      // Compares no times: a timer may be early by a part of a millisecond.
      if (this.#rests.get(path) === restsUntil) this.#rests.delete(path);
    };
    setTimeout(forget, restsUntil - now).unref();
  }

  #add(target: Target): void {
    const { path } = target;
    this.#pool.add({
      task: { path },
      urgency: 'soon',
      begin: () => {
        target.hasBegun = true;
      },
      done: (result, start) => {
        target.walks += 1;
        if (result.outcome === 'vanished' && target.walks < mostWalks) {
          this.#add(target);
          return;
        }
        this.#rest(path, start.monotonicMs);
        this.#targets.delete(path);
        if (target.next !== null) this.#begin(target.next);
        this.#settle(path, result, start, target.origin).then(target.outcome.resolve, () =>
          target.outcome.resolve('unread'),
        );
      },
    });
  }
}

function newTarget(path: string, origin: WalkReason): Target {
  return { path, origin, outcome: Promise.withResolvers(), hasBegun: false, walks: 0, next: null };
}

/** Called with the outcome of a unit that a sweep found. `counted`: its new figure; null: it has none. */
export type Settled = (
  path: string,
  result: TaskResult,
  outcome: TargetOutcome,
  counted: CountedUnit | null,
) => void;

const nothing: ReadonlySet<string> = new Set();

/** Outcome of a walk that read nothing, without the unit and the time. */
const nothingRead = {
  outcome: 'measured',
  bytes: 0,
  files: 0,
  directories: 0,
  partial: true,
  unread: nothingListed,
  leftovers: nothingListed,
  objects: null,
} as const;

export class UnitMeasuring {
  readonly pool: Pool;
  readonly #scanner: ScannerOptions;
  readonly #counts: UnitCounts;
  readonly #targets: Targets;
  readonly #checkRoots: ReturnType<typeof rootCheck>;
  readonly #onDoubt: () => void;
  #rootsAway: ReadonlySet<string> = new Set();

  /** `onDoubt`: called if a root is not as it should be and no sweep has reported that yet. */
  constructor(shared: ScannerParts, onDoubt: () => void) {
    const log = sparingLog(shared.options.log);
    const parts: ScannerParts = { ...shared, options: { ...shared.options, log } };
    const { pushes } = parts.options.figures;
    this.#scanner = parts.options;
    this.#onDoubt = onDoubt;
    this.#checkRoots = rootCheck(parts);
    this.pool = new Pool(parts, path => this.#isUnsettled(path));
    this.#targets = new Targets(this.pool, (path, result, start, origin) =>
      this.#settle(path, result, start, origin),
    );
    this.#counts = new UnitCounts(pushes, path => void this.measure(path, 'again'));
  }

  /** Walks the unit at this path; after a change, also the units inside it. Never rejects. */
  measure(path: string, origin: WalkReason): Promise<TargetOutcome> {
    return this.#targets.measure(path, origin);
  }

  /**
   * Walks the units that a sweep finds: returns a function for one unit. `settled` is called without a
   * promise where the figure is known at once, since a sweep has many units.
   */
  sweep(settled: Settled): (task: SweepTask) => void {
    const done: WalkJob['done'] = (result, start, task) => {
      const path = pathOfTask(task);
      const settledAs = (outcome: TargetOutcome) => settled(path, result, outcome, null);
      if ('bytes' in result) settled(path, result, 'counted', this.#count(result, start));
      else if (result.outcome === 'vanished') void this.measure(path, 'sweep').then(settledAs);
      else
        void this.#settle(path, result, start, 'sweep').then(outcome => {
          if (outcome === 'unread' && 'unit' in task) this.reportUnmeasured(task.unit, start.seq, start.at);
          settledAs(outcome);
        });
    };
    return task => this.pool.add({ task, urgency: 'sweep', done });
  }

  /** Takes over the state of the roots from a sweep. */
  swept(roots: readonly SweptRoot[]): void {
    this.#rootsAway = new Set(roots.filter(({ away }) => away !== null).map(({ path }) => path));
  }

  /** Forgets a unit that a sweep found gone. */
  forget(path: string): void {
    this.#counts.drop(path);
  }

  close(): void {
    this.#counts.close();
    this.pool.close();
  }

  /** Tells whether pushes or a repack may be at work in a unit, so that no signature may replace its walk. */
  #isUnsettled(path: string): boolean {
    return this.#counts.isUnsettled(path) || this.#scanner.figures.pushes.listed(path).length > 0;
  }

  async #settle(path: string, result: TaskResult, start: Start, origin: WalkReason): Promise<TargetOutcome> {
    const { log } = this.#scanner;
    switch (result.outcome) {
      case 'measured':
      case 'too large':
        this.#count(result, start);
        if (origin === 'change') {
          await Promise.all(result.inner.map(inner => this.measure(inner, 'change')));
        }
        return 'counted';
      case 'none':
        return this.#missing(path, result.layout, start);
      case 'vanished':
      case 'hung':
        // A disk that hangs is logged once, not for each unit on it.
        return 'unread';
      case 'unread':
        // A sweep itself lists what it could not read.
        if (origin !== 'sweep')
          log.warn({ path, place: result.path, error: result.error }, 'a unit could not be read');
        return 'unread';
      case 'failed':
        log.error({ path, reason: result.why }, 'a unit could not be walked');
        return 'unread';
      case 'stopped':
        return 'stopped';
    }
  }

  /** Reports the bytes that count of a unit, and returns them; null: a later walk was reported already. */
  #count(walked: WalkedUnit, start: Start): CountedUnit | null {
    const { figures, log } = this.#scanner;
    const { path } = walked.unit;
    const knownBytes = figures.knownBytes(path);
    const tooLarge = walked.outcome === 'too large';
    if (tooLarge) {
      log.error(
        { path },
        'the files of a unit together pass 2^53 - 1 bytes; it keeps the bytes it was known with',
      );
    }
    const counted = tooLarge
      ? { bytes: knownBytes ?? 0, expectedBytes: knownBytes }
      : this.#counts.take(walked, start, knownBytes);
    if (counted === null) return null;
    const partial = walked.partial || tooLarge;
    this.#report({ ...walked, bytes: counted.bytes, partial, seq: start.seq, measuredAt: start.at });
    return counted;
  }

  #report(measurement: Measurement): void {
    const { figures, log } = this.#scanner;
    try {
      figures.report(measurement);
    } catch (error) {
      const path = measurement.gone ?? measurement.unit.path;
      log.error({ path, err: error }, 'a measurement could not be recorded');
    }
  }

  /**
   * Reports a new unit that cannot be read as partial, with 0 bytes, so that its owner is marked as partial.
   * A known unit keeps its figures.
   */
  reportUnmeasured(unit: Unit, seq: number, measuredAt: number): void {
    if (this.#scanner.figures.knownBytes(unit.path) === undefined)
      this.#report({ ...nothingRead, unit, inner: [], seq, measuredAt });
  }

  /** Handles a path without a unit: a known one is gone, unless its storage is away. */
  async #missing(path: string, { tracks }: Layout, { seq }: Start): Promise<TargetOutcome> {
    const { figures, log } = this.#scanner;
    if (figures.knownBytes(path) === undefined) {
      this.#counts.drop(path);
      return 'none';
    }
    // The missing storage is reported already; the next sweep finds out whether it is back.
    if (figures.missesKeys() || [...this.#rootsAway].some(root => isWithin(path, root))) return 'unread';
    const roots = await this.#checkRoots();
    if (roots === null || classifyKnownUnit(nothing, nothing, roots)(path) !== 'gone') {
      const reason = roots?.find(({ away }) => away !== null)?.away ?? 'the disk does not answer';
      log.warn(
        { path, reason },
        'a unit is not there, but neither is its storage as it was; it is kept as it was known',
      );
      this.#onDoubt();
      return 'unread';
    }
    this.#counts.drop(path);
    this.#report({ gone: path, seq });
    // Possible inner units are looked up one by one: a search of all known units, for each of the many units
    // of an owner, would take long.
    const inner = tracks
      .flatMap(({ continuations }) => continuations.map(({ names }) => [path, ...names].join('/')))
      .filter(place => figures.knownBytes(place) !== undefined);
    await Promise.all([...new Set(inner)].map(place => this.measure(place, 'change')));
    return 'gone';
  }
}

/** Time from the beginning of one check to that of the next: units that go one after the other share one. */
const everyMs = 500;

const deadlineMs = 5000;
const mostLookedFor = 100;

/**
 * Returns a function that checks the storage roots when a single known unit is missing. It tells a deleted
 * repository from a disk that was taken away or replaced, by the same rule as a sweep, but with a sample of
 * the known units. Each check begins after the call, for the disk may go at any moment. Resolves to null if
 * the disk does not answer in time. Never rejects.
 */
export function rootCheck(parts: ScannerParts): () => Promise<readonly SweptRoot[] | null> {
  let last: Promise<unknown> = Promise.resolve();
  let begunAt = Number.NEGATIVE_INFINITY;
  let next: Promise<readonly SweptRoot[] | null> | null = null;
  return () => {
    next ??= last.then(async () => {
      await delay(Math.max(0, begunAt + everyMs - performance.now()));
      begunAt = performance.now();
      next = null;
      return look(parts).catch(() => null);
    });
    last = next;
    return next;
  };
}

async function look({ context, options, threads }: ScannerParts): Promise<readonly SweptRoot[]> {
  const { storages, exclude, layout: before } = context();
  const links = [...before.links.keys()];
  const layout = await threads.ask('resolve', [storages, exclude, links], null, deadlineMs);
  const roots = walkedRoots(layout);
  const known = await knownByRoot(roots, options.figures);
  const samples = new Map([...known.byRoot].map(([path, units]) => [path, spread(units, mostLookedFor)]));
  const paths = [...new Set([...samples.values()].flat())];
  const absent = new Set(await threads.ask('absent', [paths], null, deadlineMs));
  const seen = new Set(paths.filter(path => !absent.has(path)));
  return sweptRoots(roots, roots, { seen, absent }, options.figures, { ...known, byRoot: samples }, false);
}

/** Picks up to `most` entries at equal distances. */
function spread(all: readonly string[], most: number): readonly string[] {
  if (all.length <= most) return all;
  return all.filter(
    (_, index) => Math.floor((index * most) / all.length) !== Math.floor(((index - 1) * most) / all.length),
  );
}
