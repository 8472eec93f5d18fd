/**
 * The thread that looks at disks: it answers questions, one at a time. A disk may hang, and a thread with it;
 * whoever asks waits only as long as it wants to.
 */

import { lstatSync, readFileSync, readlinkSync, statfsSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf, systemCode } from '../errors.ts';
import {
  beforeLook,
  type Discovered,
  decodePath,
  discover,
  encodePath,
  inspect,
  type Layout,
  type Located,
  locate,
  mountsIn,
  mountTable,
  type PlacedUnit,
  type Root,
  resolveLayout,
} from '../layout/index.ts';
import { type Cache, emptyCache, noCache, openCache, prepareCache } from './cache.ts';
import { type Watched, watchDirectories } from './directories.ts';
import { deniesForce, existingNames, repositoriesAt } from './directory-names.ts';
import { fileSystemAt } from './file-system.ts';
import {
  type ListedQuarantine,
  lookAtQuarantine,
  type Measure,
  newQuarantines,
  quarantinesOf,
} from './quarantine.ts';
import { beginTask, count, monotonic, move, rest, sharedMemory, shareLooks } from './shared.ts';
import type { ScanContext, ScanSettings, Task, TaskResult, WalkTerms } from './task.ts';
import type { Pulse } from './visit.ts';
import { walk } from './walk.ts';

/** The start parameters of a thread. */
export interface IoWorkerStart {
  readonly shared: SharedArrayBuffer;
}

export interface IoWorkerRequest {
  /** One of `Tasks`. */
  readonly ask: keyof Tasks;
  readonly given: unknown;
  /** The directories below which disks do not answer. */
  readonly avoided: readonly string[];
}

export type IoWorkerReport =
  /** A part of an answer, which comes before it. */
  | { readonly type: 'part'; readonly part: unknown }
  | { readonly type: 'answer'; readonly answer: unknown }
  | { readonly type: 'failed'; readonly why: string };

/** Everything that a thread can be asked, with the answers: plain data. */
export type Tasks = typeof tasks;

const tasks = {
  /** Gives why the cache had to be made again; null where it had not. */
  'prepare cache': ({ file }: { readonly file: string }) => prepareCache(file),
  'empty cache': ({ file }: { readonly file: string }) => emptyCache(file),
  /** Gives the layout with the marks of the roots' file systems. */
  resolve: ({ storages, exclude }: Pick<ScanSettings, 'storages' | 'exclude'>) =>
    marked(resolveLayout(storages, exclude)),
  discover: ({ layout }: { readonly layout: Layout }, part: (found: readonly Discovered[]) => void) =>
    find(discover(layout), part),
  /** Gives those of the paths at which there is nothing. */
  absent: ({ paths }: { readonly paths: readonly string[] }) => paths.filter(isAbsent),
  locate: ({ context, path }: { readonly context: ScanContext; readonly path: string }) =>
    unitOf(context, path),
  /** Gives null where there is nothing at the path. */
  disk: ({ path }: { readonly path: string }) => spaceAt(path),
  /** Looks at the directories above the units, for as long as the thread is. */
  watch: (
    { layout, roots }: { readonly layout: Layout; readonly roots: readonly Root[] },
    part: (watched: Watched) => void,
  ) => watchDirectories(layout, roots, shared, part),
  walk: (batch: WalkBatch) => walkAll(batch),
  quarantine: (given: {
    readonly objectsDirectory: string;
    readonly name: string;
    readonly measure: Measure;
  }) => lookAtQuarantine(given.objectsDirectory, given.name, given.measure),
  quarantines: (given: {
    readonly unit: string;
    readonly listed: readonly ListedQuarantine[];
    readonly measure: Measure;
  }) => quarantinesOf(given.unit, given.listed, given.measure),
  /** `since`: in milliseconds since 1970. */
  'new quarantines': (given: {
    readonly units: readonly string[];
    readonly since: number;
    readonly measure: Measure;
  }) => newQuarantines(given.units, given.since, given.measure),
  'existing names': ({ unit, names }: { readonly unit: string; readonly names: readonly string[] }) =>
    existingNames(unit, names),
  'denies force': ({ unit }: { readonly unit: string }) => deniesForce(unit),
  repositories: ({ paths }: { readonly paths: readonly string[] }) => repositoriesAt(paths),
} as const;

const port = parentPort;
if (port === null) throw new Error('io-worker.ts is run as a worker thread');

// The one who starts this thread gives it nothing else.
const { shared: buffer } = workerData as IoWorkerStart;
const shared = sharedMemory(buffer);
let avoided: readonly string[] = [];
shareLooks(shared, () => avoided);

port.on('message', ({ ask, given, avoided: places }: IoWorkerRequest) => {
  avoided = places;
  // A question to the cache is no look at the storage.
  if (ask !== 'prepare cache' && ask !== 'empty cache') beginTask(shared);
  try {
    // The types of `DiskThread.ask` hold for what is given.
    const answer: unknown = tasks[ask](given as never, (part: unknown) => send({ type: 'part', part }));
    send({ type: 'answer', answer });
  } catch (error) {
    send({ type: 'failed', why: messageOf(error) });
  } finally {
    rest(shared);
  }
  // For the walk of a unit that is asked for somebody may wait.
  cache?.flush();
});

function send(report: IoWorkerReport): void {
  port?.postMessage(report);
}

function marked(layout: Layout): Layout {
  const mountAt = mountTable(mountsIn(decodePath(readFileSync('/proc/self/mountinfo'))));
  const roots = layout.roots.map(root => ({
    ...root,
    fileSystem: root.state === 'present' ? fileSystemAt(root.path, root.device, mountAt) : null,
  }));
  return { ...layout, roots };
}

/** A path whose state the system does not tell is assumed to exist. */
function isAbsent(path: string): boolean {
  try {
    beforeLook(path);
    return lstatSync(encodePath(path), { throwIfNoEntry: false }) === undefined;
  } catch (error) {
    return systemCode(error) === 'ENOTDIR';
  }
}

const mostTogether = 500;
const millisecondsTogether = 50;

function find(discovered: Iterable<Discovered>, part: (found: readonly Discovered[]) => void): void {
  let found: Discovered[] = [];
  let sentAt = monotonic();
  for (const one of discovered) {
    if (one.type !== 'listed') found.push(one);
    if (found.length < mostTogether && monotonic() - sentAt < millisecondsTogether) continue;
    part(found);
    found = [];
    sentAt = monotonic();
  }
  part(found);
}

function unitOf(context: ScanContext, path: string): Located {
  const located = locate(context.layout, path);
  const isSure = located.found === 'unit' || context.layout.roots.every(root => root.state === 'present');
  // A file system may have been mounted since the layout was made.
  return isSure ? located : locate(resolveLayout(context.storages, context.exclude), path);
}

/** The figures of the file system of a path; bytes over 2^53 - 1 are given as that number. */
function spaceAt(path: string) {
  beforeLook(path);
  const place = encodePath(path);
  const stats = lstatSync(place, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return null;
  const { bsize, blocks, bavail, files, ffree } = statfsSync(place, { bigint: true });
  return {
    device: stats.dev,
    sizeBytes: exact(bsize * blocks),
    freeBytes: exact(bsize * bavail),
    sizeFiles: exact(files),
    freeFiles: exact(ffree),
  };
}

function exact(bytes: bigint): number {
  return Number(bytes < Number.MAX_SAFE_INTEGER ? bytes : Number.MAX_SAFE_INTEGER);
}

interface WalkBatch {
  readonly context: ScanContext;
  /** Null where the cache is not to be used. */
  readonly cacheFile: string | null;
  readonly tasks: readonly (WalkTerms & { readonly task: Task })[];
}

/** Measured: the 99th percentile of checks beside full walks falls by a third. */
const prioritySteps = 5;
const lowestPriority = 19;

/** This thread's; null before its first walk. */
let cache: Cache | null = null;
let cacheFaults: string[] = [];
let hasLowPriority = false;

/**
 * Walks for a moment, but one unit at least. The results are in the order of the tasks, and what has none was
 * not begun.
 */
function walkAll({ tasks, context, cacheFile }: WalkBatch) {
  const { counts } = shared;
  const opened = cache ?? (cacheFile === null ? noCache : openCache(cacheFile, why => cacheFaults.push(why)));
  cache = opened;
  const isAsked = tasks.some(({ task }) => !('unit' in task));
  // For a sweep nobody waits, but checks would wait for it.
  if (!isAsked && !hasLowPriority) {
    lowerThreadPriority();
    hasLowPriority = true;
  }
  const results: TaskResult[] = [];
  const endsAt = monotonic() + millisecondsTogether;
  for (const { task, ...terms } of tasks) {
    if (results.length > 0 && monotonic() >= endsAt) break;
    beginTask(shared);
    counts[count.since] = monotonic();
    counts[count.unit] = results.length + 1;
    const [directories = 0, files = 0, bytes = 0] = counts;
    const pulse: Pulse = tally => {
      move(shared);
      counts[count.directories] = directories + tally.directories;
      counts[count.files] = files + tally.files;
      counts[count.bytes] = bytes + tally.bytes;
    };
    results.push(resultOf(task, terms, context, opened, pulse));
  }
  counts[count.unit] = 0;
  // Writing to the cache is no look at the storage.
  rest(shared);
  // The next sweep reads what this one writes.
  if (!isAsked) opened.flush();
  const faults = cacheFaults;
  cacheFaults = [];
  return { results, cacheFaults: faults };
}

function resultOf(
  task: Task,
  terms: WalkTerms,
  context: ScanContext,
  cache: Cache,
  pulse: Pulse,
): TaskResult {
  const { exclude, measure } = context;
  const measured = ({ unit, inner }: PlacedUnit): TaskResult => {
    const request = { ...terms, unit, inner, exclude: new Set(exclude), measure };
    const outcome = walk(request, cache, pulse);
    return 'bytes' in outcome ? { ...outcome, unit, inner } : outcome;
  };
  try {
    if ('unit' in task) return measured(task);
    let { layout } = context;
    let located = inspect(layout, task.path);
    if (located.found === 'unread') {
      // A file system may have been mounted since the layout was made.
      layout = resolveLayout(context.storages, exclude);
      located = inspect(layout, task.path);
    }
    if (located.found === 'unread') return { outcome: 'unread', path: located.path, error: located.error };
    return located.found === 'none' ? { outcome: 'none', layout } : measured(located);
  } catch (error) {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { outcome: 'failed', why };
  }
}

/**
 * Lowers the priority of this thread, for good: only root may raise it again. Where the system knows no
 * priorities of threads, or does not let one be set, it stays as it is.
 */
function lowerThreadPriority(): void {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    setPriority(thread, Math.min(getPriority(thread) + prioritySteps, lowestPriority));
  } catch (error) {
    if (systemCode(error) === null) throw error;
  }
}
