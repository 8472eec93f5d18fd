/** Scans: ordered, and told about. Times are ISO 8601. */

import { z } from 'zod';
import { atMost, bytes, knownName, mostOf } from './bounds.ts';

const scanKinds = ['sweep', 'verify'] as const;

export const scanOrder = z
  .strictObject({
    kind: z
      .enum(scanKinds)
      .default('sweep')
      .meta({ description: '`verify` uses no cache, and reports by how much the known figures were wrong.' }),
    owners: atMost(mostOf.owners, z.array(knownName.min(1)).min(1))
      .optional()
      .meta({ description: 'Only the units of these owners; without it, all units.' }),
    accept_moved: z.boolean().default(false).meta({
      description:
        'Accept the present state of a storage root that became another file system or lost most of its units: missing units are removed.',
    }),
  })
  .meta({ id: 'ScanOrder' });

const troubledPlaces = z
  .object({
    first: z.array(z.object({ path: z.string(), why: z.string() })),
    count: z.number().int(),
  })
  .meta({ id: 'TroubledPlaces', description: 'The first of them, and how many there are.' });

export const scanReport = z
  .object({
    id: z.number().int(),
    kind: z.enum(scanKinds),
    state: z.enum(['waiting', 'running', 'done', 'stopped', 'failed']),
    started_at: z.string().nullable(),
    finished_at: z.string().nullable(),
    progress: z.object({
      units: z.number().int(),
      units_found: z
        .number()
        .int()
        .meta({ description: 'The units found so far; the number can grow while `discovering`.' }),
      discovering: z.boolean(),
      directories: z.number().int(),
      files: z.number().int(),
      bytes,
      entries_per_second: z.number(),
      bytes_per_second: z.number(),
      estimate_seconds: z.number().nullable().meta({ description: 'Null while it is not known.' }),
    }),
    unread: troubledPlaces,
    faults: troubledPlaces,
    drift: z
      .object({ units: z.number().int(), bytes })
      .nullable()
      .meta({ description: 'Only for `verify`: the difference between the known and the measured figures.' }),
    error: z.string().nullable().meta({ description: 'Why the scan failed.' }),
  })
  .meta({ id: 'Scan' });

export type ScanReport = z.infer<typeof scanReport>;
