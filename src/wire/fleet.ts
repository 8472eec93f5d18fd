/** Hosts that share a quota, and the store that they share. Times are ISO 8601. */

import { z } from 'zod';
import { bytes } from './bounds.ts';

export const fleetHost = z
  .object({
    id: z.string().meta({ description: 'Its `[server] HOST_ID`.' }),
    alive: z.boolean().meta({ description: 'True if its daemon is running, as far as the store knows.' }),
    seen_at: z.string(),
    silent_seconds: z
      .number()
      .int()
      .meta({ description: 'The seconds since the host last sent something; 0 while it is alive.' }),
    version: z.string().meta({ description: 'The version of softquota that ran last on the host.' }),
    walks: z.array(z.string()).meta({
      description: 'The directories that this host walks for others, too, such as `nas:/export/git`.',
    }),
    owners: z.number().int().meta({ description: 'The number of owners with data on this host.' }),
    bytes,
  })
  .meta({ id: 'Host' });

export type FleetHost = z.infer<typeof fleetHost>;

export const sharedStore = z
  .object({
    away_since: z.string().nullable().meta({ description: 'Null while the store answers.' }),
    reason: z.string().nullable(),
    divergence: z
      .object({ why: z.enum(['older', 'another']), message: z.string() })
      .nullable()
      .meta({ description: 'Why the policy in the store is not in force on this host; null if it is.' }),
  })
  .meta({ id: 'SharedStore' });

export type SharedStore = z.infer<typeof sharedStore>;

export const repairOrder = z
  .strictObject({
    policy: z.enum(['known', 'stored']).meta({
      description:
        '`known`: the policy in force on this host is written to the store. `stored`: the policy in the store comes into force.',
    }),
  })
  .meta({ id: 'RepairOrder' });
