/** A disk that several hosts mount, each at a place of its own. */

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Test } from 'tap';
import { z } from 'zod';
import { startSingle } from '../store/redis-servers.ts';
import { type Answer, until } from './ask.ts';
import type { Clone } from './clone.ts';
import { counted } from './count.ts';
import { fleetHost } from './fleet-hosts.ts';
import { must, run } from './run.ts';
import type { Ini, Server } from './server.ts';

/** A host, and where it mounts what others mount, too. */
interface Mounting {
  readonly server: Server;
  readonly place: string;
}

interface Nas {
  /** The disk itself. */
  readonly disk: string;
  /** Walks it for both. */
  readonly one: Mounting;
  /** Leaves it to the other. */
  readonly two: Mounting;
}

/** A repository that is there from the beginning, as all of them have it. */
export const app = 'git/alice/app.git';

/** Sections of app.ini. */
const repositories = (place: string): Ini => ({
  'storage.repos': { PATH: `${place}/git/{owner}/{repo}.git` },
  'storage.lfs': { PATH: `${place}/git/{owner}/{repo}.git/lfs` },
});

/** Two hosts that know what lies on the disk. */
export async function nas(t: Test): Promise<Nas> {
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
export async function pushThrough({ server, place }: Mounting, clone: Clone, bytes: number): Promise<string> {
  const repository = join(place, app);
  const { code, stderr } = await server.softquota(['hooks', 'install', repository]);
  if (code !== 0) throw new Error(stderr);
  await clone.git('remote', 'set-url', 'origin', repository);
  await clone.commit(bytes);
  return (await clone.push()).said;
}

/** Resolves once all of them know alice to store what lies on the disk, once. */
export async function isCountedOnce(disk: string, ...fleetHosts: readonly Mounting[]): Promise<void> {
  const bytes = await counted(join(disk, 'git/alice'));
  for (const { server } of fleetHosts) await server.usageIs('alice', known => known === bytes);
}

/**
 * Tells a host that something changed there; gives the status. A disk that answers late is asked again.
 */
export async function tell({ server, place }: Mounting, name: string): Promise<number> {
  return until(async () => {
    const { status } = await server.ask('gate', '/v1/changed', { body: { path: join(place, name) } });
    return status === 503 ? null : status;
  });
}

/** Answer of its gate about a push there. */
export async function asked({ server, place }: Mounting, name: string): Promise<Answer> {
  return until(async () => {
    const answer = await server.ask('gate', `/v1/check?path=${join(place, name)}`);
    return answer.status === 503 ? null : answer;
  });
}

/**
 * Does as `isCountedOnce`, once something changed there of which this host was told; a message may be
 * lost, and is sent again.
 */
export async function isPassedOn(
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
export async function walksIs(on: Mounting, wanted: Readonly<Record<string, number>>): Promise<void> {
  await until(async () => {
    const { stdout } = await on.server.softquota(['host', 'list', '--json']);
    const hosts = z.array(z.object({ id: z.string(), walks: z.array(z.string()) })).parse(JSON.parse(stdout));
    return isDeepStrictEqual(Object.fromEntries(hosts.map(({ id, walks }) => [id, walks.length])), wanted)
      ? true
      : null;
  });
}

/** Has a host walk something else from now on. */
export async function setRoots({ server }: Mounting, ROOTS: string): Promise<void> {
  await server.configure({ scan: { ROOTS } });
  server.daemon.child.kill('SIGHUP');
}

/** Has a host that is gone forgotten. */
export async function forgets(on: Mounting, host: string): Promise<void> {
  // A host that was killed is taken to live for ten seconds.
  await until(async () => {
    const { code } = await on.server.softquota(['host', 'forget', '--yes', host]);
    return code === 0 ? true : null;
  });
}

/** Output of doctor. */
export const findings = async (on: Mounting) => (await on.server.softquota(['doctor'])).stdout;
