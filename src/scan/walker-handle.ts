/** A walker's thread, as the pool sees it. */

import type { Worker } from 'node:worker_threads';
import { entryUrl } from '../package.ts';
import type {
  NumberedTask,
  Task,
  WalkerReport,
  WalkerRequest,
  WalkerResult,
  WalkerStart,
} from './messages.ts';
import type { ListedQuarantine } from './quarantine.ts';
import type { Urgency } from './queue.ts';
import {
  type Counts,
  count,
  countsOf,
  countsSince,
  monotonic,
  newShared,
  noCounts,
  type Shared,
  signal,
} from './shared.ts';
import { endThread, startThread } from './thread.ts';
import { unchangedResults } from './unchanged.ts';

/** The time when a task was handed out, never later than the beginning of its walk. */
export interface Start {
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly monotonicMs: number;
}

export interface WalkerHandle<Entry> {
  readonly worker: Worker;
  readonly shared: Shared;
  /** The device of its batch. */
  device: string;
  /** Once it is told to hang: what is to be called when it has come back. */
  release: (() => void) | null;
  /** The units without a result so far, by the id that the walker uses. */
  readonly batch: Map<number, Entry & { readonly start: Start }>;
  urgency: Urgency | null;
  /** The counts of the walker when its batch began. */
  countsBefore: Counts;
  /** Why it died. */
  fault: string | null;
}

export function startWalker<Entry>(
  code: URL = entryUrl('scan/walker'),
  cacheFile: string | null,
): WalkerHandle<Entry> {
  const shared = newShared();
  const start: WalkerStart = { shared: shared.buffer, cacheFile };
  return {
    worker: startThread(code, 'walker', start),
    shared,
    device: '',
    release: null,
    batch: new Map(),
    urgency: null,
    countsBefore: noCounts,
    fault: null,
  };
}

export function sendTask({ worker }: Pick<WalkerHandle<unknown>, 'worker'>, request: WalkerRequest): void {
  worker.postMessage(request);
}

/** Asks a walker of a sweep to hand back what it has not begun, unless one is asked for each that waits. */
export function askOneToYield(walkers: Iterable<WalkerHandle<unknown>>, waiting: number): void {
  const sweeping = [...walkers].filter(({ urgency }) => urgency === 'sweep');
  const isAsked = sweeping.filter(({ shared }) => Atomics.load(shared.signals, signal.yield) === 1).length;
  if (isAsked >= waiting) return;
  const next = sweeping.find(({ shared }) => Atomics.load(shared.signals, signal.yield) === 0);
  if (next !== undefined) Atomics.store(next.shared.signals, signal.yield, 1);
}

/** Resolves once a walker that was told to close has ended, or with false where it hangs in the system. */
export async function hasWalkerEnded(
  { worker, urgency }: WalkerHandle<unknown>,
  withinMs: number,
): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  worker.once('exit', () => resolve(true));
  const timer = setTimeout(() => resolve(endThread(worker, withinMs)), urgency === null ? withinMs : 0);
  const hasEnded = await promise;
  clearTimeout(timer);
  return hasEnded;
}

/** The results that a walker reports, with the entries that they are of, which are its own no longer. */
export function takeResults<Entry>(
  { batch }: WalkerHandle<Entry>,
  { results, unchanged }: Extract<WalkerReport, { readonly type: 'results' }>,
): { readonly entry: Entry & { readonly start: Start }; readonly result: WalkerResult }[] {
  const taken = [];
  for (const { id, result } of [...results, ...unchangedResults(unchanged)]) {
    const entry = batch.get(id);
    if (entry !== undefined) taken.push({ entry, result });
    batch.delete(id);
  }
  return taken;
}

/** The figures that the ledger has of units. */
export interface KnownUnits {
  readonly knownBytes: (path: string) => number | undefined;
  readonly knownFiles?: (path: string) => number | undefined;
  /** Tells whether this host itself gives the times of changes there; it does, unless given. */
  readonly hasOwnTimes?: (path: string) => boolean;
  /** Known quarantines of pushes; none, unless given. */
  readonly quarantines?: (path: string) => readonly ListedQuarantine[];
}

/** A task as a walker gets it. `again`: another walker died of it. */
export function numberedTask(
  id: number,
  task: Task,
  again: boolean,
  { knownBytes, knownFiles, hasOwnTimes = () => true, quarantines = () => [] }: KnownUnits,
): NumberedTask {
  const path = pathOfTask(task);
  // A sweep only compares most units, and reads nothing of them.
  const isRead = 'unit' in task && task.trustsSignature !== true;
  const isOwn = hasOwnTimes(path);
  const files = isRead && isOwn && !again ? knownFiles?.(path) : undefined;
  return {
    id,
    task,
    knownBytes: knownBytes(path) ?? null,
    knownFiles: files ?? null,
    hasOwnTimes: isOwn,
    quarantines: quarantines(path),
  };
}

export function pathOfTask(task: Task): string {
  return 'unit' in task ? task.unit.path : task.path;
}

/** A walker that is at something. */
export interface Busy {
  readonly path: string;
  /** Time that it has taken so far. */
  readonly milliseconds: number;
}

/** Gives the unit that a walker is at, if there is one. */
export function busyWith<Entry extends { readonly job: { readonly task: Task } }>({
  batch,
  shared: { counts },
}: WalkerHandle<Entry>): Busy[] {
  const now = monotonic();
  const entry = batch.get(counts[count.task] ?? 0);
  if (entry === undefined) return [];
  return [
    { path: pathOfTask(entry.job.task), milliseconds: Math.max(0, now - (counts[count.since] ?? now)) },
  ];
}

/** The counts of a walker for its present batch of the sweep. */
export function sweptBy({ urgency, shared, countsBefore }: WalkerHandle<unknown>): Counts {
  return urgency === 'sweep' ? countsSince(countsBefore, countsOf(shared)) : noCounts;
}
