/** Scans over HTTP: started, listed, and looked at while they really measure; what they find wrong. */

import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { z } from 'zod';
import { finding, type ScanReport, scanReport } from '../../src/wire/index.ts';
import { ask, until } from '../e2e/ask.ts';
import { measure, repository } from './people.ts';
import { World } from './world.ts';

const path = '/admin/quota/scans';

const isOver = ({ state }: ScanReport) => state !== 'waiting' && state !== 'running';

async function start(world: World, body: object = {}): Promise<ScanReport> {
  return scanReport.parse(await world.post(path, body));
}

async function look(world: World, id: number): Promise<ScanReport> {
  return scanReport.parse(await world.get(`${path}/${id}`));
}

function ended(world: World, id: number): Promise<ScanReport> {
  return until(async () => {
    const scan = await look(world, id);
    return isOver(scan) ? scan : null;
  });
}

t.test('a scan is started with 202, goes on by itself, and is found again', async t => {
  const world = await World.open(t);
  repository(world, 'dave/app');
  const started = await start(world);
  t.match(started, { kind: 'sweep', drift: null, error: null });
  const done = await ended(world, started.id);
  t.match(done, {
    state: 'done',
    progress: { units: 1, units_found: 1, discovering: false, files: 1, bytes: 21 },
  });
  t.ok(Date.parse(done.finished_at ?? '') >= Date.parse(done.started_at ?? ''));
  const listed = z.array(scanReport).parse(await world.get(path));
  t.strictSame(listed[0], done, 'the newest first');
  t.match(await world.get('/admin/quota/usage/dave'), { total: 21, known: true });
  for (const id of ['0', '4711', 'x', '1.0', '%20', 'events']) await world.must(404, 'GET', `${path}/${id}`);
});

t.test('without a body everything is measured; verify tells how far off the figures were', async t => {
  const world = await World.open(t);
  const refs = join(repository(world, 'dave/app'), 'refs');
  await measure(world);
  writeFileSync(join(refs, 'more'), 'four');
  const { id } = scanReport.parse(await world.post(path));
  t.match(await ended(world, id), { kind: 'sweep', state: 'done' });
  writeFileSync(join(refs, 'even more'), '123456');
  const verify = await start(world, { kind: 'verify' });
  t.match(await ended(world, verify.id), { kind: 'verify', drift: { units: 1, bytes: 6 } });
});

t.test('a scan of some owners measures theirs only', async t => {
  const world = await World.open(t);
  for (const name of ['dave/app', 'Erin/app']) repository(world, name);
  await measure(world);
  writeFileSync(join(world.directory, 'git/Erin/app.git/refs/x'), 'xxx');
  const { id } = await start(world, { owners: ['ERIN'] });
  t.match(await ended(world, id), { state: 'done', progress: { units: 1 } });
  t.match(await world.get('/admin/quota/usage/erin'), { total: 24 });
});

t.test('units whose storage app.ini lacks at a start stay, stale, until that is accepted', async t => {
  const world = await World.open(t);
  const wikis = { 'storage.wiki': { PATH: 'wiki/{owner}/{repo}.git' }, quota: { WARN_AT: '50' } };
  mkdirSync(join(world.directory, 'wiki'));
  await world.restart(wikis);
  for (const name of ['dave/app', 'erin/app']) repository(world, name);
  cpSync(join(world.directory, 'git/dave'), join(world.directory, 'wiki/dave'), { recursive: true });
  await measure(world);
  const usage = async (owner: string) =>
    z
      .object({ total: z.number(), partial: z.boolean(), stale: z.boolean() })
      .loose()
      .parse(await world.get(`/admin/quota/usage/${owner}`));
  const last = { total: 42, partial: true, stale: true };
  const missing = async () => {
    const found = z.array(finding).parse(await world.get('/admin/quota/findings'));
    return found.filter(({ code }) => code === 'keys_missing').map(({ message }) => message);
  };
  t.match(await usage('dave'), { total: 42, partial: false, stale: false });

  await world.restart({});
  const words =
    /^app\.ini lacks 2 of what .*: \[quota\] WARN_AT, \[storage\.wiki\] PATH\. Units without storage/;
  t.match(await missing(), [words]);
  await measure(world);
  t.match(await usage('dave'), last);
  t.match(await usage('erin'), { partial: false, stale: false });
  const { status, text } = await ask(world.sockets.gate, '/readyz');
  t.match({ code: status, ...JSON.parse(text) }, { code: 200, notes: [words] });
  rmSync(join(world.directory, 'git/erin/app.git'), { recursive: true });
  await ask(world.sockets.gate, '/v1/changed', {
    body: { path: join(world.directory, 'wiki/dave/app.git') },
  });
  await world.restart();
  await measure(world);
  t.match(await usage('dave'), last, 'also over another restart, and where somebody pushes there');
  t.match(await usage('erin'), { total: 0 }, 'what is deleted below a known root is gone');

  world.reload(wikis);
  t.strictSame(await missing(), []);
  await measure(world);
  t.match(await usage('dave'), { total: 42, partial: false, stale: false });

  await world.restart({});
  const { id } = await start(world, { accept_moved: true });
  t.match(await ended(world, id), { state: 'done' });
  t.match(await usage('dave'), { total: 21, partial: false, stale: false });
  t.strictSame(await missing(), []);
  await world.restart();
  t.strictSame(await missing(), []);
});

t.test('what is wrong is told, the worst first, with the mend', async t => {
  const world = await World.open(t);
  repository(world, 'dave/app');
  await measure(world);
  rmSync(join(world.directory, 'git'), { recursive: true });
  await measure(world);
  const findings = z.array(finding).parse(await world.get('/admin/quota/findings'));
  const worst = findings[0]?.severity;
  t.equal(worst, 'wrong');
  t.match(findings[0]?.message, /git/);
  const order = findings.map(({ severity }) => ['wrong', 'notice'].indexOf(severity));
  t.strictSame(order, order.toSorted());
});
