/**
 * Pushes that leave something on the server's disk although they were refused, or never came to an end, and
 * ways to see that all of it counts.
 */

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Test } from 'tap';
import { systemCode } from '../../src/errors.ts';
import { isLong } from '../run-length.ts';
import { Clone } from './clone.ts';
import { counted } from './count.ts';
import { gitAs } from './git-user.ts';
import { type BeginPush, rawPushes, wholePush } from './raw-push.ts';
import { identity, must, plainEnvironment } from './run.ts';
import type { Server } from './server.ts';
import { keyPair, type Transport, transports } from './transports.ts';

/** The ways that all of them take. */
const wayNames = ['file paths', 'ssh', 'http'] as const;

export interface Way {
  readonly name: string;
  readonly transport: Transport;
  readonly begin: BeginPush;
}

/** Each of the ways to a server on which `through` runs git. */
export async function openWays(t: Test, server: Server, through: readonly string[] = []): Promise<Way[]> {
  const ways: Way[] = [];
  for (const name of wayNames) {
    const transport = await transports[name](t, server, { through });
    ways.push({ name, transport, begin: rawPushes(transport, through) });
  }
  return ways;
}

/** A repository, and somebody with a commit for it that was never pushed, at `branch`. */
interface Attacked {
  readonly server: Server;
  readonly owner: string;
  readonly bare: string;
  readonly clone: Clone;
  readonly ways: readonly Way[];
  /** Number of times that each push is made by each way. */
  readonly times: number;
}

/** A push lasts for no more than nineteen of them. */
const dripMs = isLong ? 10_000 : 1000;

const attackBytes = 600_000;
export const attackBranch = 'attack';

/** The name of a scenario, and the pushes of it; some stay until what they give is called. */
type Attack = (attacked: Attacked) => Promise<() => Promise<void>>;

const done = async (): Promise<void> => {};

export const attacks = {
  'refused pushes with a hang-up': async attacked => {
    await leaveAfter(attacked, whole => whole);
    return done;
  },
  'uploads broken off before the last bytes': async attacked => {
    await leaveAfter(attacked, whole => whole.subarray(0, -20));
    return done;
  },
  'uploads that drip': drip,
  'pushes refused by a later hook': async attacked => {
    await addHook(attacked.bare, 'pre-receive.d/50-no', 'exit 1');
    await leaveAfter(attacked, whole => whole);
    await pushed(attacked);
    return done;
  },
  'pushes refused by update': async attacked => {
    await addHook(attacked.bare, 'update', 'exit 1');
    await leaveAfter(attacked, whole => whole);
    await pushed(attacked);
    return done;
  },
  'pushes refused by git': async attacked => {
    await must('git', [
      'config',
      '-f',
      join(attacked.bare, 'config'),
      'receive.hideRefs',
      'refs/heads/attack',
    ]);
    await leaveAfter(attacked, whole => whole);
    await pushed(attacked);
    return done;
  },
  'signed pushes of many refs': signed,
  'pushes that Ctrl-C ends at any moment': interrupted,
} as const satisfies Readonly<Record<string, Attack>>;

/** Pushes by each way whose client sends this much of all that it has, and is gone. */
async function leaveAfter(
  { bare, clone, ways, times }: Attacked,
  part: (whole: Buffer) => Buffer,
): Promise<void> {
  const commit = await clone.git('rev-parse', attackBranch);
  await Promise.all(
    ways.map(async ({ begin }) => {
      for (let time = 0; time < times; time++) {
        const capabilities = time % 2 === 0 ? 'report-status' : 'report-status side-band-64k';
        const whole = await wholePush(clone, commit, `${attackBranch}-${time}`, capabilities);
        const push = await begin(bare, whole.length);
        push.leave(part(whole));
        await push.ended;
      }
    }),
  );
}

/** Honest pushes by each way, which stay to the end. */
async function pushed({ server, bare, clone, ways }: Attacked): Promise<void> {
  for (const { transport } of ways) {
    const { env } = transport;
    await clone.git('remote', 'set-url', 'origin', transport.url(bare));
    const { code } = await clone.push([attackBranch], { env });
    if (code === 0) throw new Error(`a push to ${bare} was to be refused\n${server.daemon.log}`);
  }
}

/** Uploads of which all objects are there, and the bytes behind them come one by one. */
async function drip({ bare, clone, ways }: Attacked): Promise<() => Promise<void>> {
  const whole = await wholePush(clone, await clone.git('rev-parse', attackBranch), attackBranch);
  const left = 20;
  const pushes = await Promise.all(ways.map(({ begin }) => begin(bare, whole.length)));
  await Promise.all(pushes.map(push => push.send(whole.subarray(0, -left))));
  let at = whole.length - left;
  const dripping = setInterval(() => {
    for (const push of pushes) void push.send(whole.subarray(at, at + 1));
    at += 1;
  }, dripMs);
  return async () => {
    clearInterval(dripping);
    for (const push of pushes) push.leave(Buffer.alloc(0));
    await Promise.all(pushes.map(({ ended }) => ended));
  };
}

/** A signed push's certificate lists its refs, and lies in the repository whatever becomes of the push. */
async function signed({ bare, clone, ways, times }: Attacked): Promise<() => Promise<void>> {
  await must('git', ['config', '-f', join(bare, 'config'), 'receive.certNonceSeed', 'seed']);
  const key = await keyPair(clone.folder, 'signing');
  for (const [name, value] of [
    ['gpg.format', 'ssh'],
    ['user.signingKey', key],
  ] as const)
    await clone.git('config', name, value);
  for (const { transport } of ways.slice(0, times)) {
    await clone.git('remote', 'set-url', 'origin', transport.url(bare));
    const names = Array.from({ length: 100 }, () => randomBytes(100).toString('hex'));
    const refs = names.map(name => `${attackBranch}:refs/heads/${name}`);
    await clone.push(['--signed', ...refs], { env: transport.env });
  }
  return done;
}

/** The terminal's interrupt reaches git and, where it runs on this host, the server's side. */
async function interrupted({ bare, clone, ways }: Attacked): Promise<() => Promise<void>> {
  const moments = isLong ? 10 : 3;
  for (const { name, transport } of ways) {
    if (name === 'http') continue; // it sends the pack at once, and the server has it all
    await clone.git('remote', 'set-url', 'origin', transport.url(bare));
    const whole = performance.now();
    await clone.push([attackBranch], { env: transport.env });
    const wholeMs = performance.now() - whole;
    for (let moment = 0; moment < moments; moment++) {
      const child = spawn('git', ['push', '-q', 'origin', attackBranch], {
        cwd: clone.folder,
        env: { ...plainEnvironment, ...identity, ...transport.env },
        detached: true,
        stdio: 'ignore',
      });
      const ended = once(child, 'exit');
      // The moment is the attack.
      await Promise.race([ended, delay((wholeMs * (moment + 1)) / moments)]);
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGINT');
      await ended;
    }
  }
  return done;
}

/** Puts a hook in, as the git user's. */
export async function addHook(bare: string, name: string, script: string): Promise<void> {
  const file = join(bare, 'hooks', name);
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/** A repository with a first commit that makes its owner use `bytes`, and one for the attack. */
export async function attackedRepository(
  server: Server,
  ways: readonly Way[],
  owner: string,
  { bytes, times }: { readonly bytes: number; readonly times: number },
): Promise<Attacked> {
  const bare = server.path(`${owner}/app`);
  const made = await gitAs('/', 'init', '-q', '--bare', '-b', 'main', bare);
  if (made.code !== 0) throw new Error(made.stderr);
  const [local] = ways;
  const clone = await Clone.of(server, bare, { env: local?.transport.env ?? {} });
  await clone.commit(bytes);
  await clone.push();
  await clone.git('checkout', '-q', '--orphan', attackBranch);
  await clone.git('rm', '-rfq', '--ignore-unmatch', '.');
  await clone.commit(attackBytes);
  return { server, owner, bare, clone, ways, times };
}

/** A repository for each kind of attack; its owner is over the limit where pushes are to be refused. */
export async function attackedRepositories(
  server: Server,
  ways: readonly Way[],
  times: number,
): Promise<ReadonlyMap<string, Attacked>> {
  const repositories = new Map<string, Attacked>();
  for (const scenario of Object.keys(attacks)) {
    const bytes = /refused pushes|signed|Ctrl-C/.test(scenario) ? 1_200_000 : 1000;
    repositories.set(scenario, await attackedRepository(server, ways, ownerOf(scenario), { bytes, times }));
  }
  return repositories;
}

/** Attacks all of them at once; gives how to end those that stay. */
export function attackAll(
  repositories: ReadonlyMap<string, Attacked>,
): Promise<readonly (() => Promise<void>)[]> {
  return Promise.all(
    Object.entries(attacks).map(async ([scenario, attack]) => {
      const attacked = repositories.get(scenario);
      if (attacked === undefined) throw new Error(`${scenario} has no repository`);
      return attack(attacked);
    }),
  );
}

/** A push that asks, so that the repository is none that has been quiet for long. */
export async function ask({ clone }: Attacked): Promise<void> {
  await clone.push(['main:refs/heads/asked']);
}

/** The names of the quarantines in a repository. */
export async function quarantinesIn(bare: string): Promise<readonly string[]> {
  const names = await readdir(join(bare, 'objects'));
  return names.filter(name => /^(?:tmp_objdir-|incoming-)/.test(name));
}

/** The bytes on the disk that do not count, and the quarantines; both may be under way. */
export async function leftBehind({
  server,
  owner,
  bare,
}: Pick<Attacked, 'server' | 'owner' | 'bare'>): Promise<string> {
  try {
    const uncounted = (await counted(bare)) - (await server.usage(owner));
    const quarantines = await quarantinesIn(bare);
    return uncounted === 0 && quarantines.length === 0
      ? ''
      : `${uncounted} bytes uncounted, ${quarantines.length} quarantines`;
  } catch (error) {
    if (systemCode(error) === 'ENOENT' || /No such file/.test(String(error))) return 'it changes';
    throw error;
  }
}

/** The processes that a process started, and theirs. */
export async function descendantsOf(pid: number): Promise<readonly number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const children = text.split(' ').filter(Boolean).map(Number);
  const below = await Promise.all(children.map(descendantsOf));
  return [...children, ...below.flat()];
}

/** Gives the name of the scenario to an owner. */
const ownerOf = (scenario: string): string => basename(scenario.replaceAll(' ', '-')).toLowerCase();
