/**
 * `/v1/worker`: the git user's worker tells how it stands, and what of repositories is reachable. Where
 * GARBAGE = forgive, decisions depend on the latter, so only the trusted socket takes it.
 */

import { z } from 'zod';
import { SoftquotaError } from '../errors.ts';
import type { Reply } from './answer.ts';
import { required } from './parameters.ts';
import type { Parameters } from './request.ts';
import type { GateServices, ReportedRepository, WorkerState } from './services.ts';

export const workerNested = { names: new Set(['report']), mostValues: 5000 } as const;

const count = z.int().min(0);
const path = z.string().max(4096);
const why = z.string().max(4096);

const repository = z.object({
  path,
  at: count,
  mark: z.string().max(100).default(''),
  measured: z
    .object({
      object_bytes: count,
      reachable_bytes: count,
      unreachable_bytes: count,
      lent: z.boolean().default(false),
    })
    .nullable(),
  fault: why.nullable(),
  collected: z.object({ at: count, freed_bytes: z.int(), fault: why.nullable() }).nullable(),
});

const shape = z.object({
  version: z.string().max(100),
  pid: count,
  uid: z.int(),
  hooks: z
    .object({
      repositories: count,
      unguarded: z.object({
        count,
        first: z.array(z.object({ path, why })).max(100),
      }),
      put_back: z.object({ count, last: path.nullable() }),
    })
    .nullable(),
  repositories: z.array(repository).max(500).default([]),
});

/**
 * `daemon` in the answer is another after each start of the daemon, which then wants all repositories again.
 */
export function worker(services: GateServices, parameters: Parameters): Reply {
  const daemon = services.worker.reported(stateIn(required(parameters, 'report')));
  return { status: 202, json: () => ({ daemon }), text: () => 'taken\n' };
}

function stateIn(text: string): WorkerState {
  const { hooks, repositories, ...state } = jsonIn('report', text, shape);
  const figures = repositories.map(figuresIn);
  if (hooks === null) return { ...state, hooks: null, repositories: figures };
  const { put_back: putBack, ...others } = hooks;
  return { ...state, hooks: { ...others, putBack }, repositories: figures };
}

function figuresIn({ measured, collected, ...figures }: z.output<typeof repository>): ReportedRepository {
  return {
    ...figures,
    measured: measured && {
      objectBytes: measured.object_bytes,
      reachableBytes: measured.reachable_bytes,
      unreachableBytes: measured.unreachable_bytes,
      isLent: measured.lent,
    },
    collected: collected && {
      at: collected.at,
      freedBytes: collected.freed_bytes,
      fault: collected.fault,
    },
  };
}

/** A parameter that is JSON of this shape; throws `bad_parameter`. */
export function jsonIn<Output>(name: string, text: string, schema: z.ZodType<Output>): Output {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw new SoftquotaError('bad_parameter', `${name} is not a JSON object`);
  }
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const where = [name, ...(issue?.path ?? [])].join('.');
  throw new SoftquotaError('bad_parameter', `${where}: ${issue?.message ?? 'not as expected'}`);
}
