/** Graces and report mode of rules over HTTP: in decisions, lists and figures. */

import t from 'tap';
import { z } from 'zod';
import { World } from './world.ts';

const rules = '/admin/quota/rules';
const week = { quota: { ENABLED: 'true', GRACE: '7d' }, 'quota.default': { TOTAL: '1000' } };
const total = { name: 'total', limit: 1000, subjects: ['size:all'] };
const shown = { ...total, per: 'owner' };

t.test('a rule takes a grace and a mode, gives them back, and loses them again', async t => {
  const world = await World.open(t);
  const terms = { grace: 86_400, grace_most: '12.5 %', mode: 'report' };
  t.strictSame(await world.post(rules, { ...total, ...terms }), {
    ...shown,
    ...terms,
  });
  const edited = await world.must(200, 'PATCH', `${rules}/total`, { body: { grace_most: '5G' } });
  t.strictSame(edited.json, { ...shown, ...terms, grace_most: '5 GB' }, 'others stay the same');
  await world.patch(`${rules}/total`, { grace: null, limit: 2000 });
  t.match(await world.get(`${rules}/total`), { limit: 2000, grace: 86_400 });
  const usual = { grace: 'default', grace_most: 'default', mode: 'enforce', limit: 1000 };
  const plain = await world.must(200, 'PATCH', `${rules}/total`, { body: usual });
  t.strictSame(plain.json, shown, 'clients of Forgejo see no field but what it limits');
  t.match(await world.patch(`${rules}/total`, { grace: 0 }), { grace: 0 });
});

t.test('a rule takes percentages of its own at which is warned, in order, and loses them again', async t => {
  const world = await World.open(t);
  const created = await world.must(201, 'POST', rules, { body: { ...total, warn_at: [80, 50, 80] } });
  t.strictSame(created.json, { ...shown, warn_at: [50, 80] });
  const path = `${rules}/total`;
  await world.patch(path, { warn_at: null, limit: 2000 });
  t.match(await world.get(path), { limit: 2000, warn_at: [50, 80] }, 'null is as good as left out');
  t.strictSame(await world.patch(path, { warn_at: [] }), {
    ...shown,
    limit: 2000,
    warn_at: [],
  });
  const plain = await world.must(200, 'PATCH', path, { body: { warn_at: 'default', limit: 1000 } });
  t.strictSame(plain.json, shown);
});

t.test('the whole policy has them, and an import of what was exported changes nothing', async t => {
  const world = await World.open(t);
  const policy = {
    rules: [
      { ...total, grace: 3600, grace_most: '1 %', warn_at: [50, 80] },
      { name: 'tried', limit: 5, subjects: [], mode: 'report', warn_at: [] },
    ],
    groups: [{ name: 'free', rules: ['total', 'tried'], users: ['alice'] }],
  };
  await world.put('/admin/quota/policy', policy);
  const json = await world.get('/admin/quota/policy');
  t.match(json, policy);
  const again = await world.must(200, 'PUT', '/admin/quota/policy', { body: json });
  t.match(again.json, { version: z.object({ version: z.string() }).parse(json).version });
  const without = { rules: [total], groups: [{ name: 'free', rules: ['total'] }] };
  const plain = await world.must(200, 'PUT', '/admin/quota/policy', { body: without });
  t.strictSame(z.object({ rules: z.unknown(), groups: z.unknown() }).parse(plain.json), {
    rules: [shown],
    groups: [{ name: 'free', rules: ['total'], users: ['alice'] }],
  });
});

t.test('a trial of a policy tells whom it would warn before it refuses', async t => {
  const world = await World.open(t);
  world.reload({ ...week, 'quota.default': { TOTAL: '5000' } });
  await world.report('alice', 'size:git:lfs', 1050);
  await world.report('bob', 'size:git:lfs', 1200);
  const simulated = async (body: object) => await world.post('/admin/quota/simulate', body);
  const tighter = await simulated({ settings: { total: 1000 } });
  t.match(tighter, {
    refused: { count: 1, first: [{ user: 'bob' }] },
    graced: {
      count: 1,
      first: [{ user: 'alice', changes: [{ after: { allowed: true, grace: { below: 1100 } } }] }],
    },
    allowed: { count: 0 },
  });
  t.notMatch(await simulated({ settings: { total: 900 } }), { graced: {} });
  const small = { ...total, mode: 'report' };
  const draft = {
    rules: [small],
    groups: [{ name: 'free', rules: [{ name: 'total' }], users: ['alice', 'bob'] }],
  };
  t.match(
    await simulated(draft),
    { refused: { count: 0 }, allowed: { count: 0 } },
    'report mode refuses nobody',
  );
});
