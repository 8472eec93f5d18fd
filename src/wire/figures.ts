/** Figures of all owners together, and of the past. Sizes are bytes, times ISO 8601. */

import { z } from 'zod';
import { leaves } from '../quota/index.ts';
import { bytes } from './bytes.ts';
import { scanReport } from './scans.ts';
import { usageTree } from './usage.ts';

const count = z.number().int().nonnegative();
const mode = z
  .enum(['enforce', 'report'])
  .meta({ description: '`report`: what is refused is let through all the same.' });

const disk = z
  .object({
    path: z.string().meta({ description: 'A storage root on it.' }),
    subjects: z.array(z.string()).readonly().meta({ description: 'What is stored below its roots.' }),
    size: bytes
      .nullable()
      .meta({ description: 'Null, as `free` is, where the disk did not say it in time.' }),
    free: bytes.nullable().meta({ description: 'What there is room for, without what is kept for root.' }),
  })
  .meta({ id: 'Disk', description: 'A file system of this host with storage roots.' });

export type Disk = z.infer<typeof disk>;

const refusalsOfDay = z
  .object({ day: z.string().meta({ description: 'In UTC, such as 2026-11-20.' }), count })
  .meta({ id: 'RefusalsOfDay', description: 'On all hosts that share the quota.' });

export type RefusalsOfDay = z.infer<typeof refusalsOfDay>;

export const overview = z
  .object({
    mode,
    enabled: z.boolean(),
    stale: z.boolean().meta({
      description: 'What other hosts measured, or what a program reported, may be out of date.',
    }),
    owners: z.object({
      total: count,
      over: count.meta({ description: 'Some kind of data is refused.' }),
      near: count.meta({
        description: 'Of some kind of data the lowest of WARN_AT is reached, and nothing is refused.',
      }),
    }),
    total: bytes.meta({ description: "All owners' bytes of all kinds; at most 2^53 - 1." }),
    tree: usageTree,
    disks: z.array(disk).readonly(),
    refusals: z
      .array(refusalsOfDay)
      .readonly()
      .meta({ description: 'Of the last 14 days, oldest first, as far as `[events] KEEP` goes back.' }),
    measuring: scanReport.nullable().meta({ description: 'The scan that runs.' }),
    measured_at: z.string().nullable().meta({ description: 'When the last sweep ended; null before any.' }),
  })
  .meta({ id: 'Overview', description: 'All owners together.' });

export type Overview = z.infer<typeof overview>;

export const historyRanges = ['day', 'week', 'month', 'year', 'all'] as const;

export type HistoryRange = (typeof historyRanges)[number];

const point = z
  .object({
    at: z.string(),
    bytes: z.array(bytes).readonly().meta({ description: 'In the order of `leaves`.' }),
  })
  .meta({ id: 'HistoryPoint' });

const growth = z
  .object({
    per_day: bytes.meta({ description: 'What is added a day, or below 0 goes.' }),
    since: z.string().meta({ description: 'The first of the points that it follows from.' }),
    used: bytes.nullable().meta({ description: 'What the rule counts that decides about `size:all`.' }),
    limit: bytes.nullable().meta({ description: 'Its limit; -1: unlimited. Null, as `used`, without any.' }),
    reached_at: z.string().nullable().meta({
      description: 'When the limit is reached at this growth; null: not within ten years, or it is already.',
    }),
  })
  .meta({ id: 'Growth', description: 'Of what is counted by the rule that decides about `size:all`.' });

export type Growth = z.infer<typeof growth>;

export const history = z
  .object({
    leaves: z.array(z.enum(leaves)).readonly(),
    points: z.array(point).readonly().meta({ description: 'Oldest first.' }),
    kept: z.object({ hourly_days: count, daily_days: count }),
    growth: growth.nullable().meta({ description: 'Null before there are points of two days.' }),
  })
  .meta({ id: 'History', description: 'Usage as it was: by the hour for a day or a week, else by the day.' });

export type History = z.infer<typeof history>;
