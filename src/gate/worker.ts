/** `/v1/worker`: the git user's worker tells how it stands. Only for the record; no decision depends on it. */

import { z } from 'zod';
import { SoftquotaError } from '../errors.ts';
import type { Reply } from './answer.ts';
import { required } from './parameters.ts';
import type { Parameters } from './request.ts';
import type { GateServices, WorkerState } from './services.ts';

export const workerNested = { names: new Set(['report']), mostValues: 1000 } as const;

const count = z.int().min(0);
const path = z.string().max(4096);

const shape = z.object({
  version: z.string().max(100),
  pid: count,
  uid: z.int(),
  hooks: z
    .object({
      repositories: count,
      unguarded: z.object({
        count,
        first: z.array(z.object({ path, why: z.string().max(4096) })).max(100),
      }),
      put_back: z.object({ count, last: path.nullable() }),
    })
    .nullable(),
});

export function worker(services: GateServices, parameters: Parameters): Reply {
  services.workerReported(stateIn(required(parameters, 'report')));
  return { status: 202, json: () => ({}), text: () => 'taken\n' };
}

function stateIn(text: string): WorkerState {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw new SoftquotaError('bad_parameter', 'report is not a JSON object');
  }
  const parsed = shape.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const where = ['report', ...(issue?.path ?? [])].join('.');
    throw new SoftquotaError('bad_parameter', `${where}: ${issue?.message ?? 'not as expected'}`);
  }
  const { hooks, ...state } = parsed.data;
  if (hooks === null) return { ...state, hooks: null };
  const { put_back: putBack, ...others } = hooks;
  return { ...state, hooks: { ...others, putBack } };
}
