/** A walker's thread, as the pool sees it. */

import type { Worker } from 'node:worker_threads';
import { entryUrl } from '../package.ts';
import type { Task, WalkerRequest, WalkerStart } from './messages.ts';
import type { Urgency } from './queue.ts';
import { count, newShared, type Shared } from './shared.ts';
import { startThread } from './thread.ts';

/** When a task was handed out, which is never later than its walk began. */
export interface Start {
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly monotonicMs: number;
}

export interface Counts {
  readonly directories: number;
  readonly files: number;
  readonly bytes: number;
}

export interface WalkerHandle<Entry> {
  readonly worker: Worker;
  readonly shared: Shared;
  /** Where its batch lies. */
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

export const nothing: Counts = { directories: 0, files: 0, bytes: 0 };

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
    countsBefore: nothing,
    fault: null,
  };
}

export function sendTask({ worker }: Pick<WalkerHandle<unknown>, 'worker'>, request: WalkerRequest): void {
  worker.postMessage(request);
}

export function pathOfTask(task: Task): string {
  return 'unit' in task ? task.unit.path : task.path;
}

export function countsOf({ counts }: Shared): Counts {
  return {
    directories: counts[count.directories] ?? 0,
    files: counts[count.files] ?? 0,
    bytes: counts[count.bytes] ?? 0,
  };
}

/** The counts of a walker for its present batch of the sweep. */
export function sweptBy({ urgency, shared, countsBefore }: WalkerHandle<unknown>): Counts {
  if (urgency !== 'sweep') return nothing;
  const now = countsOf(shared);
  return {
    directories: now.directories - countsBefore.directories,
    files: now.files - countsBefore.files,
    bytes: now.bytes - countsBefore.bytes,
  };
}

export function sumOf(a: Counts, b: Counts): Counts {
  return { directories: a.directories + b.directories, files: a.files + b.files, bytes: a.bytes + b.bytes };
}
