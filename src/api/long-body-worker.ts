/** Thread that parses a long JSON body and checks it against its schema. */

import { parentPort, workerData } from 'node:worker_threads';
import { SoftquotaError } from '../errors.ts';
import { draftPolicy, newWholePolicy } from '../wire/index.ts';
import { jsonInBody, type LongBodyAnswer, type LongBodyTask, longBytes, partsOf } from './body.ts';
import { parsed } from './route.ts';

const schemas = { newWholePolicy, draftPolicy } as const;

// Only `readOnThread` starts this module.
parentPort?.postMessage(answerTo(workerData as LongBodyTask));

function answerTo({ schema, body }: LongBodyTask): LongBodyAnswer {
  try {
    const read = parsed({ body: schemas[schema] }, { body: jsonInBody(body, longBytes) });
    return { parts: partsOf(read.body) };
  } catch (error) {
    if (error instanceof SoftquotaError && error.code === 'invalid') return { fault: error.message };
    throw error;
  }
}
