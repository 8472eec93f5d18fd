/** The reasoning of a decision tells the same story as the gate. */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { subjects } from '../../src/quota/index.ts';
import { explanation, ownerReport, verdict } from '../../src/wire/index.ts';
import { isLong } from '../run-length.ts';
import { apply, configure, owners, policy, quota, store, usage } from './any-policy.ts';
import { World } from './world.ts';

const path = '/admin/quota/explain';

async function explain(world: World, user: string, subject: string) {
  return explanation.parse(await world.get(`${path}?user=${encodeURIComponent(user)}&subject=${subject}`));
}

t.test('whatever the policy, the explanation is that of the decision that the gate gives', async t => {
  const world = await World.open(t);
  const law = fc.asyncProperty(policy, quota, usage, async (drafted, settings, stored) => {
    await apply(world, drafted);
    configure(world, settings);
    await store(world, stored);
    for (const owner of owners) {
      const report = ownerReport.parse(await world.get(`/admin/quota/usage/${owner}`));
      for (const subject of subjects) {
        const asked = await world.gate('GET', `/v1/check?owner=${owner}&subject=${subject}`);
        const decided = verdict.parse(asked.json);
        const { decision, steps } = await explain(world, owner, subject);
        assert.deepStrictEqual(verdict.parse(decision), decided);
        assert.equal(asked.status, decided.allowed ? 200 : 413);
        assert.deepStrictEqual(
          verdict.parse(report.decisions[subject]),
          decided,
          'and so says what there is to say of the owner',
        );
        const groups = steps.flatMap(step => step.groups.filter(group => group.decided));
        const rules = groups.flatMap(group => group.rules.filter(rule => rule.decided));
        if (decision.by === 'no_match') {
          assert.deepStrictEqual(groups, []);
          continue;
        }
        assert.deepStrictEqual(
          [groups.map(({ group }) => group), rules.map(({ rule, used, limit }) => [rule, used, limit])],
          [[decided.group], [[decided.rule, decided.used, decided.limit]]],
        );
        assert.equal(groups[0]?.verdict, decided.allowed ? 'allows' : 'refuses');
        assert.equal(steps.at(-1)?.groups.includes(groups[0] ?? assert.fail('nobody decided')), true);
      }
    }
  });
  await fc.assert(law, { numRuns: isLong ? 100 : 8 });
});

t.test('where sizes count, the size that is asked about does, and so do reservations', async t => {
  const world = await World.open(t, {
    settings: { quota: { PRECISE: 'true' }, 'quota.default': { TOTAL: '100' } },
  });
  await world.report('alice', 'size:git:lfs', 60);
  const query = new URLSearchParams({ owner: 'alice', subject: 'size:git:lfs', size: '30' });
  const reserved = await world.gate('POST', `/v1/reservations?${query}`);
  t.equal(reserved.status, 201);
  const asked = async (size: string) => {
    const { json } = await world.call('GET', `${path}?user=alice&subject=size:git:lfs&size=${size}`);
    return json;
  };
  t.match(await asked('10'), {
    settings: { precise: true },
    adding_bytes: 10,
    decision: { allowed: true, used: 90, reserved: 30 },
  });
  const rules = [{ used: 90, reserved: 30, headroom: 10, verdict: 'allows' }];
  t.match(explanation.parse(await asked('10')).steps.at(-1), { groups: [{ rules }] });
  t.match(await asked('11'), { decision: { allowed: false } });
  // Anybody may be named, and spaces around a subject do not count.
  await world.get(`${path}?user=a%2Fb%20%C3%A9&subject=%20size:all%20`);
  t.match(await world.call('GET', `${path}?user=alice&subject=size:git:lfs&size=-1`), { status: 422 });
});
