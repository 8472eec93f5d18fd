/** Graces and report mode, of rules and in decisions. */

import { z } from 'zod';
import { type GraceMost, longestGraceMs, parseGraceMost } from '../quota/index.ts';
import { bytes } from './bounds.ts';

const asConfigured = 'default';

const error = 'expected whole seconds from 0 to 3153600000, or "default" for as configured';

/** Seconds, or null for as configured. */
export const newGrace = z
  .union(
    [
      z.literal(asConfigured),
      z
        .number({ error })
        .int({ error })
        .min(0, { error })
        .max(longestGraceMs / 1000, { error }),
    ],
    { error },
  )
  .meta({
    description:
      'How long an owner who comes over the limit by less than `grace_most` is warned before refusals begin, in seconds; 0: not at all; `default`: as `[quota] GRACE` says.',
    examples: [604_800],
  });

const longestMost = 50;
/** The form that `parseGraceMost` reads, apart from the size. */
const mostPattern = String.raw`^(default|\s*(\d{1,4}(\.\d{1,3})? ?%|(\d[\d,]*(\.\d*)?|\.\d+)[ \t]*([kmgtpeKMGTPE][iI]?)?[bB]?)\s*)$`;
const mostExpected = 'expected per cent of the limit, such as "10 %", a size, such as "5G", or "default"';

export const newGraceMost = z
  .string({ error: mostExpected })
  .max(longestMost, { error: mostExpected })
  .refine(text => text === asConfigured || parseGraceMost(text).ok, { error: mostExpected })
  .meta({
    description:
      'How far the limit may be passed meanwhile: a percentage of the limit, or a size; `default`: as `[quota] GRACE_MOST` says.',
    pattern: mostPattern,
    examples: ['10 %'],
  });

export const newMode = z.enum(['enforce', 'report'], { error: 'expected enforce or report' }).meta({
  description:
    '`report`: what it would refuse is recorded, and let through; `enforce`, as it is unless given: it is in force.',
});

/** Refuses the mode that groups had in the release before. */
export const noGroupMode = z
  .never({
    error:
      'groups have no mode any more: leave it out, and set "mode": "report" on the rules of the group; copy a rule that another group shares under the name "NAME (GROUP)" first',
  })
  .optional()
  .meta({ description: 'Groups have no mode: it is an error. Set the mode of their rules.' });

/** Fields of a rule. */
export const graceFields = {
  grace: z
    .number()
    .optional()
    .meta({ description: 'Its own grace, in seconds; 0: none. Left out: as `[quota] GRACE` says.' }),
  grace_most: z
    .string()
    .optional()
    .meta({
      description:
        'How far its limit may be passed meanwhile, such as `10 %` or `5 GB`. Left out: as `[quota] GRACE_MOST` says.',
      examples: ['10 %'],
    }),
};

export const shownMode = z
  .literal('report')
  .optional()
  .meta({ description: 'What it would refuse is recorded, and let through. Left out: it is in force.' });

/** Null: as configured. */
export function graceMsFrom(grace: z.output<typeof newGrace>): number | null {
  return grace === asConfigured ? null : grace * 1000;
}

/** Null: as configured. */
export function graceMostFrom(text: string): GraceMost | null {
  const parsed = text === asConfigured ? null : parseGraceMost(text);
  return parsed?.ok === true ? parsed.value : null;
}

/** The grace of a limit that is passed. */
export const grace = z
  .object({
    until: z.string().meta({ description: 'When refusals begin, or when they began.' }),
    below: bytes.meta({ description: 'Usage from which on it is refused whatever the time is.' }),
  })
  .meta({
    id: 'Grace',
    description: 'A limit is passed, and has a grace. Where the action may start, it still runs.',
  });

export const reported = z
  .object({
    used: bytes.nullable(),
    limit: bytes.nullable(),
    group: z.string().nullable(),
    rule: z.string().nullable(),
  })
  .meta({ id: 'Reported', description: 'The refusal that a rule in report mode would cause.' });
