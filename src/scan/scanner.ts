/**
 * The scanner: sweeps all units, walks single ones and looks up paths, on threads.
 *
 * It reports what it measures, and keeps no figures itself.
 */

import { isDeepStrictEqual } from 'node:util';
import { SoftquotaError } from '../errors.ts';
import {
  holdsRepositories,
  type Layout,
  type Links,
  type Located,
  leavesOf,
  Mounts,
  objectsPathOf,
  type StorageKind,
  walkedRoots,
} from '../layout/index.ts';
import type { Leaf } from '../quota/index.ts';
import { printable } from '../text.ts';
import { within } from '../turns.ts';
import { DiskThreads, packThreads, type ScannerParts } from './disk-threads.ts';
import { isCovered, Run, type ScanRun, type SweepKind, type SweepRequest } from './run.ts';
import { sweep } from './sweep.ts';
import type { ScanContext, ScannerOptions, ScanSettings } from './task.ts';
import type { Answered, Asked, Given } from './thread.ts';
import { type TargetOutcome, UnitMeasuring } from './unit-measuring.ts';
import { Watch } from './watch.ts';

export type Scanner = ReturnType<typeof createScanner>;

/** The directory at the start of a storage template, with symbolic links resolved. */
export interface TemplatePlace {
  readonly kind: StorageKind;
  readonly path: string;
  /** Tells whether this host measures what lies there. */
  readonly isWalked: boolean;
  /** Its name on all hosts that mount it, such as `nas:/export/git`; null if mounts are not known. */
  readonly source: string | null;
  /** Tells whether other hosts may mount it. */
  readonly isOfNetwork: boolean;
}

const mostRuns = 50;
const progressMs = 10_000;
const closeMs = 800;
/** Interval of the checks for missing roots, and the deadline of each check. */
const missingLookMs = 2000;
const usualHungAfterMs = 30_000;
const betweenRootsLooksMs = 1000;

export function createScanner(options: ScannerOptions) {
  const { log } = options;
  let settings: ScanSettings = options;
  let context: ScanContext | null = null;
  let cacheFile: string | null = null;
  let lastWhole: Run | null = null;
  let current: { readonly run: Run; readonly abort: AbortController } | null = null;
  let isClosed = false;
  let lastId = 0;
  /** The last check for changed roots; `at` is on the monotonic clock. */
  let rootsLook = { at: Number.NEGATIVE_INFINITY, over: Promise.resolve() };
  const waiting: Run[] = [];
  const runs: Run[] = [];
  const { hungAfterMs = usualHungAfterMs, workers, walkerCode } = options;
  const mounts = new Mounts();
  const threads = new DiskThreads({
    mounts,
    hungAfterMs,
    log,
    workers,
    code: { walker: walkerCode },
    // A disk answers again: watch and sweep what was left out.
    onAnswer: () => {
      if (isClosed) return;
      watch.lookAnew();
      request({ kind: 'sweep' });
    },
  });
  const packReaders = packThreads({ mounts, hungAfterMs, log });
  let disks: Promise<readonly WatchedDisk[]> | null = null;
  const parts: ScannerParts = {
    options,
    mounts,
    threads,
    context: () => {
      if (context === null)
        throw new SoftquotaError('internal', 'a walk was begun before the storage was resolved');
      return context;
    },
    cacheFile: () => cacheFile,
  };
  const measuring = new UnitMeasuring(parts, sweepUnlessCovered);
  const watch = new Watch(parts, {
    measure: path => measuring.measure(path, 'change'),
    sweep: sweepUnlessCovered,
  });
  let missingLook = setTimeout(() => void lookForMissing(), missingLookMs).unref();
  const closed = Promise.withResolvers<void>();
  const ready = Promise.race([prepare(), closed.promise]);

  function sweepUnlessCovered(kind: SweepKind = 'sweep'): void {
    if (!isClosed && !isCovered(kind, runs)) request({ kind });
  }

  function resolved({ storages, exclude, measure }: ScanSettings, layout: Layout): void {
    context = { storages, exclude, measure, layout };
    if (options.isWatched === true && !isClosed) watch.look(layout);
  }

  /** Prepares the cache and resolves the storage, before the first walk. Never rejects. */
  async function prepare(): Promise<void> {
    await mounts.refresh();
    try {
      const fault = await threads.askAround('prepare cache', [options.cacheFile]);
      if (fault !== null)
        log.warn({ file: options.cacheFile, reason: fault }, 'the scan cache was made again');
      cacheFile = options.cacheFile;
    } catch (error) {
      if (!isClosed) log.warn({ file: options.cacheFile, err: error }, 'the scan cache cannot be used');
    }
    try {
      const { storages, exclude } = options;
      const layout = await threads.askAround('resolve', [storages, exclude]);
      if (context === null) resolved(options, layout);
    } catch (error) {
      if (!isClosed) log.error({ err: error }, 'how the storage lies could not be found out');
    }
  }

  function request(asked: SweepRequest): ScanRun {
    const same = waiting.find(run => run.kind === asked.kind);
    if (same !== undefined) {
      same.widen(asked);
      return same;
    }
    lastId += 1;
    const run = new Run(lastId, asked);
    runs.unshift(run);
    runs.splice(mostRuns);
    waiting.push(run);
    next();
    return run;
  }

  function next(): void {
    if (isClosed) for (const run of waiting.splice(0)) run.end('stopped');
    if (current !== null) return;
    const run = waiting.shift();
    if (run === undefined) return;
    const abort = new AbortController();
    current = { run, abort };
    perform(run, abort.signal).then(() => {
      current = null;
      next();
    });
  }

  async function perform(run: Run, signal: AbortSignal): Promise<void> {
    run.begin(lastWhole);
    log.info({ run: run.id, kind: run.kind, owners: run.owners }, 'a sweep begins');
    const timer = setInterval(
      () => log.info({ run: run.id, ...run.progress() }, 'a sweep is under way'),
      progressMs,
    ).unref();
    try {
      await sweep({
        run,
        parts,
        settings,
        measuring,
        resolved,
        ready: ready.then(() => mounts.refresh()),
        signal,
      });
    } finally {
      clearInterval(timer);
    }
    if (run.state === 'done' && run.owners === null) lastWhole = run;
    const { unread, faults, leftovers } = run.problems;
    log.info(
      {
        run: run.id,
        state: run.state,
        ...run.progress(),
        unread: unread.count,
        faults: faults.count,
        leftovers: leftovers.count,
        drift: run.drift,
      },
      'a sweep has ended',
    );
  }

  async function locate(path: string, deadlineMs: number): Promise<Located> {
    const begun = performance.now();
    const isReady = await within(
      ready.then(() => true),
      deadlineMs,
      false,
    );
    if (!isReady || context === null) {
      throw new SoftquotaError(
        'not_ready',
        `${printable(path)} could not be looked up: the storage is not resolved yet`,
      );
    }
    const restMs = () => Math.max(1, deadlineMs - (performance.now() - begun));
    const { layout } = context;
    const located = await threads.ask('locate', [layout, path], path, restMs());
    if (located.found === 'unit') return located;
    // A file system may have been mounted, or a link changed, since the storage was resolved. This is checked
    // at most once a second.
    const now = performance.now();
    if (now - rootsLook.at >= betweenRootsLooksMs) rootsLook = { at: now, over: lookAtRoots(restMs()) };
    await within(rootsLook.over, restMs(), undefined);
    if (context.layout === layout) return located;
    return threads.ask('locate', [context.layout, path], path, restMs());
  }

  /** Resolves the roots again, and requests a sweep if they have changed. Never rejects. */
  async function lookAtRoots(deadlineMs: number): Promise<void> {
    const before = context;
    if (before === null) return;
    const { storages, exclude, layout } = before;
    const resolve = (ask: 'resolve' | 'resolve places') =>
      threads.ask(ask, [storages, exclude, [...layout.links.keys()]], null, deadlineMs).catch(() => null);
    const places = await resolve('resolve places');
    if (places === null || isDeepStrictEqual(placesOf(places), placesOf(layout))) return;
    const now = await resolve('resolve');
    // Meanwhile a sweep may have resolved them.
    if (now === null || isClosed || context !== before) return;
    resolved(before, now);
    request({ kind: 'sweep' });
  }

  /** Checks for missing roots again and again, so that they count soon after they appear. */
  async function lookForMissing(): Promise<void> {
    if (context !== null && walkedRoots(context.layout).some(({ state }) => state === 'missing'))
      await lookAtRoots(missingLookMs);
    if (!isClosed) missingLook = setTimeout(() => void lookForMissing(), missingLookMs).unref();
  }

  function followed(): Links {
    return context?.layout.links ?? new Map();
  }

  return {
    /** Requests a sweep. One runs at a time; a waiting one of the same kind takes on the request. */
    sweep: request,
    /** Requests a sweep unless one that does all of it is under way or waits. */
    sweepUnlessCovered,
    /**
     * Finds the unit that a path is or lies in. Rejects with `not_ready` if the disk does not answer in time.
     */
    locate,
    /** Asks a thread about a path. Rejects with `not_ready` if the disk does not answer in time. */
    ask: <Ask extends Asked>(
      ask: Ask,
      given: Given<Ask>,
      path: string,
      deadlineMs: number,
    ): Promise<Answered<Ask>> =>
      ask === 'large blobs'
        ? packReaders.ask(ask, given, null, deadlineMs)
        : threads.ask(ask, given, path, deadlineMs),
    /** The symbolic links that are followed; none before the storage is resolved. */
    links: followed,
    /** The directory of a repository's objects. */
    objectsOf: (path: string): string => objectsPathOf(followed(), path),
    /** Tells whether this host's clock sets the times of changes at a path. */
    hasOwnTimes: (path: string): boolean => mounts.isLocal(path),
    /**
     * The file systems that the storage lies on, with null figures for those that do not answer in time;
     * empty before the storage is resolved. Concurrent calls share one result. Never rejects.
     */
    disks: async (deadlineMs: number): Promise<readonly WatchedDisk[]> => {
      if (context === null) return [];
      disks ??= disksOf(context.layout, threads, deadlineMs).finally(() => {
        disks = null;
      });
      return disks;
    },
    /** The latest sweeps, waiting ones included, the newest first. */
    runs: (): readonly ScanRun[] => runs,
    /** Walks the unit at this exact path, and the units inside it, ahead of any sweep. Never rejects. */
    measureSoon: async (path: string): Promise<TargetOutcome> => {
      await ready;
      return isClosed || context === null ? 'stopped' : measuring.measure(path, 'change');
    },
    /** The directories that the templates begin with; empty before the storage is resolved. */
    places: (): readonly TemplatePlace[] => (context === null ? [] : placesIn(context.layout, mounts)),
    /**
     * Takes new settings: stops the running sweep, and returns the one that replaces it; null: no setting has
     * changed.
     */
    reconfigure: (changed: ScanSettings): ScanRun | null => {
      const { storages, exclude, measure } = settings;
      if (isDeepStrictEqual({ storages, exclude, measure }, changed)) return null;
      settings = changed;
      current?.abort.abort();
      return request({ kind: current?.run.owners === null ? current.run.kind : 'sweep' });
    },
    status: () => ({
      walking: measuring.pool.busy(),
      /** Tasks that wait for a walker. */
      waiting: { soon: measuring.pool.waiting('soon'), sweep: measuring.pool.waiting('sweep') },
      /** Lookups whose threads still wait for a disk. */
      hangingLookups: threads.hanging,
      /** Places on disks that do not answer, the longest first. */
      hangs: threads.hangs(),
    }),
    /**
     * Stops walking within a second and ends all threads. Returns the number of threads that hang in the
     * system: while there is one, only a signal can end the process.
     */
    close: async (): Promise<number> => {
      isClosed = true;
      clearTimeout(missingLook);
      current?.abort.abort();
      next();
      closed.resolve();
      watch.close();
      measuring.close();
      const left = await Promise.all([threads.close(closeMs), packReaders.close(closeMs)]);
      return left[0] + left[1];
    },
  };
}

function placesOf({ roots }: Layout) {
  return roots.map(({ path, state, device, inode }) => ({ path, state, device, inode }));
}

function placesIn({ roots, tracks }: Layout, mounts: Mounts): readonly TemplatePlace[] {
  return tracks.flatMap(({ kind, root: index, isWalked }) => {
    const root = roots[index];
    if (root === undefined) return [];
    const { source = null, isOfNetwork = false } = mounts.sourceOf(root.path) ?? {};
    return [{ kind, path: root.path, isWalked, source, isOfNetwork }];
  });
}

/** A file system with storage roots on it. A root without known figures is an entry of its own. */
export interface WatchedDisk {
  /** The first of its roots. */
  readonly path: string;
  readonly roots: readonly string[];
  /** The kinds of data below these roots. */
  readonly leaves: readonly Leaf[];
  /** The size; `freeBytes` leaves out the blocks reserved for root. Null: the file system did not answer. */
  readonly sizeBytes: number | null;
  readonly freeBytes: number | null;
  /** Number of files that it has room for; `freeFiles`: for how many more. 0: it has no fixed number. */
  readonly sizeFiles: number | null;
  readonly freeFiles: number | null;
}

const unknown = { sizeBytes: null, freeBytes: null, sizeFiles: null, freeFiles: null };

/**
 * Lists each file system once, and asks once for the space of all roots on one device. Takes at most
 * `deadlineMs` for each root that hangs. Never rejects: a file system that does not answer has null figures,
 * and is not asked again while a thread waits for it.
 */
export async function disksOf(
  { roots, tracks, links }: Layout,
  threads: Pick<DiskThreads, 'ask' | 'isWaitedFor'>,
  deadlineMs: number,
): Promise<readonly WatchedDisk[]> {
  const tracksOf = Map.groupBy(tracks, ({ root }) => roots[root]);
  const ofObjects = tracks.filter(({ kind }) => holdsRepositories(kind));
  const places = new Set([...roots, ...links.values()]);
  const groups = Map.groupBy(places, ({ state, device, path }) => (state === 'present' ? device : path));
  const disks = new Map<string, WatchedDisk>();
  for (const group of groups.values()) {
    const paths = group.map(({ path }) => path);
    const [path = '/'] = paths;
    const space = threads.isWaitedFor(path)
      ? null
      : await threads.ask('disk', [paths], path, deadlineMs).catch(() => null);
    const name = space === null ? path : `device ${space.device}`;
    const { device, ...figures } = space ?? { device: null, ...unknown };
    const known = disks.get(name) ?? { path, roots: [], leaves: [], ...figures };
    const leaves = group.flatMap(root => tracksOf.get(root) ?? ofObjects).flatMap(leavesOf);
    disks.set(name, {
      ...known,
      roots: [...known.roots, ...paths],
      leaves: [...new Set([...known.leaves, ...leaves])],
    });
  }
  return [...disks.values()];
}
