/** Figures of all owners together, and their history. Sizes are bytes, times ISO 8601. */

import { z } from 'zod';
import { leaves } from '../quota/index.ts';
import { bytes, component, names } from './bounds.ts';
import { scanReport } from './operation.ts';
import { usageTree } from './usage.ts';

const count = z.number().int().nonnegative();
const mode = z
  .enum(['enforce', 'report'])
  .meta({ description: '`report`: refused actions are allowed nevertheless.' });

const disk = component('Disk', 'A file system of this host with storage roots.', {
  path: z.string().meta({ description: 'A storage root on the file system.' }),
  subjects: names.meta({ description: 'The kinds of storage below its roots.' }),
  size: bytes.nullable().meta({ description: 'Null, like `free`, if the disk did not answer in time.' }),
  free: bytes.nullable().meta({ description: 'The free bytes, without those reserved for root.' }),
  state: z.enum(['ok', 'low', 'full']).meta({
    description:
      'By `[disk]`: `full` below MIN_FREE, where all that grows is refused; `low` below twice that.',
  }),
});

const refusalsOfDay = z
  .object({ day: z.string().meta({ description: 'In UTC, such as 2026-11-20.' }), count })
  .meta({ id: 'RefusalsOfDay', description: 'On all hosts that share the quota.' });

const unownedKind = component('UnownedKind', 'Stored data of which nobody is the owner.', {
  kind: z.string().meta({ description: 'Such as `lfs_orphaned` or `directories_without_owner`.' }),
  what: z.string().meta({ description: 'For people: what it is.' }),
  count,
  bytes,
  mend: z
    .string()
    .meta({ description: 'What of it can be deleted safely, and how: a sentence or a command.' }),
});

export const overview = component('Overview', 'All owners together.', {
  mode,
  enabled: z.boolean(),
  stale: z.boolean(),
  owners: z.object({
    total: count,
    over: count.meta({ description: 'Some kind of data is refused.' }),
    grace: count.meta({
      description: 'A limit is passed for some kind of data, and its grace lets that through.',
    }),
    near: count.meta({
      description:
        'For some kind of data the lowest threshold of WARN_AT is reached, and nothing is refused.',
    }),
  }),
  everybody: z
    .object({
      groups: names.meta({ description: '`[quota] DEFAULT_GROUPS`.' }),
      total: z.number().meta({ description: 'Bytes for each owner where no group decides; -1: unlimited.' }),
    })
    .meta({ description: 'What holds for owners who are in no group.' }),
  total: bytes.meta({ description: 'The bytes of all owners and kinds of data; at most 2^53 - 1.' }),
  tree: usageTree,
  nobody: z.object({ bytes, kinds: z.array(unownedKind).readonly() }).meta({
    description:
      "What is stored and has no owner, as far as this host's directories and the forge's database tell: it is in nobody's usage and not in `total`.",
  }),
  disks: z.array(disk).readonly(),
  outlook: z
    .object({
      promised: bytes.meta({ description: 'The sum of the limits that owners have for everything.' }),
      unlimited: count.meta({ description: 'The number of owners without such a limit.' }),
      size: bytes.meta({ description: 'The sum of the sizes of the disks.' }),
      free: bytes.meta({ description: 'The sum of their free bytes.' }),
      full_at: z.string().nullable().meta({
        description:
          'When nothing is free any more at the growth of the last weeks; null if not within ten years, or if that is not known.',
      }),
    })
    .meta({ description: 'What the limits promise beside what the disks have.' }),
  quarantines: z
    .object({
      bytes,
      oldest_seconds: z
        .number()
        .nullable()
        .meta({ description: 'The age of the oldest; null if there is none.' }),
    })
    .meta({
      description:
        'What is in quarantines that belong to no known push, such as those of uploads that were broken off; it is part of the usage of their owners.',
    }),
  refusals: z.array(refusalsOfDay).readonly().meta({
    description: 'The refusals of the last 14 days, oldest first, as far as `[events] KEEP` goes back.',
  }),
  open_requests: count.meta({ description: 'The requests for more space that wait for an answer.' }),
  worker: z
    .object({
      running: z.boolean().meta({ description: 'Whether it is connected.' }),
      version: z.string().nullable().meta({ description: 'Of its last report; null if there was none.' }),
    })
    .meta({ description: "The git user's worker on this host." }),
  measuring: scanReport.nullable().meta({ description: 'The running scan.' }),
  measured_at: z
    .string()
    .nullable()
    .meta({ description: 'The end of the last sweep; null if there was none.' }),
});

export type Overview = z.infer<typeof overview>;

export const historyRanges = ['day', 'week', 'month', 'year', 'all'] as const;

export type HistoryRange = (typeof historyRanges)[number];

const point = component('HistoryPoint', {
  at: z.string(),
  bytes: z.array(bytes).readonly().meta({ description: 'In the order of `leaves`.' }),
});

const growth = component('Growth', 'The growth of the usage by the rule that decides about `size:all`.', {
  per_day: bytes.meta({ description: 'The bytes that are added per day; negative if usage falls.' }),
  since: z.string().meta({ description: 'The first of the points from which the growth is calculated.' }),
  used: bytes.nullable().meta({ description: 'The usage by the rule that decides about `size:all`.' }),
  limit: bytes
    .nullable()
    .meta({ description: 'The limit of that rule; -1: unlimited. Null, like `used`, if no rule decides.' }),
  reached_at: z.string().nullable().meta({
    description:
      'When the limit will be reached at this growth; null if not within ten years, or if it is reached already.',
  }),
});

export type Growth = z.infer<typeof growth>;

export const history = z
  .object({
    leaves: z.array(z.enum(leaves)).readonly(),
    points: z.array(point).readonly().meta({ description: 'Oldest first.' }),
    kept: z.object({ hourly_days: count, daily_days: count }),
    growth: growth.nullable().meta({ description: 'Null until there are points of two days.' }),
  })
  .meta({
    id: 'History',
    description: 'The usage history: hourly points for a day or a week, else daily points.',
  });

export type History = z.infer<typeof history>;
