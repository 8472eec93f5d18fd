/** Bodies of up to 16 MiB: read on a thread, one after the other, so that nobody waits for them. */

import { Worker } from 'node:worker_threads';
import { SoftquotaError } from '../errors.ts';
import { entryUrl } from '../package.ts';
import { SerialQueue } from '../serial-queue.ts';
import { workInSlices } from '../slices.ts';
import { joined, type Part } from './parts.ts';

/** The schemas of such bodies, by the names that wire has for them. */
export type LongBodySchema = 'newWholePolicy' | 'draftPolicy';

/** A shorter body is read sooner without a thread. */
export const mostWithoutThread = 16 * 1024;

export interface LongBodyTask {
  readonly schema: LongBodySchema;
  readonly body: Uint8Array;
  readonly mostBytes: number;
}

/** The words of the error `invalid`, or the value by its schema. */
export type LongBodyAnswer = { readonly fault: string } | { readonly parts: readonly Part[] };

const bodies = new SerialQueue();

/** Gives the value by its schema. Rejects with `invalid`. */
export function readLongBody(task: LongBodyTask): Promise<unknown> {
  return bodies.run(() => readOnThread(task));
}

async function readOnThread(task: LongBodyTask): Promise<unknown> {
  const worker = new Worker(entryUrl('api/long-body-worker'), { workerData: task, name: 'body' });
  const answer = await new Promise<LongBodyAnswer>((resolve, reject) => {
    worker.once('message', resolve).once('error', reject);
    worker.once('exit', () => reject(new Error('the thread that reads a body has ended')));
  });
  if ('fault' in answer) throw new SoftquotaError('invalid', answer.fault);
  return workInSlices(joined(answer.parts));
}
