/**
 * One sweep: finds every unit, walks it, and says at the end how all the known ones stand.
 *
 * Units are walked while others are still being looked for. The storage roots are looked at before
 * and after, since one that went away meanwhile looks as if its units were gone.
 */

import { messageOf } from '../errors.ts';
import { type Discovered, type Layout, walkedRoots } from '../layout/index.ts';
import { inSlices } from '../slices.ts';
import { Backlog } from './backlog.ts';
import type { DiskThreads } from './disk-threads.ts';
import type { UnitMeasuring } from './measuring.ts';
import type { ScanSettings, TaskResult } from './messages.ts';
import type { ScannerOptions } from './options.ts';
import { classifyKnownUnit, knownByRoot, sweptRoots } from './roots.ts';
import type { Run } from './run.ts';
import type { TargetOutcome } from './targets.ts';
import type { CountedUnit } from './unit-counts.ts';

interface SweepOptions {
  readonly run: Run;
  readonly scanner: ScannerOptions;
  readonly settings: ScanSettings;
  readonly measuring: UnitMeasuring;
  /** Called with the resolved storage before anything is walked. */
  readonly resolved: (settings: ScanSettings, layout: Layout) => void;
  /** Resolves when walks may begin. */
  readonly ready: Promise<void>;
  /** The cache's file; null where it is not used. */
  readonly cacheFile: () => string | null;
  readonly threads: Pick<DiskThreads, 'askAround'>;
  /** Returns the device of a path, which identifies its disk. */
  readonly deviceOf: (path: string) => string;
  /** Aborted, it stops the sweep. */
  readonly signal: AbortSignal;
}

/** Makes the sweep; `run` tells how it ended. Never rejects. */
export async function sweep(options: SweepOptions): Promise<void> {
  const { run, scanner, measuring, signal } = options;
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
      scanner.log.error({ run: run.id, err: error }, 'a sweep could not be finished');
      run.end('failed', messageOf(error));
    }
  }
}

async function survey(options: SweepOptions): Promise<void> {
  const { run, scanner, settings, measuring, threads, signal } = options;
  if (signal.aborted) return;
  const startSeq = scanner.nextSeq();
  const startedAt = Date.now();
  const resolve = { ask: 'resolve', storages: settings.storages, exclude: settings.exclude } as const;
  const layout = await threads.askAround(resolve, { signal });
  if (signal.aborted) return;
  options.resolved(settings, layout);

  const found: Found = { seen: new Set(), unread: new Set(), none: new Set() };
  const { seen, unread } = found;
  const told = { units: new Set<string>(), others: new Set<string>() };
  const walks = new Backlog<FoundUnit>({
    most: mostBegun,
    deviceOf: ({ unit }) => options.deviceOf(unit.path),
    run: (one, ended) => walk(one, options, found, ended),
  });
  signal.addEventListener('abort', () => walks.clear(), { once: true });
  const takeAll = (discovered: readonly Discovered[]): void => {
    if (signal.aborted) return;
    for (const one of discovered) {
      // If a disk hung meanwhile, units are found a second time.
      if (one.type === 'listed') continue;
      const [before, name] =
        one.type === 'unit' ? [told.units, one.unit.path] : [told.others, `${one.type} ${one.path}`];
      if (before.has(name)) continue;
      before.add(name);
      take(one, options, found, walks);
    }
  };
  // The search may assume units only if all of them are walked: nobody else inspects the others.
  await threads.askAround(
    { ask: 'discover', layout, assumes: run.owners === null },
    { found: takeAll, signal },
  );
  run.discovering = false;
  await walks.empty();
  const paths = [...found.none];
  if (paths.length > 0) {
    await threads.askAround({ ask: 'discover at', layout, paths }, { found: takeAll, signal });
    await walks.empty();
  }

  const { roots: rootsAfter } = await threads.askAround(resolve, { signal });
  const before = walkedRoots(layout);
  const known = await knownByRoot(before, scanner.knownBelow);
  const unseen = new Set([...known.values()].flat().filter(path => !seen.has(path)));
  const absent = new Set(await threads.askAround({ ask: 'absent', paths: [...unseen] }, { signal }));
  const lists = { ...scanner, knownBelow: (path: string) => known.get(path) ?? [] };
  const roots = sweptRoots(before, rootsAfter, { seen, absent }, lists, run.acceptMoved);
  measuring.swept(roots);
  for (const { path, away } of roots) {
    if (away === null) continue;
    if (away === 'another file system') run.problems.faults.add([{ path, what: `it has become ${away}` }]);
    scanner.log.warn(
      { path, reason: away },
      'a storage root has changed; its units keep their last known bytes',
    );
  }
  if (signal.aborted) return;
  const standing = classifyKnownUnit(seen, unread, roots);
  for (const path of unseen) if (standing(path) === 'gone') measuring.forget(path);
  await scanner.swept({
    startSeq,
    startedAt,
    finishedAt: Date.now(),
    units: seen.size,
    whole: run.owners === null,
    standing,
    roots,
  });
  const file = options.cacheFile();
  const mayPrune = measuring.takeGone() || unseen.size > 0 || run.kind === 'verify';
  if (file === null || !mayPrune) return;
  try {
    const keep = [...seen];
    await inSlices(scanner.knownBelow('/'), path => keep.push(path));
    await threads.askAround({ ask: 'prune cache', file, keep }, { signal });
  } catch (error) {
    if (!signal.aborted) scanner.log.warn({ err: error }, 'the scan cache could not be pruned');
  }
}

/** Paths, by what is there. */
interface Found {
  /** A unit. */
  readonly seen: Set<string>;
  /** Nobody knows what is there. */
  readonly unread: Set<string>;
  /** A directory that was taken for a unit and is none; there may be some below. */
  readonly none: Set<string>;
}

type FoundUnit = Extract<Discovered, { readonly type: 'unit' }>;

/** Many times what all walkers are given at a time. */
const mostBegun = 1000;

function take(
  one: Exclude<Discovered, { readonly type: 'listed' }>,
  { run, scanner }: SweepOptions,
  { seen, unread }: Found,
  walks: Backlog<FoundUnit>,
): void {
  switch (one.type) {
    case 'unread':
      unread.add(one.path);
      run.problems.unread.add([{ path: one.path, error: one.error }]);
      return;
    case 'fault':
      run.problems.faults.add([{ path: one.path, what: one.what }]);
      return;
    case 'unit': {
      const { path } = one.unit;
      seen.add(path);
      const isWanted = run.owners === null || isOneOf(run.owners, one.unit, scanner);
      if (!isWanted) return;
      run.unitsFound += 1;
      walks.add(one);
    }
  }
}

function isOneOf(
  owners: readonly string[],
  { path, owner: found, ownerFault }: FoundUnit['unit'],
  { ownerAt, ownerKey }: SweepOptions['scanner'],
): boolean {
  const owner = found ?? (ownerFault === undefined ? ownerAt(path) : null);
  return owner !== null && owners.includes(ownerKey(owner));
}

function walk(
  { unit, inner, isAssumed = false }: FoundUnit,
  { run, measuring, signal }: SweepOptions,
  { seen, unread, none }: Found,
  ended: () => void,
): void {
  const { path } = unit;
  let isUnread = false;
  let isNone = false;
  const trustsSignature = run.kind === 'sweep' && !measuring.isUnsettled(path);
  const walked = (result: TaskResult): void => {
    isUnread = result.outcome === 'hung' || result.outcome === 'failed';
    isNone = result.outcome === 'none';
    run.record(path, result);
  };
  const note = (outcome: TargetOutcome, counted: CountedUnit | null): void => {
    if (isNone) run.unitsFound -= 1;
    else run.units += 1;
    if (outcome === 'gone' || outcome === 'none') {
      seen.delete(path);
      if (isNone) none.add(path);
    }
    if (isUnread || outcome === 'unread') {
      seen.delete(path);
      unread.add(path);
    }
    const expectedBytes = counted?.expectedBytes;
    // Only a verify tells by how much a unit was known wrongly.
    if (run.kind === 'verify' && counted !== null && expectedBytes !== undefined)
      run.compare(expectedBytes, counted.bytes);
  };
  measuring.sweep({ unit, inner, trustsSignature, isAssumed }, walked, (outcome, counted) => {
    if (!signal.aborted) note(outcome, counted);
    ended();
  });
}
