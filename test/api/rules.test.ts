/**
 * Rules over HTTP: what they limit, their graces and modes; what a trial and the record say of them.
 */

import t from 'tap';
import { z } from 'zod';
import { event } from '../../src/overview/index.ts';
import { finding } from '../../src/wire/index.ts';
import { until } from '../e2e/ask.ts';
import { World } from './world.ts';

t.setTimeout(240_000);

const rules = '/admin/quota/rules';
const file = { name: 'big-files', limit: 100_000_000, subjects: ['size:repos:all'], per: 'file' };
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

t.test('a rule says what it limits: the owner unless it is told otherwise', async t => {
  const world = await World.open(t);
  const created = async (body: unknown) => await world.post(rules, body);
  t.match(await created({ name: 'plain', limit: 1 }), { per: 'owner' });
  t.match(await created({ name: 'null', limit: 1, per: null }), { per: 'owner' });
  t.match(await created(file), file);
  t.match(await world.get(`${rules}/big-files`), { per: 'file' });
  await world.must(409, 'POST', rules, { body: { ...file, per: 'team' } });
  const edited = async (body: unknown) => await world.patch(`${rules}/big-files`, body);
  t.match(await edited({ limit: 5 }), { per: 'file', limit: 5 }, 'left out, it stays');
  t.match(await edited({ per: 'group' }), { per: 'group' });
  t.match(await edited({ limit: 0, grace: 60 }), { limit: 0, grace: 60 });
  t.match(
    await world.fault(422, 'PATCH', `${rules}/big-files`, { body: { per: 'push' } }),
    /limit: expected more than 0.*grace: expected none/s,
    'the rule as it would be is checked',
  );
  t.match(await edited({ per: 'push', limit: 7, grace: 'default' }), { per: 'push', limit: 7 });
  await world.restart();
  t.match(await world.get(`${rules}/big-files`), { per: 'push', limit: 7 });
});

t.test('what a limit could not be asked about is added up, and doctor says so', async t => {
  const world = await World.open(t);
  await world.report('alice', 'size:git:lfs', 60);
  const each = { limit: 1000, subjects: ['size:all'] };
  await world.post('/admin/quota/groups', {
    name: 'lab',
    rules: [
      { name: 'file', per: 'file', ...each },
      { name: 'repository', per: 'repository', ...each },
    ],
  });
  await world.put('/admin/quota/groups/lab/users/alice');
  const check = (query: string) => world.gate('GET', `/v1/check?owner=alice&${query}`);
  t.equal((await check('subject=size:git:lfs&size=10&actor=bob')).status, 200);
  t.equal((await check('subject=size:assets:packages:all&actor=bob')).status, 200);
  t.equal((await check('subject=size:assets:packages:all&actor=bob')).status, 200);
  t.equal((await check('subject=size:assets:packages:all&size=10')).status, 200, 'it is in no repository');
  const events = async () =>
    z.array(event).parse(await world.get('/admin/quota/events?kind=unasked&limit=10'));
  const told = [
    { owner: 'alice', actor: 'bob', subject: 'size:assets:packages:all', unasked: 'file' },
    { owner: 'alice', actor: 'bob', subject: 'size:git:lfs', unasked: 'repository' },
  ];
  const found = await until(async () => ((await events()).length === 2 ? events() : null));
  t.match(found, [
    { ...told[0], count: 2 },
    { ...told[1], count: 1 },
  ]);
  t.match(await world.get('/admin/quota/events?kind=refusal'), [], 'nothing was refused');
  const findings = z.array(finding).parse(await world.get('/admin/quota/findings'));
  t.match(
    findings.filter(({ code }) => code === 'unasked_limit').map(({ message }) => message),
    [
      /^a limit of each file .*packages:all through 2 times/,
      /^a limit of each repository could not be asked and let size:git:lfs through 1 time, .* by alice$/,
    ],
  );
  const csv = await world.must(200, 'GET', '/admin/quota/events.csv?kind=unasked');
  const [columns = ''] = csv.text.split('\r\n');
  const per = columns.split(',').indexOf('per');
  const lines = csv.text.split('\r\n').filter(line => line.includes('limit of each file not asked'));
  t.strictSame(
    lines.map(line => line.split(',')[per]),
    ['file'],
  );
  await world.restart();
  await check('subject=size:assets:packages:all&actor=bob');
  await until(async () => {
    const [first, ...others] = await events();
    return others.length === 1 && first?.kind === 'unasked' && first.count === 3 ? true : null;
  });
});
