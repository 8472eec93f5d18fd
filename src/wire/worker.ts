/**
 * Messages between the daemon and the git user's worker: the worker's reports, and the tasks that
 * the daemon asks for, with their answers. Times are milliseconds since 1970.
 */

import { z } from 'zod';
import { reclaimRun } from './space.ts';

const count = z.int().min(0);
const path = z.string().max(4096);
/** One that is too long is cut: refusing it would end the connection, again and again. */
const why = z.string().overwrite(text => text.slice(0, 4096));

/** Figures of a repository that have changed since the last report. */
const repositoryFigures = z.object({
  path,
  at: count,
  /** The daemon's mark when measuring began; empty if none was known. */
  mark: z.string().max(100).default(''),
  /** Null if it could not be measured. */
  measured: z
    .object({
      object_bytes: count,
      reachable_bytes: count,
      unreachable_bytes: count,
      /**
       * True if other repositories use its objects, possibly also those that none of its own refs reaches.
       */
      lent: z.boolean().default(false),
    })
    .nullable(),
  /** Reason why it could not be measured or collected. */
  fault: why.nullable(),
  /** Time by which all objects that are unreachable now will be deleted; null if unknown. */
  collected_by: count.nullable().default(null),
  /** Last collection since the worker started. Pushes during it can make the freed bytes negative. */
  collected: z.object({ at: count, freed_bytes: z.int(), fault: why.nullable() }).nullable(),
});

export type RepositoryFigures = z.infer<typeof repositoryFigures>;

const quarantine = z.object({ unit: path, name: path, bytes: count });

export const workerReport = z.object({
  version: z.string().max(100),
  /** The exec paths of the gits that the worker can run. A hook has one of them in GIT_EXEC_PATH. */
  exec_paths: z.array(path).max(200).readonly().default([]),
  /** Null if `[hooks] KEEP` is false. */
  hooks: z
    .object({
      repositories: count,
      /** Repositories without a guard; `first` lists some of them. */
      unguarded: z.object({ count, first: z.array(z.object({ path, why })).max(100) }),
    })
    .nullable(),
  /** Quarantines that were removed since the last report, and those of running receive-packs. */
  quarantines: z.object({
    removed: z.array(quarantine).max(1000),
    held: z.array(quarantine.extend({ since: count })).max(1000),
  }),
  repositories: z.array(repositoryFigures).max(500).readonly().default([]),
});

export type WorkerReport = z.infer<typeof workerReport>;

/** A push that is under way. `quarantine` is its name; null if the push brings no objects. */
const push = {
  path: z.string(),
  quarantine: z.string().nullable(),
  /** git's lines `OLD NEW REF`. */
  lines: z.string(),
  /** Refs, or beginnings of refs, that the server hides. */
  hidden: z.array(z.string()).readonly(),
  exec_path: z.string(),
};

export const workerTask = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('reclaim'), path: z.string() }),
  /** Collects garbage as soon as EXPIRE permits, even a little, because the owner is near the limit. */
  z.object({ kind: z.literal('collect_first'), path: z.string() }),
  /** Inspects the space in a repository. `urgent` means that somebody waits for the answer. */
  z.object({
    kind: z.literal('space'),
    path: z.string(),
    urgent: z.boolean(),
    /** The largest LFS objects that only this repository has, by the forge's database; null if unknown. */
    lfs: z
      .array(z.object({ oid: z.string(), bytes: z.number() }))
      .nullable()
      .default(null),
  }),
  /**
   * Inspects a refused push: `judge` asks if it makes the repository smaller, `brings_back` if it makes
   * unreachable data reachable again.
   */
  z.object({ kind: z.literal('judge'), ...push, manner: z.enum(['any', 'less']) }),
  z.object({ kind: z.literal('brings_back'), ...push }),
  /**
   * Watches a judged push that goes on, and answers at its end if git did all of it or nothing. `sample`
   * comes from the judgement.
   */
  z.object({ kind: z.literal('outcome'), ...push, sample: z.string().nullable() }),
  z.object({
    kind: z.literal('quarantine'),
    path: z.string(),
    name: z.string(),
    measure: z.enum(['apparent', 'allocated']),
  }),
  /** Searches a quarantine for files over a size. */
  z.object({
    kind: z.literal('large_blobs'),
    path: z.string(),
    name: z.string(),
    over_bytes: count,
    deadline_ms: z.number(),
  }),
  /** Finds the path of a pushed file by the id of its content. */
  z.object({ kind: z.literal('file_path'), ...push, object: z.string(), deadline_ms: count }),
]);

export type WorkerTask = z.infer<typeof workerTask>;

/** A refused push for the worker to judge. `less` means that it must not bring more bytes than it frees. */
export type JudgedPush = Omit<Extract<WorkerTask, { readonly kind: 'judge' }>, 'kind'>;

/**
 * A judgement. `words` are empty if the push takes nothing away. `sample` is a new object of the push, as a
 * path below `objects`; null if there is none.
 */
const pushJudgement = z.object({
  smaller: z.boolean(),
  words: z.string().max(20_000),
  sample: z.string().nullable(),
});

export type PushJudgement = z.infer<typeof pushJudgement>;

/**
 * Path of a file; null if no commit of the push has it. `commands` has lines that remove the file, by their
 * purpose.
 */
const filePath = z.object({
  path: z.string().max(4096).nullable(),
  commands: z
    .array(z.object({ what: z.string().max(1000), lines: z.array(z.string().max(20_000)).max(5).readonly() }))
    .max(5)
    .readonly(),
});

/** Answers to tasks; the answer to `space` is a `SpaceReport`. */
export const workerAnswers = {
  reclaim: reclaimRun.pick({ freed_bytes: true, unreachable_bytes: true }),
  judge: pushJudgement,
  brings_back: z.object({ brings_back: z.boolean() }),
  outcome: z.object({ kept: z.boolean() }),
  quarantine: z.object({
    id: z.string().max(200),
    bytes: count,
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
