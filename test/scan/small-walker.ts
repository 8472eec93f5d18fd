/** A thread that walks the directory that it is given as a unit, and says what that came to. */

import { parentPort, workerData } from 'node:worker_threads';
import { Cache } from '../../src/scan/signature.ts';
import { walk } from '../../src/scan/walk.ts';
import { unitAt } from './world.ts';

// The test gives it a path, and nothing else.
const unit = unitAt(workerData as string);
const request = {
  unit,
  inner: [],
  exclude: new Set<string>(),
  measure: 'apparent',
  knownBytes: null,
} as const;
parentPort?.postMessage(walk(request, new Cache(null), () => {}));
