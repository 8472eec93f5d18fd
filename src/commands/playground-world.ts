/** Makes the playground (repositories, LFS files, working copies, hooks, app.ini); starts its programs. */

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { groupName, type SystemAccount, systemAccounts } from '../accounts.ts';
import { runProgram } from '../bounded/index.ts';
import { longestSocketPath } from '../config/index.ts';
import { messageOf, SoftquotaError } from '../errors.ts';
import { findClient, installHooks } from '../git/index.ts';
import { packageDirectory } from '../package.ts';
import { shellQuoted } from '../text.ts';
import { within } from '../turns.ts';
import { spaceAnswer } from '../wire/index.ts';
import { gateClient, localAdminClient } from './client.ts';

export interface World {
  readonly directory: string;
  readonly config: string;
  readonly socket: string;
  readonly adminSocket: string;
  /** Removes the files outside `directory`. */
  readonly clear: () => Promise<void>;
}

interface Repository {
  readonly owner: string;
  readonly name: string;
  /** Bytes of the file in each branch; they are random, so git cannot compress them. */
  readonly branches: Readonly<Record<string, number>>;
  readonly lfs: number;
}

/** Under a limit of 1 MB: carol is far below it, bob near it, alice over it until she cleans up. */
const repositories: readonly Repository[] = [
  { owner: 'alice', name: 'site', branches: { main: 200_000, videos: 900_000 }, lfs: 300_000 },
  { owner: 'bob', name: 'notes', branches: { main: 860_000 }, lfs: 0 },
  { owner: 'carol', name: 'tools', branches: { main: 150_000 }, lfs: 50_000 },
];

const limit = '1M';
/** The owner who is refused in the story. */
export const overLimit = 'alice';
const marker = '.softquota-playground';

/** Ignores the user's own settings of git. */
const gitEnvironment = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };

/** Makes the playground; replaces an earlier one. Throws `conflict` if the directory is something else. */
export async function makeWorld(directory: string): Promise<World> {
  const place = resolve(directory);
  if (existsSync(place) && !existsSync(join(place, marker))) {
    const message = `${place} exists and is not a playground; choose another directory with --dir`;
    throw new SoftquotaError('conflict', message);
  }
  await rm(place, { recursive: true, force: true });
  await mkdir(join(place, 'data'), { recursive: true });
  await writeFile(join(place, marker), '');
  const sockets = await socketDirectory(place);
  const socket = join(sockets.directory, 'gate.sock');
  for (const repository of repositories) await makeRepository(place, repository);
  const config = join(place, 'app.ini');
  await writeFile(config, configText(place, sockets.directory, await freePort()));
  const bare = repositories.map(({ owner, name }) => join(place, 'git', owner, `${name}.git`));
  const installed = await installHooks(bare, { socket, client: (await findClient()) ?? 'curl' });
  for (const result of installed) {
    if ('fault' in result) throw new SoftquotaError('internal', `${result.repository}: ${result.fault}`);
  }
  const adminSocket = join(sockets.directory, 'admin.sock');
  return { directory: place, config, socket, adminSocket, clear: sockets.clear };
}

/** The directory of the sockets: that of the data, unless the path would be too long for a socket. */
async function socketDirectory(
  place: string,
): Promise<{ readonly directory: string; readonly clear: () => Promise<void> }> {
  const beside = join(place, 'data');
  if (Buffer.byteLength(join(beside, 'trusted.sock')) <= longestSocketPath) {
    return { directory: beside, clear: async () => {} };
  }
  const directory = await mkdtemp(join(tmpdir(), 'softquota-'));
  return { directory, clear: () => rm(directory, { recursive: true, force: true }) };
}

/** A free port of this host. Another program may still take it before the daemon does. */
async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** The worker's user if root runs this, since the worker never runs as root; null: the user who runs this. */
function workerAccount(): SystemAccount | null {
  if (process.geteuid?.() !== 0) return null;
  const nobody = { name: 'nobody', uid: 65_534, gid: 65_534, home: '/' };
  return systemAccounts().users.find(({ name }) => name === nobody.name) ?? nobody;
}

function configText(place: string, sockets: string, port: number): string {
  const account = workerAccount();
  const admitted = account === null ? '' : `TRUSTED_MODE = 0660\nTRUSTED_GROUP = ${groupName(account.gid)}\n`;
  return `; A playground of softquota.
[server]
DATA_PATH = ${join(place, 'data')}
SOCKET = ${join(sockets, 'gate.sock')}
TRUSTED_SOCKET = ${join(sockets, 'trusted.sock')}
ADMIN_SOCKET = ${join(sockets, 'admin.sock')}
HTTP_PORT = ${port}
ROOT_URL = http://127.0.0.1:${port}/
${admitted}
[quota]
ENABLED = true
GARBAGE = forgive

[quota.default]
TOTAL = ${limit}

[storage.repos]
PATH = ${join(place, 'git')}/{owner}/{repo}.git

[storage.lfs]
PATH = ${join(place, 'lfs')}/{owner}
`;
}

async function makeRepository(place: string, { owner, name, branches, lfs }: Repository): Promise<void> {
  const bare = join(place, 'git', owner, `${name}.git`);
  const work = join(place, 'work', owner);
  await git(['init', '-q', '--bare', '-b', 'main', bare]);
  await git(['clone', '-q', bare, work]);
  const settings = {
    'user.name': owner,
    'user.email': `${owner}@git.example`,
    'commit.gpgsign': 'false',
    'push.default': 'current',
  };
  for (const [key, value] of Object.entries(settings)) await git(['-C', work, 'config', key, value]);
  for (const [branch, bytes] of Object.entries(branches)) {
    await git(['-C', work, 'checkout', '-q', branch === 'main' ? '--orphan' : '-b', branch]);
    await writeFile(join(work, `${branch}.bin`), randomBytes(bytes));
    await git(['-C', work, 'add', '-A']);
    await git(['-C', work, 'commit', '-q', '-m', `the ${branch} of ${name}`]);
    await git(['-C', work, 'push', '-q', 'origin', branch]);
  }
  await git(['-C', work, 'checkout', '-q', 'main']);
  if (lfs > 0) {
    const store = join(place, 'lfs', owner, 'ab', 'cd');
    await mkdir(store, { recursive: true });
    await writeFile(join(store, `abcd${randomBytes(30).toString('hex')}`), randomBytes(lfs));
  }
}

async function git(args: readonly string[]): Promise<void> {
  const fault = (why: string, cause?: unknown) =>
    new SoftquotaError('internal', `the playground cannot be created: ${why}`, { cause });
  const options = { timeoutMs: 60_000, env: gitEnvironment } as const;
  const { status, complaint } = await runProgram('git', args, options).catch((cause: unknown) => {
    throw fault(messageOf(cause), cause);
  });
  if (status !== 0) throw fault(`git ${args.join(' ')}: ${complaint}`);
}

export interface PlaygroundPrograms {
  /** Resolves when one of the programs ends, for any reason. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

const launcher = fileURLToPath(new URL('bin/softquota.js', packageDirectory));
const askAgainMs = 50;
const answerMs = 5000;
const readyWithinMs = 60_000;

/** Resolves once the daemon has measured everything; rejects with its log if it ends before. */
export function startDaemon(world: World): Promise<PlaygroundPrograms> {
  return started(world, 'daemon', [process.execPath, launcher, 'serve'], () => isReady(world));
}

/** Resolves once everything is measured and examined; rejects with the log of a program that ends before. */
export async function startPrograms(world: World): Promise<PlaygroundPrograms> {
  const daemon = await startDaemon(world);
  try {
    const command = [...asWorker(), process.execPath, launcher, 'worker'];
    const worker = await started(world, 'worker', command, () => isLookedThrough(world));
    const all = [worker, daemon];
    return {
      ended: Promise.race(all.map(({ ended }) => ended)),
      stop: async () => {
        for (const { stop } of all) await stop();
      },
    };
  } catch (error) {
    await daemon.stop();
    throw error;
  }
}

async function started(
  world: World,
  name: 'daemon' | 'worker',
  [program = '', ...args]: readonly string[],
  isReady: () => Promise<boolean>,
): Promise<PlaygroundPrograms> {
  const logFile = join(world.directory, `${name}.log`);
  const log = openSync(logFile, 'w');
  const child = spawn(program, [...args, '--config', world.config], {
    stdio: ['ignore', log, log],
    // Variables of softquota may be meant for another daemon.
    env: Object.fromEntries(Object.entries(process.env).filter(([key]) => !key.startsWith('SOFTQUOTA_'))),
  });
  closeSync(log);
  let fault = '';
  const ended = once(child, 'exit').then(
    () => {},
    error => {
      fault = messageOf(error);
    },
  );
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  const deadline = performance.now() + readyWithinMs;
  while (!(await isReady())) {
    if (child.exitCode !== null || child.signalCode !== null || performance.now() > deadline) {
      await stop();
      const message = `the ${name} does not start:\n${fault}${await readFile(logFile, 'utf8')}`;
      throw new SoftquotaError('unreachable', message);
    }
    await delay(askAgainMs);
  }
  return { ended, stop };
}

/** The prefix of a command that runs as the worker's user, who can read root's files if root can. */
function asWorker(): readonly string[] {
  const account = workerAccount();
  if (account === null) return [];
  const [, capabilities = '0'] = /^CapEff:\s*(\w+)/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  const mayRead = (BigInt(`0x${capabilities}`) & capDacReadSearch) !== 0n;
  const user = ['setpriv', '--reuid', `${account.uid}`, '--regid', `${account.gid}`, '--clear-groups'];
  return [...user, ...(mayRead ? readingAll : []), '--'];
}

const capDacReadSearch = 4n;
/** The last option is for access(2), with which git checks permissions. */
const readingAll = ['--inh-caps', '+dac_read_search', '--ambient-caps', '+dac_read_search'].concat(
  '--securebits',
  '+no_setuid_fixup',
);

async function isReady({ socket }: World): Promise<boolean> {
  return (await gateStatus(socket, '/readyz')) === 200;
}

/** The status of the gate's answer; null if there is none in time. */
async function gateStatus(socket: string, path: string): Promise<number | null> {
  const asked = gateClient({ server: { socket } }).ask({ path });
  return (await within(asked, answerMs, null).catch(() => null))?.status ?? null;
}

/** Returns true if the worker has examined the repository of the owner who is refused. */
async function isLookedThrough({ adminSocket }: World): Promise<boolean> {
  const path = `/admin/quota/space?user=${overLimit}&repo=site`;
  const asked = localAdminClient({ server: { adminSocket } }).get({ path });
  const found = spaceAnswer.safeParse(await within(asked, answerMs, null).catch(() => null));
  return found.data?.state === 'done';
}

interface Scene {
  readonly title: string;
  /** One line for a shell. */
  readonly line: string;
  readonly succeeds: boolean;
  /** Pattern that its output matches. */
  readonly shows: RegExp;
  /** The scene begins when this owner may push, a moment after the scene before. */
  readonly whenAllowed?: string;
}

/** The scenes. `command` calls this softquota. Paths below the current directory are relative. */
export function story(world: World, command: string): readonly Scene[] {
  const beside = relative(process.cwd(), world.directory);
  const at = shellQuoted(beside.startsWith('..') || beside === '' ? world.directory : beside);
  const push = (owner: string, file: string, kilobytes: number) =>
    `(cd ${at}/work/${owner} && head -c ${kilobytes}000 /dev/urandom > ${file} && git add ${file} && git commit -qm ${file} && git push)`;
  const config = `--config ${at}/app.ini`;
  return [
    {
      title: 'The usage of all owners: alice is over her limit of 1 MB, bob is near his.',
      line: `${command} usage ${config}`,
      succeeds: true,
      shows: /alice\b.{1,200}\bover the limit/,
    },
    {
      title: 'bob pushes, and is warned.',
      line: push('bob', 'more.bin', 20),
      succeeds: true,
      shows: /Quota warning: bob uses .{1,20} of 1 MB/,
    },
    {
      title: 'alice pushes, and is refused: she reads how much she uses, and what takes the space.',
      line: push(overLimit, 'more.bin', 20),
      succeeds: false,
      shows: /Quota exceeded: alice uses .{1,20} of 1 MB(.|\n){1,400} branch videos/,
    },
    {
      title: 'She deletes that branch, which is never refused.',
      line: `git -C ${at}/work/${overLimit} push origin --delete videos`,
      succeeds: true,
      shows: /\[deleted\]/,
    },
    {
      title: 'The same push passes now: no administrator, and no garbage collection.',
      line: `git -C ${at}/work/${overLimit} push`,
      succeeds: true,
      shows: /main -> main/,
      whenAllowed: overLimit,
    },
  ];
}

/** Time limit of a line, which pushes some kilobytes, or measures a few files. */
const timeoutMs = 60_000;

/** Runs each scene, and prints it. Throws `conflict` at the first one that goes another way. */
export async function play(
  { socket }: Pick<World, 'socket'>,
  scenes: readonly Scene[],
  tell: (text: string) => void,
): Promise<void> {
  for (const { title, line, succeeds, shows, whenAllowed } of scenes) {
    const check = `/v1/check?owner=${whenAllowed}&subject=size:repos:private`;
    const deadline = performance.now() + readyWithinMs;
    while (whenAllowed !== undefined && (await gateStatus(socket, check)) !== 200) {
      if (performance.now() > deadline) break;
      await delay(askAgainMs);
    }
    tell(`# ${title}\n${line}\n`);
    const { status, output } = await runProgram('sh', ['-c', `exec 2>&1; ${line}`], {
      timeoutMs,
      cwd: process.cwd(),
      env: process.env,
    });
    tell(`${output.trimEnd()}\n\n`);
    if ((status === 0) !== succeeds) {
      throw new SoftquotaError(
        'conflict',
        `this command should ${succeeds ? 'succeed' : 'be refused'}, but its exit status was ${status}`,
      );
    }
    if (!shows.test(output)) throw new SoftquotaError('conflict', `this command should show ${shows.source}`);
  }
}
