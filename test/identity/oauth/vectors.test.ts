import t from 'tap';
import { synchronize } from '../../../src/identity/oauth/claims.ts';
import { mappingIn } from '../../../src/wire/index.ts';
import { vectors } from './vectors.ts';

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
