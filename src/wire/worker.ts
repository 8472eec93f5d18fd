/**
 * Messages between the daemon and the git user's worker: the worker's reports, and the tasks that
 * the daemon asks for, with their answers. Times are milliseconds since 1970.
 */

import { z } from 'zod';
import { reclaimRun } from './space.ts';

const count = z.int().min(0);
const path = z.string().max(4096);
const why = z.string().max(4096);

/** The figures of a repository, new since they were reported last. */
const repositoryFigures = z.object({
  path,
  at: count,
  /** The daemon's mark that was known when measuring began; empty: none was. */
  mark: z.string().max(100).default(''),
  /** Null: it could not be measured. */
  measured: z
    .object({
      object_bytes: count,
      reachable_bytes: count,
      unreachable_bytes: count,
      /** Other repositories use its objects, also those that none of its own refs reaches. */
      lent: z.boolean().default(false),
    })
    .nullable(),
  /** Why it could not be measured or collected. */
  fault: why.nullable(),
  /** When all that is unreachable now is deleted, as the daemon asked; null: nobody knows. */
  collected_by: count.nullable().default(null),
  /** The last collection since the worker started; below 0 bytes where pushes brought more meanwhile. */
  collected: z.object({ at: count, freed_bytes: z.int(), fault: why.nullable() }).nullable(),
});

export type RepositoryFigures = z.infer<typeof repositoryFigures>;

const quarantine = z.object({ unit: path, name: path, bytes: count });

export const workerReport = z.object({
  version: z.string().max(100),
  pid: count,
  uid: z.int(),
  /** The programs of git that it can run; hooks have one of `exec_paths` in GIT_EXEC_PATH. */
  gits: z
    .array(
      z.object({
        path,
        version: z.string().max(100),
        exec_paths: z.array(path).max(2).readonly().default([]),
      }),
    )
    .max(100),
  /** Null where `[hooks] KEEP` is false. */
  hooks: z
    .object({
      repositories: count,
      /** `first` are the first of the repositories without a guard. */
      unguarded: z.object({ count, first: z.array(z.object({ path, why })).max(100) }),
    })
    .nullable(),
  /** Quarantines that were removed since the last report, and those whose receive-pack lives. */
  quarantines: z.object({
    removed: z.array(quarantine).max(1000),
    held: z.array(quarantine.extend({ since: count })).max(1000),
  }),
  repositories: z.array(repositoryFigures).max(500).readonly().default([]),
});

export type WorkerReport = z.infer<typeof workerReport>;

/** A push that is under way. `quarantine` is its name; null: the push brings no object. */
const push = {
  path: z.string(),
  quarantine: z.string().nullable(),
  /** git's lines `OLD NEW REF`. */
  lines: z.string(),
  /** Names of refs that the server hides, or what they begin with. */
  hidden: z.array(z.string()).readonly(),
  exec_path: z.string(),
};

export const workerTask = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('reclaim'), path: z.string() }),
  /** The owner has little room left: it is collected as soon as EXPIRE allows, however little it is. */
  z.object({ kind: z.literal('collect_first'), path: z.string() }),
  /** `urgent`: somebody waits for it. */
  z.object({
    kind: z.literal('space'),
    path: z.string(),
    urgent: z.boolean(),
    /** The largest LFS objects that it has alone, by the forge's database; null: they are not known. */
    lfs: z
      .array(z.object({ oid: z.string(), bytes: z.number() }))
      .nullable()
      .default(null),
  }),
  /** A refused push: whether it makes the repository smaller, or brings back what nothing reached. */
  z.object({ kind: z.literal('judge'), ...push, manner: z.enum(['any', 'less']) }),
  z.object({ kind: z.literal('brings_back'), ...push }),
  /** A judged push goes on: which of its lines were done when it has ended. `sample` is of its judgement. */
  z.object({ kind: z.literal('outcome'), ...push, sample: z.string().nullable() }),
  z.object({
    kind: z.literal('quarantine'),
    path: z.string(),
    name: z.string(),
    measure: z.enum(['apparent', 'allocated']),
  }),
  /** The files over a size in the quarantine of this name. */
  z.object({
    kind: z.literal('large_blobs'),
    path: z.string(),
    name: z.string(),
    over_bytes: count,
    deadline_ms: z.number(),
  }),
  /** The path of a file that a push brings, by the id of its content. */
  z.object({ kind: z.literal('file_path'), ...push, object: z.string(), deadline_ms: count }),
]);

export type WorkerTask = z.infer<typeof workerTask>;

/** A refused push for the worker to judge; `less`: it must not bring more bytes than it frees. */
export type JudgedPush = Omit<Extract<WorkerTask, { readonly kind: 'judge' }>, 'kind'>;

/**
 * Empty `words`: it is a push that takes nothing away. `sample` is an object that came with it, as a path
 * below `objects`; null: none that is new.
 */
const pushJudgement = z.object({
  smaller: z.boolean(),
  words: z.string().max(20_000),
  sample: z.string().nullable(),
});

export type PushJudgement = z.infer<typeof pushJudgement>;

/** Null: no commit of the push has it. `commands`: the lines to copy that take it out, by what they do. */
const filePath = z.object({
  path: z.string().max(4096).nullable(),
  commands: z
    .array(z.object({ what: z.string().max(1000), lines: z.array(z.string().max(20_000)).max(5).readonly() }))
    .max(5)
    .readonly(),
});

export type FoundFilePath = z.infer<typeof filePath>;

/** The answers to tasks; that to `space` is a `SpaceReport`. */
export const workerAnswers = {
  reclaim: reclaimRun.pick({ freed_bytes: true, unreachable_bytes: true }),
  judge: pushJudgement,
  brings_back: z.object({ brings_back: z.boolean() }),
  outcome: z.object({ kept: z.boolean() }),
  quarantine: z.object({
    id: z.string().max(200),
    bytes: count,
    has_objects: z.boolean(),
    sample: z.string().max(4096).nullable(),
  }),
  large_blobs: z.discriminatedUnion('is', [
    z.object({
      is: z.literal('seen'),
      blobs: z
        .array(z.object({ object: z.string().regex(/^[0-9a-f]{40,64}$/), bytes: count }))
        .max(100)
        .readonly(),
    }),
    z.object({ is: z.literal('unknown'), why }),
  ]),
  file_path: filePath,
} as const;
