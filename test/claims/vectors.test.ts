import { readFileSync } from 'node:fs';
import t from 'tap';
import { z } from 'zod';
import { mappingIn, synchronize } from '../../src/claims/index.ts';

const vectors = z
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
  .parse(JSON.parse(readFileSync(new URL('../vectors/oauth_sync.json', import.meta.url), 'utf8')));

for (const one of vectors.cases) {
  t.test(`${one.note}, removal ${one.removal ? 'on' : 'off'}`, async t => {
    const mapped = mappingIn(one.mapping);
    t.equal(mapped.ok, one.refusedWhenSaved !== true);
    if (!mapped.ok) return;
    const done = synchronize(
      { groupClaim: one.claimName, mapping: mapped.mapping, removal: one.removal, missingClaim: 'remove' },
      one.claims,
      one.current,
      group => vectors.existingGroups.includes(group),
    );
    t.same(done.groups, one.result);
    t.same(
      [...one.current.filter(group => !done.removed.includes(group)), ...done.added].sort(),
      one.result,
      'what is added and removed leads there',
    );
  });
}
