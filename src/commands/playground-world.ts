/** Makes the world (repositories, LFS files, working copies, hooks, app.ini), and starts its daemon. */

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { runProgram } from '../bounded/index.ts';
import { longestSocketPath } from '../config/index.ts';
import { messageOf, SoftquotaError } from '../errors.ts';
import { findClient, installHooks } from '../git/index.ts';
import { packageDirectory } from '../package.ts';
import { shellQuoted } from '../text/index.ts';
import { within } from '../within.ts';
import { gateClient } from './client.ts';

export interface World {
  readonly directory: string;
  readonly config: string;
  readonly socket: string;
  readonly adminSocket: string;
  /** Takes away what lies outside `directory`. */
  readonly clear: () => Promise<void>;
}

interface Repository {
  readonly owner: string;
  readonly name: string;
  /** Sizes of the branches' files, in bytes of what cannot be compressed. */
  readonly branches: Readonly<Record<string, number>>;
  readonly lfs: number;
}

/** Under a limit of 1 MB: carol is far below it, bob near it, alice over it until she cleans up. */
const repositories: readonly Repository[] = [
  { owner: 'alice', name: 'site', branches: { main: 200_000, videos: 2_500_000 }, lfs: 300_000 },
  { owner: 'bob', name: 'notes', branches: { main: 860_000 }, lfs: 0 },
  { owner: 'carol', name: 'tools', branches: { main: 150_000 }, lfs: 50_000 },
];

const limit = '1M';
const marker = '.softquota-playground';

/** The user's own settings of git neither help nor hinder here. */
const gitEnvironment = { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };

/** Makes it again, in place of an earlier one; throws `conflict` where something else lies. */
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
  await writeFile(config, configText(place, sockets.directory));
  const bare = repositories.map(({ owner, name }) => join(place, 'git', owner, `${name}.git`));
  const installed = await installHooks(bare, { socket, client: (await findClient()) ?? 'curl' });
  for (const result of installed) {
    if ('fault' in result) throw new SoftquotaError('internal', `${result.repository}: ${result.fault}`);
  }
  const adminSocket = join(sockets.directory, 'admin.sock');
  return { directory: place, config, socket, adminSocket, clear: sockets.clear };
}

/** Beside the data, unless the path would be longer than a socket's may be. */
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

function configText(place: string, sockets: string): string {
  return `; A playground of softquota.
[server]
DATA_PATH = ${join(place, 'data')}
SOCKET = ${join(sockets, 'gate.sock')}
TRUSTED_SOCKET = ${join(sockets, 'trusted.sock')}
ADMIN_SOCKET = ${join(sockets, 'admin.sock')}
; Any free one.
HTTP_PORT = 0

[quota]
ENABLED = true

[quota.default]
TOTAL = ${limit}

[storage.repos]
PATH = ${join(place, 'git')}/{owner}/{repo}.git

[storage.lfs]
PATH = ${join(place, 'lfs')}/{owner}

[hooks]
CONTACT = https://git.example/quota
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

export interface PlaygroundDaemon {
  /** Resolves when it ends, whoever ended it. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

const launcher = fileURLToPath(new URL('bin/softquota.js', packageDirectory));
const askAgainMs = 50;
const answerMs = 5000;
const readyWithinMs = 20_000;

/** Resolves once it has measured everything; rejects with what its log says where it ends before. */
export async function startDaemon(world: World): Promise<PlaygroundDaemon> {
  const logFile = join(world.directory, 'daemon.log');
  const log = openSync(logFile, 'w');
  const child = spawn(process.execPath, [launcher, 'serve', '--config', world.config], {
    stdio: ['ignore', log, log],
    // Settings may be meant for another daemon.
    env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('SOFTQUOTA_'))),
  });
  closeSync(log);
  const ended = once(child, 'exit').then(() => {});
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  const deadline = performance.now() + readyWithinMs;
  while (!(await isReady(world.socket))) {
    if (child.exitCode !== null || child.signalCode !== null || performance.now() > deadline) {
      await stop();
      const message = `the daemon does not start:\n${await readFile(logFile, 'utf8')}`;
      throw new SoftquotaError('unreachable', message);
    }
    await delay(askAgainMs);
  }
  return { ended, stop };
}

async function isReady(socket: string): Promise<boolean> {
  const asked = gateClient({ server: { socket } }).ask({ path: '/readyz' });
  // One that takes the question and never answers is not ready either.
  const answer = await within(asked, answerMs, null).catch(() => null);
  return answer?.status === 200;
}

interface Scene {
  readonly title: string;
  /** One line for a shell. */
  readonly line: string;
  readonly succeeds: boolean;
  /** Pattern that its output matches. */
  readonly shows: RegExp;
}

/** `command`: how this softquota is called. Paths are relative to the current directory if shorter. */
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
      title: 'carol pushes, and sees no message.',
      line: push('carol', 'more.bin', 20),
      succeeds: true,
      shows: /main -> main/,
    },
    {
      title: 'bob pushes, and sees a warning.',
      line: push('bob', 'more.bin', 20),
      succeeds: true,
      shows: /Quota warning: bob uses .{1,20} of 1 MB/,
    },
    {
      title: 'alice pushes, and is refused: the message shows the usage, the limit, and the next step.',
      line: push('alice', 'more.bin', 20),
      succeeds: false,
      shows: /Quota exceeded: alice uses .{1,20} of 1 MB/,
    },
    {
      title: 'alice can still clean up: deleting a branch is never refused.',
      line: `git -C ${at}/work/alice push origin --delete videos`,
      succeeds: true,
      shows: /\[deleted\]/,
    },
    {
      title: "The server's garbage collection frees the space, and the daemon measures again.",
      line: `git -C ${at}/git/alice/site.git gc -q --prune=now && ${command} scan alice ${config}`,
      succeeds: true,
      shows: /Measured/,
    },
    {
      title: 'The refused push is allowed now.',
      line: `git -C ${at}/work/alice push`,
      succeeds: true,
      shows: /main -> main/,
    },
  ];
}

/** A line pushes some kilobytes, or measures a few files. */
const timeoutMs = 60_000;

/** Tells each scene as it is played; throws `conflict` at the first that goes another way. */
export async function play(scenes: readonly Scene[], tell: (text: string) => void): Promise<void> {
  for (const { title, line, succeeds, shows } of scenes) {
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
