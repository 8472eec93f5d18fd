/** Reports of the daemon about itself, its scans, and the hosts that share a quota. Times are ISO 8601. */

import { z } from 'zod';
import { atMost, bytes, component, knownName, mostOf, strictComponent } from './bounds.ts';

export const finding = component('Finding', {
  code: z.string(),
  severity: z
    .enum(['wrong', 'notice'])
    .meta({ description: '`wrong` has to be fixed; a `notice` may be intended.' }),
  message: z.string().meta({ description: 'One line, without control characters.' }),
  mend: z.string().meta({ description: 'The fix: a command, if there is one, or a text.' }),
});

export type Finding = z.infer<typeof finding>;

export const versionReport = z.object({ version: z.string() }).meta({ id: 'Version' });

export const fault = component('Fault', {
  message: z.string().meta({ description: 'The error, with the name of every wrong field.' }),
  code: z
    .string()
    .meta({ description: 'The kind of error, which stays the same; docs/errors.md has the list.' }),
  url: z.string().meta({ description: 'The description of this API.' }),
});

export type Fault = z.infer<typeof fault>;

const scanKinds = ['sweep', 'verify'] as const;

export const scanOrder = strictComponent('ScanOrder', {
  kind: z
    .enum(scanKinds)
    .default('sweep')
    .meta({ description: '`verify` uses no cache, and reports by how much the known figures were wrong.' }),
  owners: atMost(mostOf.owners, z.array(knownName.min(1)).min(1))
    .optional()
    .meta({ description: 'Only the units of these owners; without it, all units.' }),
  accept_moved: z.boolean().default(false).meta({
    description:
      'Accept the present state of a storage root that became another file system or lost most of its units, of a forge that lost most of its rows or owners, and of keys that app.ini lacks: what is missing, and units without storage, are removed.',
  }),
});

const troubledPlaces = component('TroubledPlaces', 'The first of them, and how many there are.', {
  first: z.array(z.object({ path: z.string(), why: z.string() })),
  count: z.number().int(),
});

export const scanReport = component('Scan', {
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
  unmeasured: z
    .number()
    .int()
    .meta({ description: 'The units that nothing could be read of, so that they count 0 bytes.' }),
  drift: z
    .object({ units: z.number().int(), bytes })
    .nullable()
    .meta({ description: 'Only for `verify`: the difference between the known and the measured figures.' }),
  error: z.string().nullable().meta({ description: 'Why the scan failed.' }),
});

export type ScanReport = z.infer<typeof scanReport>;

export const fleetHost = component('Host', {
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
});

export type FleetHost = z.infer<typeof fleetHost>;

export const sharedStore = component('SharedStore', {
  away_since: z.string().nullable().meta({ description: 'Null while the store answers.' }),
  reason: z.string().nullable(),
  divergence: z
    .object({ why: z.enum(['older', 'another']), message: z.string() })
    .nullable()
    .meta({ description: 'Why the policy in the store is not in force on this host; null if it is.' }),
});

export type SharedStore = z.infer<typeof sharedStore>;

export const repairOrder = strictComponent('RepairOrder', {
  policy: z.enum(['known', 'stored']).meta({
    description:
      '`known`: the policy in force on this host is written to the store. `stored`: the policy in the store comes into force.',
  }),
});
