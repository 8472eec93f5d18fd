/**
 * Makes one sweep: finds every unit, walks it, and decides at the end which known units are gone.
 *
 * Units are walked while the search for others goes on. The storage roots are resolved before and after,
 * since a root that went away meanwhile looks as if its units were gone.
 */

import { messageOf } from '../errors.ts';
import { type Discovered, type Layout, notFollowed, walkedRoots } from '../layout/index.ts';
import type { ScannerParts } from './disk-threads.ts';
import { classifyKnownUnit, isDangling, knownByRoot, sweptRoots } from './roots.ts';
import type { Run } from './run.ts';
import type { Figures, ScanSettings } from './task.ts';
import type { Settled, UnitMeasuring } from './unit-measuring.ts';

interface SweepOptions {
  readonly run: Run;
  readonly parts: ScannerParts;
  readonly settings: ScanSettings;
  readonly measuring: UnitMeasuring;
  /** Called with the resolved storage before anything is walked. */
  readonly resolved: (settings: ScanSettings, layout: Layout) => void;
  /** Resolves when walks may begin. */
  readonly ready: Promise<void>;
  /** Aborted, it stops the sweep. */
  readonly signal: AbortSignal;
}

/** Makes the sweep; `run` has the result. Never rejects. */
export async function sweep(options: SweepOptions): Promise<void> {
  const { run, measuring, signal } = options;
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true });
  });
  try {
    await Promise.race([stopped, options.ready.then(() => survey(options))]);
    run.end('done');
  } catch (error) {
    measuring.pool.stopSweep();
    if (signal.aborted) run.end('stopped');
    else {
      options.parts.options.log.error({ run: run.id, err: error }, 'a sweep could not be finished');
      run.end('failed', messageOf(error));
    }
  }
}

async function survey(options: SweepOptions): Promise<void> {
  const { run, parts, settings, measuring, signal } = options;
  const { threads } = parts;
  const { figures } = parts.options;
  if (signal.aborted) return;
  const startSeq = figures.nextSeq();
  const startedAt = Date.now();
  const { storages, exclude } = settings;
  const resolve = (known: readonly string[] | null) =>
    threads.askAround('resolve', [storages, exclude, known], { signal });
  const layout = await resolve(null);
  if (signal.aborted) return;
  options.resolved(settings, layout);

  if (run.kind === 'verify' && run.owners === null) await emptyCache(parts, signal);

  const found: Found = { seen: new Set(), unread: new Set() };
  const { seen, unread } = found;
  const told = new Set<string>();
  const walked = Promise.withResolvers<void>();
  /** Number of walks that have not ended, plus one for the search. */
  let open = 1;
  const ended = (): void => {
    open -= 1;
    if (open === 0) walked.resolve();
  };
  const walk = measuring.sweep((...settled) => {
    if (!signal.aborted) note(run, found, figures, ...settled);
    ended();
  });
  const trustsSignature = run.kind === 'sweep';
  const takeAll = (discovered: readonly Discovered[]): void => {
    if (signal.aborted) return;
    for (const one of discovered) {
      // If a disk hangs, the search begins anew and finds units a second time.
      const name = one.type === 'unit' ? one.unit.path : `${one.type} ${one.path}`;
      if (told.has(name)) continue;
      told.add(name);
      if (!isToWalk(one, run, figures, measuring, found)) continue;
      run.unitsFound += 1;
      open += 1;
      const { type: _, ...placed } = one;
      walk({ ...placed, trustsSignature });
    }
  };
  await threads.askAround('discover', [layout], { part: takeAll, signal });
  run.discovering = false;
  ended();
  await walked.promise;

  const { roots: rootsAfter } = await resolve([...layout.links.keys()]);
  const before = walkedRoots(layout);
  const known = await knownByRoot(before, figures);
  const unseen = new Set([...known.byRoot.values()].flat().filter(path => !seen.has(path)));
  const absent = new Set(await threads.askAround('absent', [[...unseen]], { signal }));
  const roots = sweptRoots(before, rootsAfter, { seen, absent }, figures, known, run.acceptMoved);
  measuring.swept(roots);
  // Below a dangling link there is nothing that could be read another time.
  for (const root of before) if (isDangling(root)) unread.delete(root.path);
  for (const { path, unused } of roots) if (unused !== null) unread.delete(path);
  for (const { path, away } of roots)
    if (away === 'another file system') run.problems.faults.add([{ path, what: `it has become ${away}` }]);
  if (signal.aborted) return;
  const missesKeys = figures.missesKeys() && !run.acceptMoved;
  const standing = classifyKnownUnit(seen, unread, roots, missesKeys ? absent : null);
  for (const path of unseen) if (standing(path) === 'gone') measuring.forget(path);
  await figures.swept({
    startSeq,
    startedAt,
    finishedAt: Date.now(),
    units: seen.size,
    whole: run.owners === null,
    acceptMoved: run.acceptMoved,
    standing,
    roots,
  });
}

/**
 * Empties the cache. A verify reads all units, so this loses nothing, and removes what is left of gone units.
 */
async function emptyCache({ cacheFile, options, threads }: ScannerParts, signal: AbortSignal): Promise<void> {
  const file = cacheFile();
  if (file === null) return;
  try {
    await threads.askAround('empty cache', [file], { signal });
  } catch (error) {
    if (!signal.aborted) options.log.warn({ err: error }, 'the scan cache could not be emptied');
  }
}

/** Paths that the search has found. */
interface Found {
  /** Paths of units. */
  readonly seen: Set<string>;
  /** Paths at which it is unknown what is there. */
  readonly unread: Set<string>;
}

type FoundUnit = Extract<Discovered, { readonly type: 'unit' }>;

/** Records something that the search found. Returns true for a unit that is to be walked. */
function isToWalk(
  one: Discovered,
  run: Run,
  figures: Figures,
  measuring: Pick<UnitMeasuring, 'reportUnmeasured'>,
  { seen, unread }: Found,
): one is FoundUnit {
  switch (one.type) {
    case 'unread':
      unread.add(one.path);
      if (one.unit !== undefined) measuring.reportUnmeasured(one.unit, figures.nextSeq(), Date.now());
      run.problems.unread.add([{ path: one.path, error: one.error }]);
      return false;
    case 'fault':
      run.problems.faults.add([{ path: one.path, what: one.what }]);
      return false;
    case 'link':
      // The link appeared after the storage was resolved, or there are too many links.
      unread.add(one.path);
      run.problems.unread.add([{ path: one.path, error: notFollowed }]);
      return false;
    case 'listed':
      return false;
    case 'unit':
      seen.add(one.unit.path);
      return run.owners === null || run.owners.includes(figures.ownerKeyOf(one.unit) ?? '');
  }
}

/** Records the outcome of one unit. */
function note(run: Run, { seen, unread }: Found, figures: Figures, ...settled: Parameters<Settled>): void {
  const [path, result, outcome, counted] = settled;
  if (outcome === 'stopped') return;
  run.record(path, result);
  run.units += 1;
  const isPartial = outcome === 'unread' || ('partial' in result && result.partial);
  if (isPartial && !figures.knownBytes(path)) run.unmeasured += 1;
  if (outcome === 'gone' || outcome === 'none') seen.delete(path);
  if (result.outcome === 'hung' || result.outcome === 'failed' || outcome === 'unread') {
    seen.delete(path);
    unread.add(path);
  }
  const expectedBytes = counted?.expectedBytes;
  // Only a verify reports drift.
  if (run.kind === 'verify' && counted !== null && expectedBytes !== undefined)
    run.compare(expectedBytes, counted.bytes);
}
