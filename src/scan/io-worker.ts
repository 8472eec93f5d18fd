/**
 * The thread that looks at disks: it answers questions, one at a time. A disk may hang, and a thread with it;
 * whoever asks waits only as long as it wants to.
 */

import { lstatSync, readFileSync, statfsSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf, systemCode } from '../errors.ts';
import {
  beforeLook,
  type Discovered,
  decodePath,
  discover,
  encodePath,
  type Layout,
  locate,
  mountsIn,
  mountTable,
  resolveLayout,
} from '../layout/index.ts';
import { emptyCache, prepareCache } from './cache.ts';
import { deniesForce, existingNames, repositoriesAt } from './directory-names.ts';
import { fileSystemAt } from './file-system.ts';
import type {
  DiskSpace,
  IoWorkerReport,
  IoWorkerRequest,
  IoWorkerStart,
  ScanContext,
  WorkerAnswers,
  WorkerQuestion,
} from './messages.ts';
import { lookAtQuarantine, newQuarantines, quarantinesOf } from './quarantine.ts';
import { beginTask, monotonic, rest, shareLooks, viewOf } from './shared.ts';
import { walkAll } from './walker.ts';
import { watchForAMoment } from './watcher.ts';

const port = parentPort;
if (port === null) throw new Error('io-worker.ts is run as a worker thread');

// The one who starts this thread gives it nothing else.
const { shared: buffer } = workerData as IoWorkerStart;
const shared = viewOf(buffer);
let avoided: readonly string[] = [];
shareLooks(shared, () => avoided);

port.on('message', ({ question, avoided: places }: IoWorkerRequest) => {
  avoided = places;
  // A question to the cache is no look at the storage.
  if (question.ask !== 'prepare cache' && question.ask !== 'empty cache') beginTask(shared);
  try {
    send({ type: 'answer', answer: answerTo(question) });
  } catch (error) {
    send({ type: 'failed', why: messageOf(error) });
  } finally {
    rest(shared);
  }
});

function send(report: IoWorkerReport): void {
  port?.postMessage(report);
}

function answerTo(question: WorkerQuestion): WorkerAnswers[keyof WorkerAnswers] {
  switch (question.ask) {
    case 'prepare cache':
      return prepareCache(question.file);
    case 'resolve':
      return marked(resolveLayout(question.storages, question.exclude));
    case 'discover':
      return find(discover(question.layout));
    case 'absent':
      return question.paths.filter(isAbsent);
    case 'locate':
      return unitOf(question.context, question.path);
    case 'disk':
      return spaceAt(question.path);
    case 'watch':
      return watchForAMoment(question.layout, question.roots);
    case 'walk':
      return walkAll(question, shared, part => send({ type: 'part', part }));
    case 'quarantine':
      return lookAtQuarantine(question.objectsDirectory, question.name, question.measure);
    case 'quarantines':
      return quarantinesOf(question.unit, question.listed, question.measure);
    case 'new quarantines':
      return newQuarantines(question.units, question.since, question.measure);
    case 'existing names':
      return existingNames(question.unit, question.names);
    case 'denies force':
      return deniesForce(question.unit);
    case 'repositories':
      return repositoriesAt(question.paths);
    case 'empty cache':
      emptyCache(question.file);
      return null;
  }
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

function find(discovered: Iterable<Discovered>): null {
  let found: Discovered[] = [];
  let sentAt = monotonic();
  for (const one of discovered) {
    if (one.type !== 'listed') found.push(one);
    if (found.length < mostTogether && monotonic() - sentAt < millisecondsTogether) continue;
    send({ type: 'part', part: found });
    found = [];
    sentAt = monotonic();
  }
  send({ type: 'part', part: found });
  return null;
}

function unitOf(context: ScanContext, path: string): WorkerAnswers['locate'] {
  const located = locate(context.layout, path);
  const isSure = located.found === 'unit' || context.layout.roots.every(root => root.state === 'present');
  // A file system may have been mounted since the layout was made.
  return isSure ? located : locate(resolveLayout(context.storages, context.exclude), path);
}

function spaceAt(path: string): DiskSpace | null {
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
