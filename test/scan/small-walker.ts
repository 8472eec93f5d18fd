/** A thread that walks the directory that it is given as a unit, and says what that came to. */

import { parentPort, workerData } from 'node:worker_threads';
import { unitAt, walked } from './world.ts';

// The test gives it a path, and nothing else.
parentPort?.postMessage(walked(unitAt(workerData as string)));
