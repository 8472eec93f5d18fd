/** The shared cases of what claims make of quota groups, with their results. */

import { readFileSync } from 'node:fs';
import { z } from 'zod';

export const vectors = z
  .object({
    existingGroups: z.array(z.string()),
    cases: z.array(
      z.object({
        note: z.string(),
        mapping: z.string(),
        claimName: z.string(),
        claims: z.record(z.string(), z.unknown()),
        current: z.array(z.string()),
        removal: z.boolean(),
        result: z.array(z.string()).optional(),
        refusedWhenSaved: z.boolean().optional(),
      }),
    ),
  })
  .parse(JSON.parse(readFileSync(new URL('../../vectors/oauth_sync.json', import.meta.url), 'utf8')));
