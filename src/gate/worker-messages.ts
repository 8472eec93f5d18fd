/** The messages of the git user's worker, each a line of JSON with one field that names its kind. */

import { z } from 'zod';
import { SoftquotaError } from '../errors.ts';
import type { ReportedRepository, WorkerState } from './services.ts';

const count = z.int().min(0);
const path = z.string().max(4096);
const why = z.string().max(4096);
const id = z.string().max(100);

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

const report = z.object({
  version: z.string().max(100),
  pid: count,
  uid: z.int(),
  gits: z
    .array(z.object({ path, version: z.string().max(100), exec_paths: z.array(path).max(2).default([]) }))
    .max(100),
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
  quarantines: z.object({
    removed: z.array(z.object({ unit: path, name: path, bytes: count })).max(1000),
    held: z.array(z.object({ unit: path, name: path, bytes: count, since: count })).max(1000),
  }),
  repositories: z.array(repository).max(500).default([]),
});

const messages = {
  report,
  result: z.object({ id, value: z.record(z.string(), z.unknown()) }),
  fault: z.object({ id, why }),
  lfs: z.object({ id, path }),
} as const;

export type WorkerMessage =
  | { readonly is: 'report'; readonly state: WorkerState }
  | { readonly is: 'result'; readonly id: string; readonly value: Readonly<Record<string, unknown>> }
  | { readonly is: 'fault'; readonly id: string; readonly why: string }
  | { readonly is: 'lfs'; readonly id: string; readonly path: string };

/** Throws `bad_parameter` where it is none. */
export function workerMessage(line: string): WorkerMessage {
  const [kind, given] = fieldIn(line);
  switch (kind) {
    case 'report':
      return { is: 'report', state: stateIn(parsed(kind, messages.report, given)) };
    case 'result':
      return { is: 'result', ...parsed(kind, messages.result, given) };
    case 'fault':
      return { is: 'fault', ...parsed(kind, messages.fault, given) };
    case 'lfs':
      return { is: 'lfs', ...parsed(kind, messages.lfs, given) };
    default:
      throw new SoftquotaError('bad_parameter', `a message that is not known here: ${kind.slice(0, 100)}`);
  }
}

function fieldIn(line: string): readonly [string, unknown] {
  let whole: unknown;
  try {
    whole = JSON.parse(line);
  } catch {
    throw new SoftquotaError('bad_parameter', 'a line that is not JSON');
  }
  const [field] = typeof whole === 'object' && whole !== null ? Object.entries(whole) : [];
  return field ?? ['', null];
}

function parsed<Output>(kind: string, schema: z.ZodType<Output>, given: unknown): Output {
  const found = schema.safeParse(given);
  if (found.success) return found.data;
  const [issue] = found.error.issues;
  const where = [kind, ...(issue?.path ?? [])].join('.');
  throw new SoftquotaError('bad_parameter', `${where}: ${issue?.message ?? 'not as expected'}`);
}

function stateIn({ hooks, repositories, gits: found, ...others }: z.output<typeof report>): WorkerState {
  const figures = repositories.map(figuresIn);
  const gits = found.map(({ exec_paths: execPaths, ...git }) => ({ ...git, execPaths }));
  const state = { ...others, gits };
  if (hooks === null) return { ...state, hooks: null, repositories: figures };
  const { put_back: putBack, ...ofHooks } = hooks;
  return { ...state, hooks: { ...ofHooks, putBack }, repositories: figures };
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
