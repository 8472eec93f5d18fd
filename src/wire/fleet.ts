/** Hosts that share a quota, and the store that they share. Times are ISO 8601. */

import { z } from 'zod';
import { bytes } from './bytes.ts';

export const fleetHost = z
  .object({
    id: z.string().meta({ description: 'Its `[server] HOST_ID`.' }),
    alive: z.boolean().meta({ description: 'Whether its daemon runs, as far as the store can tell.' }),
    seen_at: z.string(),
    silent_seconds: z
      .number()
      .int()
      .meta({ description: 'How long it has not been heard of; 0 while it is alive.' }),
    version: z.string().meta({ description: 'Of the softquota that ran there last.' }),
    walks: z.array(z.string()).meta({
      description: 'What it walks of what several hosts mount, by the names in `[storage.*] SHARED`.',
    }),
    owners: z.number().int().meta({ description: 'How many store something there.' }),
    bytes,
  })
  .meta({ id: 'Host' });

export type FleetHost = z.infer<typeof fleetHost>;

export const sharedStore = z
  .object({
    away_since: z.string().nullable().meta({ description: 'Null while it answers.' }),
    reason: z.string().nullable(),
    divergence: z
      .object({ why: z.enum(['emptied', 'older', 'another']), message: z.string() })
      .nullable()
      .meta({ description: 'Why its policy is not in force here; null: it is.' }),
  })
  .meta({ id: 'SharedStore' });

export type SharedStore = z.infer<typeof sharedStore>;

export const copyOrder = z
  .strictObject({
    verify: z.boolean().optional().meta({ description: 'Whether all of it is read back, and compared.' }),
  })
  .meta({ id: 'CopyOrder' });

const count = z.number().int().nonnegative();

export const copiedTo = z
  .object({
    owners: count,
    policy: count.meta({ description: 'Rules, groups, assignments, users, tokens.' }),
    events: count,
    verified: z.boolean().meta({ description: 'Whether all of it was read back, and was the same.' }),
  })
  .meta({ id: 'CopiedTo' });

export type CopiedTo = z.infer<typeof copiedTo>;

export const repairOrder = z
  .strictObject({
    policy: z.enum(['known', 'stored']).meta({
      description:
        '`known`: the policy in force here is put into the store. `stored`: that of the store comes into force.',
    }),
  })
  .meta({ id: 'RepairOrder' });
