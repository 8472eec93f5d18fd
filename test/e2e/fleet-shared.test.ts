/**
 * A file system that several hosts mount, each at a place of its own: one of them walks it, it counts once, and
 * all of them answer for it.
 */

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import t, { type Test } from 'tap';
import { z } from 'zod';
import { startSingle } from '../store/redis-servers.ts';
import { type Answer, until } from './ask.ts';
import { Clone } from './clone.ts';
import { counted } from './count.ts';
import { fleetHost } from './fleet-hosts.ts';
import { must, run } from './run.ts';
import type { Ini, Server } from './server.ts';

t.setTimeout(300_000);

/** A host, and where it mounts what others mount, too. */
interface Mounting {
  readonly server: Server;
  readonly place: string;
}

/** A repository that is there from the beginning, as all of them have it. */
const app = 'git/alice/app.git';

/** Sections of app.ini. */
const repositories = (place: string): Ini => ({
  'storage.repos': { PATH: `${place}/git/{owner}/{repo}.git` },
  'storage.lfs': { PATH: `${place}/git/{owner}/{repo}.git/lfs` },
});

/** Two hosts that know what lies on the disk: `one` walks it for both, `two` leaves it to the other. */
async function nas(t: Test) {
  const { address } = await startSingle(t);
  const folder = t.testdir();
  const disk = join(folder, 'disk');
  await must('git', ['init', '-q', '--bare', '-b', 'main', join(disk, app)]);
  const mounting = async (host: string, ROOTS: string): Promise<Mounting> => {
    const place = join(folder, `mounted-on-${host}`);
    await mkdir(place);
    await must('mount', ['--bind', disk, place]);
    t.teardown(async () => {
      await run('umount', ['-l', place]);
    });
    const ini = { ...repositories(place), scan: { ROOTS } };
    return { server: await fleetHost(t, { address, host, ini }), place };
  };
  const one = await mounting('one', 'all');
  const two = await mounting('two', 'none');
  await isCountedOnce(disk, one, two);
  return { disk, one, two };
}

/** Pushes a file through a host: its hooks ask and tell its daemon. */
async function pushThrough({ server, place }: Mounting, clone: Clone, bytes: number): Promise<string> {
  const repository = join(place, app);
  const { code, stderr } = await server.softquota(['hooks', 'install', repository]);
  if (code !== 0) throw new Error(stderr);
  await clone.git('remote', 'set-url', 'origin', repository);
  await clone.commit(bytes);
  return (await clone.push()).said;
}

/** Resolves once all of them know alice to store what lies on the disk, once. */
async function isCountedOnce(disk: string, ...fleetHosts: readonly Mounting[]): Promise<void> {
  const bytes = await counted(join(disk, 'git/alice'));
  for (const { server } of fleetHosts) await server.usageIs('alice', known => known === bytes);
}

/**
 * Tells a host that something changed there; gives the status. A disk that answers late is asked again.
 */
async function tell({ server, place }: Mounting, name: string): Promise<number> {
  return until(async () => {
    const { status } = await server.ask('gate', '/v1/changed', { body: { path: join(place, name) } });
    return status === 503 ? null : status;
  });
}

/** Answer of its gate about a push there. */
async function asked({ server, place }: Mounting, name: string): Promise<Answer> {
  return until(async () => {
    const answer = await server.ask('gate', `/v1/check?path=${join(place, name)}`);
    return answer.status === 503 ? null : answer;
  });
}

/**
 * Does as `isCountedOnce`, once something changed there of which this host was told; a message may be
 * lost, and is sent again.
 */
async function isPassedOn(
  disk: string,
  through: Mounting,
  name: string,
  ...fleetHosts: readonly Mounting[]
): Promise<void> {
  const bytes = await counted(join(disk, 'git/alice'));
  let remindAt = performance.now() + remindMs;
  await until(
    async () => {
      const known = await Promise.all(fleetHosts.map(({ server }) => server.usage('alice')));
      if (known.every(one => one === bytes)) return true;
      if (performance.now() < remindAt) return null;
      remindAt += remindMs;
      await tell(through, name);
      return null;
    },
    () => `${name}: it was not heard of`,
  );
}

const remindMs = 5000;

/** Resolves once each host is told to walk so many directories for others. */
async function walksIs(on: Mounting, wanted: Readonly<Record<string, number>>): Promise<void> {
  await until(async () => {
    const { stdout } = await on.server.softquota(['host', 'list', '--json']);
    const hosts = z.array(z.object({ id: z.string(), walks: z.array(z.string()) })).parse(JSON.parse(stdout));
    return isDeepStrictEqual(Object.fromEntries(hosts.map(({ id, walks }) => [id, walks.length])), wanted)
      ? true
      : null;
  });
}

t.test('it counts once, and what is pushed through any host is measured at once', async t => {
  const { disk, one, two } = await nas(t);
  await walksIs(two, { one: 1, two: 0 });
  const clone = await Clone.of(one.server, '/nowhere');
  for (const through of [one, two, one, two, two]) {
    t.notMatch(await pushThrough(through, clone, 200_000), /exceeded/);
    await isPassedOn(disk, through, app, one, two);
  }
  for (const through of [one, two]) {
    t.match(await pushThrough(through, clone, 10), /alice uses 1\.\d+ MB of 1 MB/, 'it is over the limit');
  }

  t.match(JSON.parse((await asked(two, app)).text), {
    owner: 'alice',
    subject: 'size:repos:private',
    allowed: false,
  });
  t.equal((await asked(two, 'git/bob/new.git')).status, 200);

  await must('git', ['init', '-q', '--bare', join(disk, 'git/alice/new.git')]);
  t.equal(await tell(two, 'git/alice/new.git'), 202);
  await isPassedOn(disk, two, 'git/alice/new.git', one, two);
  await rm(join(disk, 'git/alice/new.git'), { recursive: true });
  t.equal(await tell(two, 'git/alice/new.git'), 202);
  await isPassedOn(disk, two, 'git/alice/new.git', one, two);
  await mkdir(join(disk, app, 'lfs'));
  await writeFile(join(disk, app, 'lfs/file'), Buffer.alloc(5000));
  t.equal(await tell(two, `${app}/lfs`), 202);
  await isPassedOn(disk, two, `${app}/lfs`, one, two);
  t.equal((await two.server.usageByLeaf('alice'))['size:git:lfs'], 5000);
  t.equal(
    (await two.server.ask('gate', '/v1/changed', { body: { path: '/elsewhere' } })).status,
    404,
    'what is under no template is told nobody',
  );
  await two.server.scan();
  t.equal(await two.server.reasons(), '', 'who walks nothing has nothing to wait for');
  await isCountedOnce(disk, one, two);
});

t.test('a push counts at once on the host that it went through, before anybody has walked', async t => {
  const { disk, one, two } = await nas(t);
  const clone = await Clone.of(one.server, '/nowhere');
  one.server.daemon.child.kill('SIGSTOP');
  t.notMatch(await pushThrough(two, clone, 700_000), /exceeded/);
  const reserved = `/v1/check?path=${join(two.place, app)}`;
  t.match(JSON.parse((await two.server.ask('gate', reserved)).text), { allowed: true });
  t.notMatch(await pushThrough(two, clone, 700_000), /exceeded/);
  t.match(await pushThrough(two, clone, 10), /alice uses 1\.\d+ MB of 1 MB/, 'what both bring counts');
  one.server.daemon.child.kill('SIGCONT');
  await isPassedOn(disk, two, app, one, two);
  const { used } = JSON.parse((await two.server.ask('gate', reserved)).text);
  t.equal(used, await counted(join(disk, 'git/alice')), 'the walk has taken its place');
});
