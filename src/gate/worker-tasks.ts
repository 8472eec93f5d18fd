/**
 * `/v1/worker/tasks`, `/v1/worker/results` and `/v1/worker/lfs`: what the worker is to do, what came of it, and
 * what it has to know for it.
 */

import { z } from 'zod';
import { SoftquotaError } from '../errors.ts';
import type { Reply } from './answer.ts';
import { required } from './parameters.ts';
import type { Parameters } from './request.ts';
import type { GateServices, TaskOutcome } from './services.ts';
import { jsonIn } from './worker.ts';

export const resultNested = { names: new Set(['outcome']), mostValues: 5000 } as const;
export const longestResultBytes = 1024 * 1024;

const longestWaitSeconds = 25;

const outcome = z.union([
  z.object({ fault: z.string().max(4096) }),
  z.object({ result: z.record(z.string(), z.unknown()) }),
]);

/** Waits until there is something to do, as long as `wait` says at the most. */
export async function workerTasks(services: GateServices, parameters: Parameters): Promise<Reply> {
  const wait = parameters.get('wait') ?? '0';
  if (!/^\d{1,2}$/.test(wait) || Number(wait) > longestWaitSeconds) {
    throw new SoftquotaError(
      'bad_parameter',
      `wait: expected seconds, from 0 to ${longestWaitSeconds}, instead of ${JSON.stringify(wait)}`,
    );
  }
  const found = await services.worker.tasks(Number(wait) * 1000, parameters.get('worker') ?? '');
  return { status: 200, json: () => found, text: () => '' };
}

/** The LFS objects of the repository at a path, for the worker cannot see whose they are in a shared store. */
export async function workerLfs(services: GateServices, parameters: Parameters): Promise<Reply> {
  const objects = await services.worker.lfsObjects(required(parameters, 'path'));
  return { status: 200, json: () => ({ objects }), text: () => '' };
}

export function workerResult(services: GateServices, parameters: Parameters): Reply {
  const id = required(parameters, 'id');
  const given = jsonIn('outcome', required(parameters, 'outcome'), outcome);
  const taken: TaskOutcome =
    'fault' in given ? { is: 'fault', why: given.fault } : { is: 'done', result: given.result };
  if (!services.worker.ended(id, taken)) {
    throw new SoftquotaError('not_found', 'nobody waits for this task any more');
  }
  return { status: 202, json: () => ({}), text: () => 'taken\n' };
}
