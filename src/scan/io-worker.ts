/**
 * The code of the threads that read disks. It answers one question at a time. If a disk hangs, its thread
 * hangs, too; the main thread goes on without it.
 */

import { lstatSync, readlinkSync, statfsSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf, systemCode } from '../errors.ts';
import { given } from '../given.ts';
import {
  type Discovered,
  DiskHangs,
  discover,
  encodePath,
  entryAt,
  inspect,
  isWithin,
  type Layout,
  type Located,
  locate,
  locateByMounts,
  mountsNow,
  mountTable,
  type PlacedUnit,
  type Root,
  resolveLayout,
  watchLooks,
} from '../layout/index.ts';
import { type Watched, watchDirectories } from './directories.ts';
import { deniesForce, existingNames, hasRefs } from './directory-names.ts';
import { fileSystemAt } from './file-system.ts';
import { lookForLargeBlobs } from './large-blobs.ts';
import { lookAtQuarantine, newQuarantines, quarantinesOf } from './quarantine.ts';
import { beginTask, beginUnit, move, rest, sharedMemory } from './shared.ts';
import { Cache, emptyCache, prepareCache } from './signature.ts';
import type { ScanContext, Task, TaskResult, WalkTerms } from './task.ts';
import { walk } from './walk.ts';

export interface IoWorkerRequest {
  /** One of `Tasks`. */
  readonly ask: keyof Tasks;
  readonly given: readonly unknown[];
  /** The directories below which disks do not answer. */
  readonly avoided: readonly string[];
}

export type IoWorkerReport =
  /** A part of an answer, sent before it. */
  | { readonly type: 'part'; readonly part: unknown }
  | { readonly type: 'answer'; readonly answer: unknown }
  | { readonly type: 'failed'; readonly why: string };

/** All questions to a thread, with their answers. Both are plain data. */
export type Tasks = typeof tasks;

/** Types of the parts that are sent before an answer. */
export interface Parts {
  readonly discover: readonly Discovered[];
  readonly watch: Watched;
}

const tasks = {
  'prepare cache': prepareCache,
  'empty cache': emptyCache,
  /** Resolves the layout, and identifies the file systems of its roots. */
  resolve: (...given: Parameters<typeof resolveLayout>) => marked(resolveLayout(...given)),
  /** Leaves out the file systems, since a program identifies each of them. */
  'resolve places': resolveLayout,
  discover: (layout: Layout) => find(discover(layout)),
  /** Returns the paths at which there is nothing. */
  absent: (paths: readonly string[]) => paths.filter(isAbsent),
  locate: unitOf,
  disk: spaceOf,
  /** Watches the directories above the units, until the thread is ended. */
  watch: (layout: Layout, roots: readonly Root[]) =>
    watchDirectories(layout, roots, shared, found => sendPart('watch', found)),
  walk: walkAll,
  quarantine: lookAtQuarantine,
  'large blobs': lookForLargeBlobs,
  quarantines: quarantinesOf,
  'new quarantines': newQuarantines,
  'existing names': existingNames,
  'denies force': deniesForce,
  'has refs': hasRefs,
} as const;

const port = parentPort;
if (port === null) throw new Error('io-worker.ts is run as a worker thread');

// The cast is safe: `DiskThread` passes nothing else.
const shared = sharedMemory(workerData as SharedArrayBuffer);
let avoided: readonly string[] = [];
watchLooks(path => {
  if (avoided.some(place => isWithin(path, place))) throw new DiskHangs(path);
  const length = shared.at.write(path, 0, shared.at.length - 1);
  shared.at[length] = 0;
  move(shared);
});

port.on('message', ({ ask, given, avoided: places }: IoWorkerRequest) => {
  avoided = places;
  // Work on the cache does not count as a look at the storage.
  if (ask !== 'prepare cache' && ask !== 'empty cache') beginTask(shared);
  try {
    // `DiskThread.ask` checks the types of what is given.
    send({ type: 'answer', answer: Reflect.apply(tasks[ask], undefined, given) });
  } catch (error) {
    send({ type: 'failed', why: messageOf(error) });
  } finally {
    rest(shared);
  }
  // The answer comes first, since somebody may wait for the walk of a single unit.
  cache?.flush();
});

function send(report: IoWorkerReport): void {
  port?.postMessage(report);
}

function sendPart<Ask extends keyof Parts>(_: Ask, part: Parts[Ask]): void {
  send({ type: 'part', part });
}

function marked(layout: Layout): Layout {
  const mountAt = mountTable(mountsNow());
  // Identifying a file system runs a program, and many links may lead to one disk.
  const known = new Map<string, string | null>();
  const fileSystemOf = ({ path, device }: Root): string | null => {
    const disk = `${device} ${mountAt(path)?.source}`;
    if (!known.has(disk)) known.set(disk, fileSystemAt(path, device, mountAt));
    return known.get(disk) ?? null;
  };
  const roots = layout.roots.map(root => ({
    ...root,
    fileSystem: root.state === 'present' ? fileSystemOf(root) : null,
  }));
  return { ...layout, roots };
}

/** A path whose state the system does not tell is assumed to exist. */
function isAbsent(path: string): boolean {
  try {
    return entryAt(path) === null;
  } catch {
    return false;
  }
}

const mostTogether = 500;
const millisecondsTogether = 50;

function find(discovered: Iterable<Discovered>): void {
  let found: Discovered[] = [];
  let sentAt = performance.now();
  for (const one of discovered) {
    if (one.type !== 'listed') found.push(one);
    if (found.length < mostTogether && performance.now() - sentAt < millisecondsTogether) continue;
    sendPart('discover', found);
    found = [];
    sentAt = performance.now();
  }
  sendPart('discover', found);
}

function unitOf(layout: Layout, path: string): Located {
  const located = locate(layout, path);
  return located.found === 'none' ? locateByMounts(layout, path) : located;
}

/**
 * Returns the space of the file system of the first path that exists, each figure at most 2^53 - 1; null:
 * none exists.
 */
function spaceOf(paths: readonly string[]) {
  const path = paths.find(each => !isAbsent(each));
  if (path === undefined) return null;
  const place = encodePath(path);
  const stats = lstatSync(place, { bigint: true });
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

/**
 * Steps by which the priority is lowered, from 0 or an already lower one. Measured: during full walks, the
 * 99th percentile of checks falls by a third.
 */
const prioritySteps = 5;
const lowestPriority = 19;

/** The cache of this thread; null before its first walk. */
let cache: Cache | null = null;
let cacheFaults: string[] = [];
let hasLowPriority = false;
/** Why the priority could not be lowered; null: it could be, or the reason was sent before. */
let priorityFault: string | null = null;

/**
 * Walks units for a moment, but at least one. The results are in the order of the tasks; a task without a
 * result was not begun. `cacheFile`: null if the cache cannot be used.
 */
function walkAll(
  tasks: readonly (WalkTerms & { readonly task: Task })[],
  context: ScanContext,
  cacheFile: string | null,
) {
  cache ??= new Cache(cacheFile, why => cacheFaults.push(why));
  const opened = cache;
  const isAsked = tasks.some(({ task }) => !('unit' in task));
  // Nobody waits for a sweep, but checks would wait for its threads.
  if (!isAsked && !hasLowPriority) {
    priorityFault = lowerThreadPriority();
    hasLowPriority = true;
  }
  const results: TaskResult[] = [];
  const endsAt = performance.now() + millisecondsTogether;
  for (const { task, ...terms } of tasks) {
    if (results.length > 0 && performance.now() >= endsAt) break;
    beginUnit(shared, results.length + 1);
    results.push(resultOf(task, terms, context, opened));
  }
  // Work on the cache does not count as a look at the storage.
  rest(shared);
  // The next sweep reads the signatures of this one.
  if (!isAsked) opened.flush();
  const faults = cacheFaults;
  cacheFaults = [];
  const told = { results, cacheFaults: faults, priorityFault };
  priorityFault = null;
  return told;
}

function resultOf(task: Task, terms: WalkTerms, context: ScanContext, cache: Cache): TaskResult {
  const { exclude, measure } = context;
  const measured = ({ unit, inner, objectsAt }: PlacedUnit): TaskResult => {
    const request = { ...terms, unit, inner, ...given({ objectsAt }), exclude: new Set(exclude), measure };
    const outcome = walk(request, cache, () => move(shared));
    return outcome === null ? { outcome: 'vanished' } : { ...outcome, unit, inner };
  };
  try {
    if ('unit' in task) return measured(task);
    let { layout } = context;
    let located = inspect(layout, task.path);
    if (located.found === 'unread') {
      // A file system may have been mounted since the layout was made.
      layout = resolveLayout(context.storages, exclude, [...layout.links.keys()]);
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
 * Lowers the priority of this thread for good: only root may raise it again. Returns null, or why the
 * priority stays as it is: the system has none for threads, or refuses to set it.
 */
function lowerThreadPriority(): string | null {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    const usual = Math.max(getPriority(thread), 0);
    setPriority(thread, Math.min(usual + prioritySteps, lowestPriority));
    return null;
  } catch (error) {
    if (systemCode(error) === null) throw error;
    return messageOf(error);
  }
}
