/**
 * The shapes that the administrator's API answers with, as schemas: the daemon's types come from them,
 * and the commands read answers by them. Sizes are bytes, times ISO 8601.
 */

import { z } from 'zod';

const bytes = z.number().int();

export const usageTree = z.object({
  size: z.object({
    repos: z.object({ public: bytes, private: bytes }),
    git: z.object({ LFS: bytes }),
    assets: z.object({
      attachments: z.object({ issues: bytes, releases: bytes }),
      artifacts: bytes,
      packages: z.object({ all: bytes }),
      wiki: bytes,
    }),
  }),
});

/** What a decision says in short. `limit` is -1 where nothing is limited; all null where no rule covers. */
const verdict = z.object({
  allowed: z.boolean(),
  used: bytes.nullable(),
  limit: bytes.nullable(),
  group: z.string().nullable(),
  rule: z.string().nullable(),
});

/** One owner in a list, with the decision about `size:all`. */
export const ownerRow = verdict.extend({
  name: z.string(),
  type: z.enum(['user', 'organization']),
  tree: usageTree,
  /** All leaves together. */
  total: bytes,
  /** `used` in percent of `limit`, rounded down; null without a limit. */
  percent: z.number().nullable(),
  /** Null where nothing was measured. */
  measuredAt: z.string().nullable(),
  partial: z.boolean(),
  stale: z.boolean(),
});

export type OwnerRow = z.infer<typeof ownerRow>;

export const unitRow = z.object({
  /** The path of a walked unit, the name of a reported one. */
  name: z.string(),
  kind: z.enum(['walked', 'reported']),
  subject: z.string(),
  bytes,
  files: z.number().int(),
  partial: z.boolean(),
  measuredAt: z.string(),
});

export type UnitRow = z.infer<typeof unitRow>;

/** One owner with all there is to say; units largest first. */
export const ownerReport = ownerRow.extend({
  known: z.boolean(),
  units: z.array(unitRow),
  decisions: z.record(z.string(), verdict),
});

export type OwnerReport = z.infer<typeof ownerReport>;

export const scanKinds = ['sweep', 'verify'] as const;

const troubledPlaces = z.object({
  first: z.array(z.object({ path: z.string(), why: z.string() })),
  count: z.number().int(),
});

export const scanReport = z.object({
  id: z.number().int(),
  kind: z.enum(scanKinds),
  state: z.enum(['waiting', 'running', 'done', 'stopped', 'failed']),
  startedAt: z.string().nullable(),
  finishedAt: z.string().nullable(),
  progress: z.object({
    units: z.number().int(),
    /** So far: more may be found while `discovering`. */
    unitsFound: z.number().int(),
    discovering: z.boolean(),
    directories: z.number().int(),
    files: z.number().int(),
    bytes,
    entriesPerSecond: z.number(),
    /** Null where nobody can tell yet. */
    estimateSeconds: z.number().nullable(),
  }),
  unread: troubledPlaces,
  faults: troubledPlaces,
  /** Of a `verify`: how far what was known was from what was found. */
  drift: z.object({ units: z.number().int(), bytes }).nullable(),
  /** Why it failed. */
  error: z.string().nullable(),
});

export type ScanReport = z.infer<typeof scanReport>;

export const finding = z.object({
  code: z.string(),
  /** `wrong` has to be mended; a `notice` may be meant. */
  severity: z.enum(['wrong', 'notice']),
  /** One line; names in it are harmless on a terminal. */
  message: z.string(),
  /** What to do, a command where there is one. */
  mend: z.string(),
});

export type Finding = z.infer<typeof finding>;

export const versionReport = z.object({ version: z.string() });
