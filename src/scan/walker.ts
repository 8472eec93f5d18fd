/**
 * A walker: the thread that measures units, a batch at a time.
 *
 * Results are handed over as they come, together where they come quickly, and never later than the
 * walk of the next unit needs for its first few directories.
 */

import { parentPort, workerData } from 'node:worker_threads';
import { inspect, resolveLayout } from '../layout/index.ts';
import { noCache, openCache } from './cache.ts';
import { gathering } from './gathered-writes.ts';
import type {
  NumberedTask,
  ScanContext,
  UnitTask,
  WalkerReport,
  WalkerRequest,
  WalkerResult,
  WalkerStart,
} from './messages.ts';
import { BatchAttributes, isRuled, measureByAttribute } from './ruler.ts';
import { beginTask, count, monotonic, move, rest, shareLooks, signal, viewOf } from './shared.ts';
import { unchangedSince } from './unchanged.ts';
import type { Pulse } from './visit.ts';
import { walk } from './walk.ts';

const port = parentPort;
if (port === null) throw new Error('walker.ts is run as a worker thread');

// The one who starts this thread gives it nothing else.
const { shared, cacheFile } = workerData as WalkerStart;
const view = viewOf(shared);
const { signals, counts } = view;
let avoided: readonly string[] = [];
shareLooks(view, () => avoided);
const cache = gathering(
  cacheFile === null ? noCache : openCache(cacheFile, why => send({ type: 'cache fault', why })),
);

const millisecondsTogether = 50;
let pending: { id: number; result: WalkerResult }[] = [];
let sentAt = 0;

port.on('message', (request: WalkerRequest) => {
  if (request.type === 'close') {
    cache.close();
    port.close();
    return;
  }
  avoided = request.avoided;
  const last = request.tasks.at(-1);
  const attributes = new BatchAttributes(request.tasks.flatMap(({ task }) => ('unit' in task ? [task] : [])));
  for (const task of request.tasks) {
    if (isSet(signal.stop) || isSet(signal.yield)) break;
    beginTask(view);
    counts[count.since] = monotonic();
    counts[count.task] = task.id;
    // Results are handed over during a walk too, so `pending` is another one after it.
    const result = resultOf(task, request.context, attributes);
    pending.push({ id: task.id, result });
    if (task !== last) handOver();
  }
  counts[count.task] = 0;
  rest(view);
  sentAt = 0;
  // For a unit that is asked for somebody may wait; what a sweep writes is there for the next one.
  if (request.tasks.some(({ task }) => !('unit' in task))) handOver();
  cache.flush();
  handOver();
  send({ type: 'idle' });
});

function send(report: WalkerReport): void {
  port?.postMessage(report);
}

function isSet(which: number): boolean {
  return Atomics.load(signals, which) === 1;
}

function handOver(): void {
  if (pending.length === 0) return;
  const now = monotonic();
  if (now - sentAt < millisecondsTogether) return;
  send({ type: 'results', results: pending });
  pending = [];
  sentAt = now;
}

function resultOf(numbered: NumberedTask, context: ScanContext, attributes: BatchAttributes): WalkerResult {
  try {
    const { task } = numbered;
    if ('unit' in task) return measured(task, numbered, context, attributes, task.trustsSignature === true);
    let { layout } = context;
    let located = inspect(layout, task.path);
    if (located.found === 'unread') {
      // What was mounted since the layout was made is not unread.
      layout = resolveLayout(context.storages, context.exclude);
      located = inspect(layout, task.path);
    }
    if (located.found === 'unread') return { outcome: 'unread', path: located.path, error: located.error };
    if (located.found === 'none') return { outcome: 'none', layout };
    return measured(located, numbered, context, new BatchAttributes([located]), false);
  } catch (error) {
    return {
      outcome: 'failed',
      why: error instanceof Error ? (error.stack ?? error.message) : String(error),
    };
  }
}

function measured(
  task: UnitTask,
  { knownBytes }: NumberedTask,
  { exclude, measure }: ScanContext,
  attributes: BatchAttributes,
  trustsSignature: boolean,
): WalkerResult {
  const { unit, inner } = task;
  const request = { unit, inner, exclude: new Set(exclude), measure, knownBytes };
  const unchanged = trustsSignature && !isRuled(task) ? unchangedSince(request, cache, counting()) : null;
  if (unchanged !== null) return unchanged;
  const outcome = isRuled(task)
    ? measureByAttribute(request, () => attributes.of(task), cache, counting())
    : walk(request, cache, counting());
  if (outcome === null) return { outcome: 'hung', path: unit.path };
  return 'bytes' in outcome ? { ...outcome, unit, inner } : outcome;
}

/** A pulse that adds to the counts. */
function counting(): Pulse {
  const [directories = 0, files = 0, bytes = 0] = counts;
  return tally => {
    move(view);
    counts[count.directories] = directories + tally.directories;
    counts[count.files] = files + tally.files;
    counts[count.bytes] = bytes + tally.bytes;
    handOver();
    return !isSet(signal.stop);
  };
}
