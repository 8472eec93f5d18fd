/** Scans over HTTP: started, listed, and followed while they really measure. */

import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { Agent, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { z } from 'zod';
import { type ScanReport, scanReport } from '../../src/wire/index.ts';
import { until } from '../e2e/ask.ts';
import { send } from './http.ts';
import { measure, messageOf, repository } from './people.ts';
import { type Followed, World } from './world.ts';

const path = '/admin/quota/scans';

const isOver = ({ state }: ScanReport) => state !== 'waiting' && state !== 'running';

async function start(world: World, body: object = {}): Promise<ScanReport> {
  return scanReport.parse((await world.must(202, 'POST', path, { body })).json);
}

async function look(world: World, id: number): Promise<ScanReport> {
  return scanReport.parse((await world.must(200, 'GET', `${path}/${id}`)).json);
}

function ended(world: World, id: number): Promise<ScanReport> {
  return until(async () => {
    const scan = await look(world, id);
    return isOver(scan) ? scan : null;
  });
}

/** What is told of one scan, up to its end. */
async function told(followed: Followed, id: number): Promise<readonly ScanReport[]> {
  const reports: ScanReport[] = [];
  for (;;) {
    const { value, done } = await followed.events.next();
    if (done === true) throw new Error('the events ended before the scan did');
    const report = scanReport.parse(value.data);
    if (report.id !== id) continue;
    reports.push(report);
    if (isOver(report)) return reports;
  }
}

/**
 * Repositories that take a while to be walked; gives what they hold. Connections that are kept are looked
 * after meanwhile.
 */
async function forest(world: World, name = 'repo'): Promise<Holding> {
  const units = 12;
  const filesOfEach = 300;
  for (let at = 0; at < units; at++) {
    const objects = join(repository(world, `owner${at % 7}/${name}${at}`), 'objects');
    for (let file = 0; file < filesOfEach; file++) await writeFile(join(objects, `${file}`), 'x');
  }
  // With HEAD, which has 21 bytes.
  return { units, files: units * (filesOfEach + 1), bytes: units * (filesOfEach + 21) };
}

interface Holding {
  readonly units: number;
  readonly files: number;
  readonly bytes: number;
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
  const listed = z.array(scanReport).parse((await world.must(200, 'GET', path)).json);
  t.strictSame(listed[0], done, 'the newest first');
  t.match((await world.must(200, 'GET', '/admin/quota/usage/dave')).json, { total: 21, known: true });
});

t.test('without a body everything is measured; verify tells how far off the figures were', async t => {
  const world = await World.open(t);
  const refs = join(repository(world, 'dave/app'), 'refs');
  await measure(world);
  writeFileSync(join(refs, 'more'), 'four');
  const { id } = scanReport.parse((await world.must(202, 'POST', path)).json);
  t.match(await ended(world, id), { kind: 'sweep', state: 'done' });
  writeFileSync(join(refs, 'even more'), '123456');
  const verify = await start(world, { kind: 'verify' });
  t.match(await ended(world, verify.id), { kind: 'verify', drift: { units: 1, bytes: 6 } });
});

t.test('a scan of some owners measures theirs only', async t => {
  const world = await World.open(t);
  for (const name of ['dave/app', 'Erin/app']) repository(world, name);
  await measure(world);
  for (const name of ['dave', 'Erin'])
    writeFileSync(join(world.directory, 'git', name, 'app.git', 'refs', 'x'), 'xxx');
  const { id } = await start(world, { owners: ['ERIN'] });
  t.match(await ended(world, id), { state: 'done', progress: { units: 1 } });
  const total = async (owner: string) =>
    z.object({ total: z.number() }).parse((await world.must(200, 'GET', `/admin/quota/usage/${owner}`)).json)
      .total;
  t.strictSame([await total('erin'), await total('dave')], [24, 21]);
});

t.test('what cannot be ordered is refused, and what is not there is not found', async t => {
  const world = await World.open(t);
  for (const [body, fault] of [
    [{ kind: 'full' }, /^kind: /],
    [{ owners: [] }, /^owners: /],
    [{ owners: [''] }, /^owners\.0: /],
    [{ owners: 'dave' }, /^owners: expected a list/],
    [{ accept_moved: 'yes' }, /^accept_moved: /],
    [{ kinds: 1, kind: 'x' }, /kind: .*there is no kinds|there is no kinds.*kind: /],
  ] as const) {
    t.match(messageOf(await world.must(422, 'POST', path, { body })), fault);
  }
  for (const id of ['0', '4711', 'x', '1.0', '%20']) await world.must(404, 'GET', `${path}/${id}`);
  await world.must(403, 'POST', path, { token: await world.newToken('admin1', ['read:admin']), body: {} });
  await world.must(403, 'GET', `${path}/events`, { as: 'bob' });
  await world.must(401, 'GET', `${path}/events`, { as: 'nobody' });
});

t.test('whoever follows sees all that is known first, then each scan as it goes on to its end', async t => {
  const world = await World.open(t);
  await measure(world);
  const followed = await world.follow(`${path}/events`);
  t.match(followed.headers, { 'content-type': /^text\/event-stream/, 'cache-control': 'no-store' });
  const listed = z.array(scanReport).parse((await world.must(200, 'GET', path)).json);
  for (const known of listed)
    t.match((await followed.events.next()).value, { event: 'scan', id: String(known.id) });
  // How far it is when it is looked at is chance; so there is ever more to do, until it was seen in the
  // midst.
  let [units, files, bytes] = [0, 0, 0];
  let reports: readonly ScanReport[] = [];
  const isInTheMidst = ({ state, progress }: ScanReport) =>
    state === 'running' && progress.files > 0 && progress.files < files;
  while (!reports.some(isInTheMidst)) {
    const more = await forest(world, `repo${units}-`);
    [units, files, bytes] = [units + more.units, files + more.files, bytes + more.bytes];
    const { id } = await start(world, { kind: 'verify' });
    reports = await told(followed, id);
  }
  followed.close();
  const last = reports.at(-1);
  t.match(last, { state: 'done', progress: { units, units_found: units, discovering: false, files, bytes } });
  for (const [at, { state, progress }] of reports.entries()) {
    const before = reports[at - 1] ?? reports[0];
    if (before === undefined) continue;
    for (const count of ['units', 'units_found', 'directories', 'files', 'bytes'] as const) {
      t.ok(progress[count] >= before.progress[count], `${count} only grow`);
    }
    t.ok(state !== 'waiting' || before.state === 'waiting');
  }
  t.strictSame(last, await look(world, last?.id ?? 0), 'the end is the same as it is found later');
});

t.test('a scan goes on when whoever followed it leaves in its midst', async t => {
  const world = await World.open(t);
  const { units } = await forest(world);
  const followed = await world.follow(`${path}/events`);
  await followed.events.next();
  const { id } = await start(world, { kind: 'verify' });
  followed.close();
  t.match(await ended(world, id), { state: 'done', progress: { units } });
  const again = await world.follow(`${path}/events`);
  t.match((await told(again, id)).at(-1), { state: 'done' }, 'who comes later is told of it, too');
  again.close();
});

t.test('when the daemon stops in the midst of a scan, those who follow are let go', async t => {
  const world = await World.open(t);
  await forest(world);
  const follower = await bareFollower(t, world)();
  let text = '';
  follower.setEncoding('utf8').on('data', chunk => {
    text += chunk;
  });
  const hasEnded = once(follower, 'end');
  const { id } = await start(world, { kind: 'verify' });
  await until(() => (text.includes(`\nid: ${id}\n`) ? true : null));
  await world.close();
  await hasEnded;
  t.ok(follower.complete, 'it ends as it should, and is not cut off');
  await world.start();
  await measure(world);
  t.match((await world.must(200, 'GET', '/admin/quota/usage/owner0')).json, { partial: false });
});

t.test('whoever follows is let go when the token is revoked', async t => {
  const world = await World.open(t);
  const body = { name: 'follows', scopes: ['read:admin'] };
  const made = await world.must(201, 'POST', '/users/admin1/tokens', { body });
  const { sha1, id } = z.object({ sha1: z.string(), id: z.number() }).parse(made.json);
  const followed = await world.follow(`${path}/events`, { token: sha1 });
  await followed.events.next();
  const other = await world.follow(`${path}/events`);
  await world.must(204, 'DELETE', `/users/admin1/tokens/${id}`);
  for await (const _ of followed.events) t.pass('what was on its way');
  await world.must(401, 'GET', `${path}/events`, { token: sha1 });
  const scan = await start(world);
  t.match((await told(other, scan.id)).at(-1), { state: 'done' }, 'all others go on being told');
  other.close();
});

t.test('only so many may follow, who leaves makes room, and the host has room of its own', async t => {
  const world = await World.open(t);
  const follow = bareFollower(t, world);
  const all = await Promise.all(Array.from({ length: 64 }, follow));
  t.ok(all.every(({ statusCode }) => statusCode === 200));
  t.match(messageOf(await world.must(503, 'GET', `${path}/events`)), /64 clients already follow/);
  (await world.follow(`${path}/events`, { as: 'host' })).close();
  all[0]?.destroy();
  await until(async () => {
    const response = await follow();
    if (response.statusCode === 200) return response;
    response.resume();
    return null;
  });
});

/** Follows over connections of its own, which neither the world's end nor its bounds touch. */
function bareFollower(t: Test, world: World): () => Promise<IncomingMessage> {
  const agent = new Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  const token = world.newToken('admin1', ['read:admin']);
  return async () =>
    send({
      agent,
      to: { host: world.url.hostname, port: Number(world.url.port) },
      method: 'GET',
      path: `/api/v1${path}/events`,
      headers: { Authorization: `token ${await token}` },
    });
}
