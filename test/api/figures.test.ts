/** All owners together, usage as it was, and what owners see of their own. */

import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { ownEvent } from '../../src/overview/index.ts';
import { type History, history, type Overview, overview, ownReport } from '../../src/wire/index.ts';
import { until } from '../e2e/ask.ts';
import { recorded, remember } from './past.ts';
import { measure } from './people.ts';
import { World } from './world.ts';

const run = promisify(execFile);
const small = { 'quota.default': { TOTAL: '1000' } } as const;
const lfs = 'size:git:lfs';

async function overviewOf(world: World): Promise<Overview> {
  return overview.parse(await world.get('/admin/quota/overview'));
}

/** The disks once the first of them has said how large it is: under load it may be late. */
function disksOf(world: World): Promise<Overview['disks']> {
  return until(async () => {
    const { disks } = await overviewOf(world);
    return disks[0]?.size == null ? null : disks;
  });
}

/** The overview once so many owners are over a limit and near one. */
function overviewWith(world: World, over: number, near: number): Promise<Overview> {
  return until(async () => {
    const found = await overviewOf(world);
    return found.owners.over === over && found.owners.near === near ? found : null;
  });
}

async function historyAt(world: World, path: string, as: 'admin1' | 'alice' = 'admin1'): Promise<History> {
  return history.parse(await world.get(path, { as }));
}

t.test('the overview tells sums, who is over and near, the disks, and when it was measured', async t => {
  const world = await World.open(t, { settings: small });
  await measure(world);
  await world.report('alice', lfs, 1001);
  await world.report('bob', lfs, 800);
  await world.report('carol', 'size:assets:wiki', 799);
  const found = await overviewWith(world, 1, 1);
  t.match(found, {
    mode: 'enforce',
    enabled: true,
    stale: false,
    owners: { total: 5, over: 1, near: 1 },
    total: 2600,
    tree: { size: { git: { LFS: 1801 }, assets: { wiki: 799 } } },
    nobody: { bytes: 0, kinds: [] },
    everybody: { groups: [], total: 1000 },
    open_requests: 0,
    worker: { running: false, version: null },
    measuring: null,
    measured_at: /^20/,
  });
  const disks = await disksOf(world);
  t.match(disks, [
    { path: `${world.directory}/git`, subjects: ['size:repos:private'], size: Number, free: Number },
  ]);
  const [disk] = disks;
  t.ok(disk !== undefined && Number(disk.size) > Number(disk.free));
  await world.report('alice', lfs, 0);
  t.match(await overviewWith(world, 0, 1), { owners: { total: 5 }, total: 1599 });
  world.reload({ 'quota.default': { TOTAL: '799' }, quota: { MODE: 'report' } });
  t.match(await overviewWith(world, 1, 1), { mode: 'report' });
  world.reload({ quota: { ENABLED: 'false' } });
  t.match(await overviewWith(world, 0, 0), { enabled: false });
});

t.test('what lies in storage without an owner is told as nobody’s, until it has one', async t => {
  const world = await World.open(t, {
    settings: { 'storage.lfs': { PATH: 'lfs/{repo}', OWNER: 'file OWNER' } },
  });
  for (const name of ['one', 'two']) {
    mkdirSync(join(world.directory, 'lfs', name), { recursive: true });
    writeFileSync(join(world.directory, 'lfs', name, 'object'), Buffer.alloc(700));
  }
  await measure(world);
  t.match((await overviewOf(world)).nobody, {
    bytes: 1400,
    kinds: [{ kind: 'directories_without_owner', count: 2, bytes: 1400, mend: /OWNER/ }],
  });
  writeFileSync(join(world.directory, 'lfs/one/object'), Buffer.alloc(500));
  writeFileSync(join(world.directory, 'lfs/two/OWNER'), 'alice\n');
  await measure(world);
  t.match((await overviewOf(world)).nobody, { bytes: 500, kinds: [{ count: 1, bytes: 500 }] });
  rmSync(join(world.directory, 'lfs/one'), { recursive: true });
  await measure(world);
  t.strictSame((await overviewOf(world)).nobody, { bytes: 0, kinds: [] });
});

t.test('refusals are told by the day, also after a restart', async t => {
  const world = await World.open(t, { settings: small });
  await world.report('alice', lfs, 1001);
  const refuse = () => world.gate('POST', '/v1/check', { owner: 'alice', subject: lfs, actor: 'bob' });
  const counted = (count: number) =>
    until(async (): Promise<Overview['refusals'] | null> => {
      const { refusals } = await overviewOf(world);
      return refusals.at(-1)?.count === count ? refusals : null;
    });
  for (let each = 0; each < 3; each++) await refuse();
  const days = await counted(3);
  t.equal(days.length, 14);
  t.ok(
    days.every(({ day }, at) => at === 0 || day > (days[at - 1]?.day ?? '')),
    'oldest first',
  );
  t.ok(days.slice(0, -1).every(({ count }) => count === 0));
  await world.restart();
  await refuse();
  await counted(4);
  t.notMatch((await world.must(200, 'GET', '/admin/quota/events')).text, /"refusals"/, 'and as nothing else');
});

t.test('the history has all owners and each of them, and where their growth leads', async t => {
  const world = await World.open(t, { settings: { 'quota.default': { TOTAL: '9000' } } });
  await world.report('alice', lfs, 5000);
  await recorded(world);
  await remember(world, [1000, 2000, 3000, 4000, 5000]);
  const growth = { per_day: 1000, used: 5000, limit: 9000, reached_at: String };
  for (const range of ['day', 'week', 'month', 'year', 'all']) {
    const alices = await historyAt(world, `/admin/quota/history?owner=Alice&range=${range}`);
    t.equal(alices.leaves.length, 8);
    const sizes = alices.points.map(({ bytes }) => bytes[alices.leaves.indexOf(lfs)]);
    // A day has the last of them only, and where a new hour has begun it has been recorded, too.
    const known = range === 'day' ? [5000] : [1000, 2000, 3000, 4000, 5000];
    t.strictSame(sizes.slice(range === 'day' ? -1 : 0).slice(0, known.length), known, range);
    t.strictSame(alices.kept, { hourly_days: 14, daily_days: 1826 });
    t.match(alices.growth, growth);
    const inDays = (Date.parse(alices.growth?.reached_at ?? '') - Date.now()) / 86_400_000;
    t.ok(inDays > 3.9 && inDays < 4.1, `the limit is reached in four days: ${inDays}`);
    const own = await historyAt(world, `/user/quota/history?range=${range}`, 'alice');
    t.strictSame(own.points, alices.points);
    const all = await historyAt(world, `/admin/quota/history?range=${range}`);
    t.strictSame(all.points, alices.points, 'nobody else uses anything');
    t.match(all.growth, { per_day: 1000, used: 5000, limit: null, reached_at: null });
  }
  t.match(await historyAt(world, '/orgs/acme/quota/history', 'alice'), { points: [], growth: null });
  const command = ['scripts/built.js', 'usage', 'alice', '--config', join(world.directory, 'app.ini')];
  const { stdout: text } = await run(process.execPath, command);
  t.match(text, /^Usage grows by 1 kB a day since 20..-..-..: the limit is reached on 20..-..-..\.$/m);
  const { stdout: json } = await run(process.execPath, [...command, '--json']);
  t.match(JSON.parse(json), { name: 'alice', growth });
  world.reload({ quota: { ENABLED: 'false' } });
  t.match((await historyAt(world, '/user/quota/history', 'alice')).growth, { limit: -1, reached_at: null });
  await world.must(404, 'GET', '/admin/quota/history?owner=nobody');
});

t.test('owners see all about their own, with the names of what decides', async t => {
  const world = await World.open(t, { settings: { hooks: { CONTACT: 'ask at the desk' } } });
  const rules = [{ name: 'lfs', limit: 100, subjects: [lfs] }];
  await world.post('/admin/quota/groups', { name: 'free', rules });
  for (const owner of ['alice', 'acme']) {
    await world.put(`/admin/quota/groups/free/users/${owner}`);
    for (let unit = 0; unit < 103; unit++) await world.report(owner, lfs, unit + 1, `unit ${unit}`);
  }
  for (const [path, name] of [
    ['/user/quota', 'alice'],
    ['/orgs/acme/quota', 'acme'],
  ] as const) {
    const report = ownReport.parse(await world.get(`${path}/report`, { as: 'alice' }));
    t.match(report, {
      name,
      total: 5356,
      decisions: { [lfs]: { allowed: false, used: 5356, limit: 100, group: 'free', rule: 'lfs' } },
      unit_count: 103,
      mode: 'enforce',
      contact: 'ask at the desk',
      warn_at: [80, 90],
    });
    t.equal(report.units.length, 100);
    t.match(report.units[0], { name: 'unit 102', bytes: 103, subject: lfs });
    const explained = await world.must(200, 'GET', `${path}/explain?subject=${lfs}`, { as: 'alice' });
    t.match(explained.json, { decision: { allowed: false, group: 'free', rule: 'lfs' } });
    await world.must(422, 'GET', `${path}/explain?subject=none`, { as: 'alice' });
  }
});

t.test('owners see what happened to them, and nobody else does', async t => {
  const world = await World.open(t, { settings: small });
  const happen = async (owner: string) => {
    await world.report(owner, lfs, 1001);
    await world.gate('POST', '/v1/check', { owner, subject: lfs, actor: 'bob' });
  };
  const told = (path: string, as: 'alice' | 'bob', count: number) =>
    until(async () => {
      const events = ownEvent.array().parse(await world.get(path, { as }));
      return events.length === count ? events : null;
    });
  for (const owner of ['alice', 'acme', 'bob']) await happen(owner);
  for (const [path, owner] of [
    ['/user/quota/events', 'alice'],
    ['/orgs/acme/quota/events', 'acme'],
  ] as const) {
    const events = await told(path, 'alice', 2);
    t.strictSame(events.map(({ kind }) => kind).toSorted(), ['refusal', 'threshold']);
    t.ok(events.every(event => event.owner === owner));
    const page = await world.must(200, 'GET', `${path}?limit=1`, { as: 'alice' });
    const next = /<([^>]*)>; rel="next"/.exec(String(page.headers.link))?.[1] ?? '';
    const { pathname, search } = new URL(next);
    const rest = await world.must(200, 'GET', pathname.replace('/api/v1', '') + search, { as: 'alice' });
    t.strictSame([...ownEvent.array().parse(page.json), ...ownEvent.array().parse(rest.json)], events);
    await told(`${path}?kind=refusal`, 'alice', 1);
    await world.must(422, 'GET', `${path}?kind=policy`, { as: 'alice' });
  }
  // The name now belongs to somebody else.
  await world.report('bob', lfs, 0);
  await world.patch('/admin/users/bob', { username: 'robert' });
  await world.post('/admin/users', { username: 'bob' });
  const token = await world.newToken('bob', ['all']);
  t.strictSame(await world.get('/user/quota/events', { token }), []);
  t.strictSame(await world.get('/user/quota/history', { token }), {
    ...(await historyAt(world, '/user/quota/history', 'alice')),
    points: [],
  });
  await told('/user/quota/events', 'bob', 3);
});
