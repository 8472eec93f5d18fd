/** Usage of owners, and their limits. Sizes are bytes, times ISO 8601. */

import { z } from 'zod';
import { given } from '../given.ts';
import {
  type ActiveAllowance,
  type BoundDetails,
  type Decision,
  type DiskFull,
  type Grace,
  ruleScopes,
  subjects,
} from '../quota/index.ts';
import { isoTime } from '../text.ts';
import { bytes, component } from './bounds.ts';
import { allowance, unreachableGarbage } from './requests.ts';

const addedAllowance = z
  .object({
    bytes,
    count: z.number().int().meta({ description: 'How many allowances there are.' }),
    until: z.string().meta({ description: 'When the first of them ends.' }),
  })
  .meta({
    id: 'AddedAllowance',
    description: 'The part of a limit that allowances add, which is for a time.',
  });

const grace = z
  .object({
    until: z.string().meta({ description: 'When refusals begin, or when they began.' }),
    below: bytes.meta({ description: 'Usage from which on it is refused whatever the time is.' }),
  })
  .meta({
    id: 'Grace',
    description: 'A limit is passed, and has a grace. Where the action may start, it still runs.',
  });

const bound = {
  per: z.enum(ruleScopes).meta({ description: 'The thing that the deciding rule limits.' }),
  share: bytes.optional().meta({ description: 'Bytes of the owner among those of a group.' }),
  unit: z.string().optional().meta({ description: 'The repository that is limited.' }),
  file: z
    .string()
    .optional()
    .meta({ description: 'The path or the name of the file that is limited, where it is known.' }),
  object: z.string().optional().meta({ description: 'The id of the object with its content.' }),
};

type Bound = z.infer<z.ZodObject<typeof bound>>;

const passedLimit = component('Reported', 'The refusal that a rule would cause if it were in force.', {
  ...bound,
  used: bytes.nullable(),
  limit: bytes.nullable(),
  group: z.string().nullable(),
  rule: z.string().nullable(),
});

export const usageTree = component('UsageTree', 'Bytes by kind.', {
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

export const ownerType = z.enum(['user', 'organization']);

export const verdict = component('Verdict', {
  ...bound,
  allowed: z.boolean().meta({ description: 'True if an action that adds data of this kind may start.' }),
  used: bytes.nullable().meta({
    description:
      'The usage by the deciding rule; of a push or a file what comes; null if no rule covers the subject.',
  }),
  limit: bytes.nullable().meta({
    description: '-1 if unlimited; null if no rule covers the subject. Allowances are added to it.',
  }),
  allowance: addedAllowance
    .optional()
    .meta({ description: 'The part of `limit` that allowances add; left out if they add nothing.' }),
  garbage: unreachableGarbage
    .optional()
    .meta({ description: 'What of it does not count; left out if all counts.' }),
  grace: grace.optional().meta({ description: 'Left out unless the limit is passed and has one.' }),
  reported: passedLimit.optional().meta({
    description: 'The refusal that rules in report mode would cause; left out where there is none.',
  }),
  warned: passedLimit.optional().meta({
    description: 'The limit that is passed and only warns; left out where there is none.',
  }),
  group: z.string().nullable().meta({ description: 'The deciding group; null for the built-in one.' }),
  rule: z.string().nullable().meta({ description: 'The deciding rule; null for the built-in one.' }),
});

export type Verdict = z.infer<typeof verdict>;

export function verdictShown(decision: Decision | DiskFull): Verdict {
  const { allowed, used, limit, group, rule, garbage, reported, warned } = decision;
  return {
    allowed,
    used,
    limit,
    group,
    rule,
    ...boundShown(decision),
    ...withEnds(decision.allowance, decision.grace),
    ...(garbage === undefined ? {} : { garbage }),
    ...(reported === undefined ? {} : { reported: passedBy(reported) }),
    ...(warned === undefined ? {} : { warned: passedBy(warned) }),
  };
}

function passedBy(decision: Decision): z.infer<typeof passedLimit> {
  const { used, limit, group, rule } = decision;
  return { used, limit, group, rule, ...boundShown(decision) };
}

/** Returns the details of the thing that a rule limits. */
export function boundShown(details: Partial<BoundDetails>): Bound {
  const { per, share, unit, file: { name: file, object } = {} } = details;
  // A fast path, since most limits are of owners, and each check calls this.
  if (per === undefined) return { per: 'owner' };
  return { per, ...given({ share, unit, file, object }) };
}

/** Returns the part of a limit from allowances and its grace, as far as they exist. */
export function withEnds(
  allowance: ActiveAllowance | undefined,
  grace: Grace | undefined,
): Pick<Verdict, 'allowance' | 'grace'> {
  return {
    ...(allowance === undefined ? {} : { allowance: { ...allowance, until: isoTime(allowance.until) } }),
    ...(grace === undefined ? {} : { grace: { until: isoTime(grace.until), below: grace.below } }),
  };
}

export const ownerState = z.enum(['over', 'grace', 'near', 'ok']);

export type OwnerState = z.infer<typeof ownerState>;

export const ownerRow = verdict
  .extend({
    name: z.string(),
    state: ownerState.meta({
      description:
        '`over`: some kind of data is refused by a limit; `grace`: a limit is passed, and its grace lets that through; `near`: the lowest threshold of WARN_AT is reached for some kind, or a limit that only warns is passed; `ok`: neither.',
    }),
    subject: z.enum(subjects).meta({
      description:
        'The kind of data in the worst state, which the decision is about, with all that the deciding limit counts together with it.',
    }),
    type: ownerType,
    tree: usageTree,
    total: bytes.meta({ description: 'The sum of all kinds of data.' }),
    percent: z
      .number()
      .nullable()
      .meta({ description: '`used` in percent of `limit`, rounded down; null without a limit.' }),
    measured_at: z.string().nullable().meta({ description: 'Null if nothing was measured.' }),
    partial: z.boolean().meta({ description: 'Some data could not be read; its last known bytes count.' }),
    stale: z.boolean(),
  })
  .meta({
    id: 'OwnerRow',
    description: 'One owner in a list, with its state: that of the kind of data in the worst one.',
  });

export type OwnerRow = z.infer<typeof ownerRow>;

/** Kinds of entries that `GET /admin/quota/usage` lists. */
export const usageLists = ['owner', 'repository'] as const;

export const repositoryRow = component('RepositoryRow', 'A repository that has a limit of its own.', {
  unit: z.string().meta({ description: 'The repository, as refusals name it.' }),
  owner: z.string(),
  used: bytes.meta({ description: 'The bytes of the repository that the deciding rule counts.' }),
  limit: bytes.meta({ description: '-1 if unlimited. Allowances are added to it.' }),
  group: z.string(),
  rule: z.string(),
  percent: ownerRow.shape.percent,
  state: ownerState.meta({
    description:
      '`over`: its limit refuses what grows it; `near`: the lowest threshold of WARN_AT is reached, or a limit that only warns is passed; `ok`: neither.',
  }),
});

export type RepositoryRow = z.infer<typeof repositoryRow>;

const unitRow = component('UnitRow', {
  host: z.string().meta({ description: 'The `[server] HOST_ID` of the host that it is on.' }),
  name: z.string().meta({ description: 'The path of a walked unit, the name of a reported one.' }),
  title: z.string().optional().meta({
    description: 'The name by which its forge knows it, where the path does not say it: `group/project`.',
  }),
  kind: z.enum(['walked', 'reported']),
  source: z.string().nullable().meta({
    description: 'The source that reported it with its whole set; null for all others, and on other hosts.',
  }),
  subject: z.string(),
  bytes,
  files: z.number().int().nullable().meta({
    description: 'Null for a unit of another host.',
  }),
  partial: z.boolean(),
  measured_at: z.string().nullable().meta({
    description: 'Of a unit of another host, when the oldest there was measured; null: it was reported.',
  }),
});

export type UnitRow = z.infer<typeof unitRow>;

export const anyUnit = unitRow
  .omit({ source: true })
  .extend({ owner: z.string().nullable().meta({ description: "Null: nobody's." }) })
  .meta({ id: 'AnyUnit' });

export type AnyUnit = z.infer<typeof anyUnit>;

export const ownerReport = ownerRow
  .extend({
    known: z.boolean().meta({ description: 'Whether this owner was ever heard of.' }),
    units: z.array(unitRow).meta({
      description:
        'Largest first; of each source its 1,000 largest, of each other host that shares the quota its 20 largest.',
    }),
    decisions: z.record(z.string(), verdict.extend({ state: ownerState })).meta({
      description: 'By subject, each with its state.',
    }),
    allowances: z.array(allowance).readonly().meta({
      description: 'Extra bytes that have not ended, the first to end first.',
    }),
  })
  .meta({ id: 'OwnerReport', description: 'One owner with all there is to say.' });

export type OwnerReport = z.infer<typeof ownerReport>;

export const ownReport = ownerReport
  .omit({ known: true })
  .extend({
    units: z.array(unitRow).meta({
      description: 'The largest 100, largest first; a walked one by the part of its path that varies.',
    }),
    unit_count: z.number().int().meta({ description: 'How many there are, on all hosts.' }),
    mode: z
      .enum(['enforce', 'report'])
      .meta({ description: '`report`: what is refused is let through all the same.' }),
    may_ask: z.boolean().meta({ description: '`[requests] ENABLED`: whether more space can be asked for.' }),
    auto_grant: z
      .object({
        bytes: bytes.meta({ description: 'At most.' }),
        seconds: z.number().meta({ description: 'For at most so long.' }),
        every_seconds: z.number().meta({ description: 'Once in so long.' }),
      })
      .nullable()
      .meta({ description: '`[requests] AUTO_GRANT`: what is granted at once; null if nothing is.' }),
    contact: z.string().nullable().meta({ description: '`[hooks] CONTACT`: whom to turn to.' }),
    warn_at: z.array(z.number().int()).readonly().meta({ description: '`[quota] WARN_AT`, in percent.' }),
  })
  .meta({
    id: 'OwnReport',
    description:
      'The usage of the caller or of an organization, with what a refused push shows, including names.',
  });

export type OwnReport = z.infer<typeof ownReport>;

export const usedUnit = component('UsedUnit', {
  name: z.string().meta({
    description: 'Of a walked unit the part of its path that varies: below what its template begins with.',
  }),
  size: bytes,
});
