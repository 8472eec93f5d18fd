/**
 * A file system that several hosts mount: one of them walks it, it counts once, and all of them answer for
 * it.
 */

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import t, { type Test } from 'tap';
import { z } from 'zod';
import { startSingle } from '../store/redis-servers.ts';
import { type Answer, type Question, until } from './ask.ts';
import { Clone } from './clone.ts';
import { counted } from './count.ts';
import { fleetHost } from './fleet-hosts.ts';
import { must, run } from './run.ts';
import type { Server } from './server.ts';

t.setTimeout(300_000);

/** A host, and where it mounts what others mount, too. */
interface Mounting {
  readonly server: Server;
  readonly place: string;
}

/** A repository that is there from the beginning, as all of them have it. */
const app = 'git/alice/app.git';

/** Two hosts that know what lies on the disk: the first walks it, and the second leaves it to that one. */
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
    const ini = {
      'storage.repos': { PATH: `${place}/git/{owner}/{repo}.git` },
      'storage.lfs': { PATH: `${place}/git/{owner}/{repo}.git/lfs` },
      scan: { ROOTS },
    };
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

/** Asks the gate of a host; a disk that answers late is asked again. */
async function askGate({ server }: Mounting, path: string, question: Question = {}): Promise<Answer> {
  return until(async () => {
    const answer = await server.ask('gate', path, question);
    return answer.status === 503 ? null : answer;
  });
}

/** Tells a host that something changed there; gives the status. */
async function tell(on: Mounting, name: string): Promise<number> {
  return (await askGate(on, '/v1/changed', { body: { path: join(on.place, name) } })).status;
}

/** The answer of its gate about a push there. */
const checked = (on: Mounting, name: string) => askGate(on, `/v1/check?path=${join(on.place, name)}`);

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

/** Output of doctor. */
const findings = async (on: Mounting) => (await on.server.softquota(['doctor'])).stdout;

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

  t.match(JSON.parse((await checked(two, app)).text), {
    owner: 'alice',
    subject: 'size:repos:private',
    allowed: false,
  });
  t.equal((await checked(two, 'git/bob/new.git')).status, 200);

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

t.test('the host that walked it counts until another one is told to walk it', async t => {
  const { disk, one, two } = await nas(t);
  await walksIs(two, { one: 1, two: 0 });
  await one.server.stop('SIGKILL');
  const before = await two.server.usage('alice');
  t.ok(before > 0, 'it still counts');
  await writeFile(join(disk, app, 'objects/new'), Buffer.alloc(70_000));
  await two.server.scan();
  t.equal(await two.server.usage('alice'), before, 'nobody else walks it');
  const finds = (like: RegExp) => until(async () => (like.test(await findings(two)) ? true : null));
  await finds(/^wrong \(shared_unwalked\): the host one, which walks \S+git, has sent nothing/m);
  // A host that was killed is taken to live for ten seconds.
  await until(async () => ((await two.server.softquota('host forget --yes one')).code === 0 ? true : null));
  await finds(/^wrong \(shared_unwalked\): no host walks \S+git, which the host two leaves/m);
  await two.server.reload({ scan: { ROOTS: 'all' } });
  await isCountedOnce(disk, two);
  t.notMatch(await findings(two), /shared_unwalked/);

  await one.server.configure({ scan: { ROOTS: 'none' } });
  await one.server.start();
  await isCountedOnce(disk, one, two);
  await walksIs(one, { one: 0, two: 1 });
  await rm(join(disk, app, 'objects/new'));
  t.equal(await tell(one, app), 202);
  await isPassedOn(disk, one, app, one, two);
  await rm(join(disk, 'git/alice'), { recursive: true });
  await two.server.scan();
  for (const { server } of [one, two]) await server.usageIs('alice', bytes => bytes === 0);
});
