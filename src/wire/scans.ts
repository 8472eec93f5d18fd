/** Scans: ordered, and told about. Times are ISO 8601. */

import { z } from 'zod';
import { knownName, mostOf } from './bounds.ts';
import { bytes } from './bytes.ts';

export const scanKinds = ['sweep', 'verify'] as const;

export const scanOrder = z
  .strictObject({
    kind: z
      .enum(scanKinds)
      .default('sweep')
      .meta({ description: '`verify` trusts no cache, and tells how far off what was known was.' }),
    owners: z
      .array(knownName.min(1))
      .min(1)
      .max(mostOf.owners)
      .optional()
      .meta({ description: 'Only theirs; all without it.' }),
    accept_moved: z.boolean().default(false).meta({
      description:
        'What lies at a storage root now is meant, though it is another file system or lacks most of its units: what is not there is dropped.',
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
      units_found: z.number().int().meta({ description: 'So far: more may be found while `discovering`.' }),
      discovering: z.boolean(),
      directories: z.number().int(),
      files: z.number().int(),
      bytes,
      entries_per_second: z.number(),
      bytes_per_second: z.number(),
      estimate_seconds: z.number().nullable().meta({ description: 'Null where nobody can tell yet.' }),
    }),
    unread: troubledPlaces,
    faults: troubledPlaces,
    held: troubledPlaces.meta({
      description:
        'Units of which not all counts yet: git may be holding some of it twice. What is certain counts; `why` says ' +
        'how much does not.',
    }),
    drift: z
      .object({ units: z.number().int(), bytes })
      .nullable()
      .meta({ description: 'Of a `verify`: how far what was known was from what was found.' }),
    error: z.string().nullable().meta({ description: 'Why it failed.' }),
  })
  .meta({ id: 'Scan' });

export type ScanReport = z.infer<typeof scanReport>;
