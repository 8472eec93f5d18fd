/** Rules that limit groups, repositories, pushes and files, over the API. */

import t from 'tap';
import { z } from 'zod';
import { event } from '../../src/overview/index.ts';
import { finding } from '../../src/wire/index.ts';
import { until } from '../e2e/ask.ts';
import { World } from './world.ts';

t.setTimeout(240_000);

const rules = '/admin/quota/rules';
const file = { name: 'big-files', limit: 100_000_000, subjects: ['size:repos:all'], per: 'file' };

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
