/**
 * The worker collects garbage, and nothing is lost: while it and its git are killed at any moment, and while
 * many push into the same repositories.
 *
 * The long run: 200 kills, and 50 who push for ten minutes.
 */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { z } from 'zod';
import { type ReclaimRun, reclaimRun } from '../../src/wire/index.ts';
import { numbersFrom, oneOf } from '../numbers.ts';
import { isLong } from '../run-length.ts';
import { until } from './ask.ts';
import { counted } from './count.ts';
import { gitAs, makeRepository, openForGitUser, startWorker } from './git-user.ts';
import type { Server } from './server.ts';

t.setTimeout(3_600_000);

const kills = isLong ? 200 : 1;
const pushers = isLong ? 50 : 6;
const pushingMs = isLong ? 600_000 : 1500;
const seed = Number(process.env.SOFTQUOTA_SEED ?? Math.floor(Math.random() * 2 ** 31));
const names = ['alice/one', 'alice/two', 'alice/three'];

async function git(cwd: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await gitAs(cwd, ...args);
  if (code !== 0) throw new Error(`git ${args.join(' ')}: ${code} ${stderr}`);
  return stdout.trim();
}

async function open(t: Test): Promise<Server> {
  const server = await openForGitUser(t, {
    'quota.default': { TOTAL: '100G' },
    reclaim: { RUN: 'gc' },
  });
  for (const name of names) await makeRepository(server, name);
  await server.installHooks();
  return server;
}

/** A clone that has a branch with its own name, which is pushed. */
async function makeClone(server: Server, from: string, name: string): Promise<string> {
  const clone = join(server.folder, 'clones', name);
  await git('/', 'clone', '-q', server.path(from), clone);
  await git(clone, 'checkout', '-q', '-B', name);
  await commit(clone, 'begin', 20_000);
  await git(clone, 'push', '-q', 'origin', name);
  return clone;
}

async function commit(clone: string, name: string, bytes: number): Promise<void> {
  // The folder is another user's, and git does not mind whose a file is.
  await writeFile(join(clone, name), randomBytes(bytes));
  await git(clone, 'add', '--all');
  await git(clone, 'commit', '-q', '-m', name);
}

/** Makes everything so old that what is unreachable is deleted, and what a killed git or worker left. */
async function age(repository: string): Promise<void> {
  const old = new Date(Date.now() - 86_400_000);
  await utimes(join(repository, 'gc.pid.lock'), old, old).catch(() => {}); // mostly there is none
  const entries = await readdir(join(repository, 'objects'), { recursive: true, withFileTypes: true });
  for (const entry of entries) if (entry.isFile()) await utimes(join(entry.parentPath, entry.name), old, old);
}

async function fsck(t: Test, repository: string, when: string): Promise<void> {
  const { code, stdout, stderr } = await gitAs(repository, 'fsck', '--full', '--strict');
  const faults = `${stdout}${stderr}`.split('\n').filter(line => !/^(dangling|notice|$)/.test(line));
  if (code !== 0 || faults.length > 0) t.fail(`${when}: fsck of ${repository}: ${code} ${faults.join('; ')}`);
}

const runs = z.array(reclaimRun);

/** Has the worker collect as soon as the daemon knows it; gives the collection's id. */
function begin(server: Server, repository: string): Promise<number> {
  let last = '';
  return until(
    async () => {
      const { status, text } = await server.ask('admin', '/api/v1/admin/quota/reclaims', {
        body: { repository },
      });
      last = text;
      return status === 202 ? (runs.parse(JSON.parse(text))[0]?.id ?? null) : null;
    },
    () => last,
  );
}

/** Resolves once a collection has ended. */
function ended(server: Server, id: number): Promise<ReclaimRun> {
  return until(
    async () => {
      const { text } = await server.ask('admin', '/api/v1/admin/quota/reclaims');
      const found = runs.parse(JSON.parse(text)).find(each => each.id === id);
      return found === undefined || found.state === 'running' ? null : found;
    },
    () => 'the collection did not end',
  );
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return text.split(' ').filter(Boolean).map(Number);
}

/** The signals that end the worker (true) or its git, in the order in which they come. */
const endings: Readonly<Record<string, readonly (readonly [isWorker: boolean, signal: NodeJS.Signals])[]>> = {
  'the worker is stopped': [[true, 'SIGTERM']],
  'the worker is killed': [[true, 'SIGKILL']],
  'git is stopped': [[false, 'SIGTERM']],
  'git is killed': [[false, 'SIGKILL']],
  'both are killed': [
    [true, 'SIGKILL'],
    [false, 'SIGKILL'],
  ],
};

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}

t.test(`a worker and its git end at any moment, and nothing is lost (SOFTQUOTA_SEED=${seed})`, async t => {
  const random = numbersFrom(seed);
  const server = await open(t);
  const clones = new Map<string, string>();
  for (const [index, name] of names.entries()) {
    const clone = await makeClone(server, name, `main${index}`);
    for (let n = 0; n < 8; n++) await commit(clone, `f${n}`, 50_000);
    await git(clone, 'push', '-q', 'origin', `main${index}`);
    clones.set(name, clone);
  }
  await server.scan();
  let worker = await startWorker(t, server);
  let longest = 100;
  const came: Record<string, number> = {};
  for (let turn = 0; turn < kills; turn++) {
    const name = oneOf(names, random);
    const path = server.path(name);
    const clone = clones.get(name) ?? '';
    await commit(clone, `f${random(12)}`, oneOf([2000, 60_000, 300_000], random));
    await git(clone, 'push', '-q', '--force', 'origin', 'HEAD', 'HEAD:gone');
    const commits = Number(await git(clone, 'rev-list', '--count', 'HEAD'));
    await git(clone, 'reset', '-q', '--hard', `HEAD~${Math.min(random(3), commits - 1)}`);
    await git(clone, 'push', '-q', '--force', 'origin', 'HEAD', ':gone');
    await age(path);
    const refs = await git(path, 'for-each-ref');

    const how = oneOf(Object.keys(endings), random);
    const id = await begin(server, name);
    // Most of them end while git deletes, the others at any time.
    const lock = join(path, 'gc.pid');
    for (let look = 0; random(5) > 0 && look < 500 && !existsSync(lock); look++) await delay(2);
    await delay(random(Math.ceil(longest)));
    const pid = worker.pid ?? 0;
    const groups = await childrenOf(pid);
    const exit = once(worker, 'exit');
    for (const [isWorker, signal] of endings[how] ?? [])
      if (isWorker) worker.kill(signal);
      else for (const group of groups) send(random(2) === 0 ? group : -group, signal);
    const what = `turn ${turn}, ${how}, git ${groups.join(' ')}`;
    came[`${how}${groups.length === 0 ? ', no git' : ''}`] =
      (came[`${how}${groups.length === 0 ? ', no git' : ''}`] ?? 0) + 1;
    if (how.startsWith('git')) {
      const { state } = await ended(server, id);
      // Slower hosts are given more time, so that each step is met.
      longest = state === 'done' ? Math.min(3000, longest * 1.5) : longest * 0.9;
    } else {
      await exit;
      if (how === 'the worker is stopped') {
        t.equal(worker.exitCode, 0, worker.said());
        for (const group of groups) t.notOk(existsSync(`/proc/${group}`), `${what} has ended`);
      }
      // A git whose worker was killed goes on by itself.
      for (const group of groups) await until(() => (existsSync(`/proc/${group}`) ? null : true));
      worker = await startWorker(t, server);
    }
    t.equal(await git(path, 'for-each-ref'), refs, what);
    await fsck(t, path, what);
  }
  t.comment(JSON.stringify(came), `within ${longest.toFixed(0)} ms`);
  for (const name of names) {
    await age(server.path(name));
    const { state, message, unreachable_bytes: left } = await ended(server, await begin(server, name));
    t.same({ state, left }, { state: 'done', left: 0 }, `${message}`);
    await fsck(t, server.path(name), 'at the end');
    const files = await readdir(server.path(name), { recursive: true });
    t.same(
      files.filter(file => /tmp[-_]|\.lock$|gc\.pid/.test(file)),
      [],
    );
  }
  await server.scan();
  const onDisk = await counted(join(server.folder, 'git'));
  // A repack leaves signs for ten seconds.
  await server.usageIs('alice', used => used === onDisk);
});

/** git's prune removes an empty directory of objects just as git's receive-pack writes its first file there. */
const lostDirectory = /unable to write file .*: No such file or directory/;

t.test(`${pushers} push while the worker collects in the same repositories`, async t => {
  const server = await open(t);
  for (const name of names) await makeClone(server, name, name.replace('/', '-'));
  await server.scan();
  const worker = await startWorker(t, server);
  const end = performance.now() + pushingMs;
  const isOver = () => performance.now() >= end;
  const totals = { collections: 0, pushes: 0 };
  const collecting = (async () => {
    for (let turn = 0; !isOver(); turn++) {
      const name = names[turn % names.length] ?? '';
      // This object is old enough to be collected; those of running pushes are too young.
      const garbage = join(server.folder, 'clones', 'garbage');
      await writeFile(garbage, randomBytes(30_000), { mode: 0o644 });
      const blob = await git(server.path(name), 'hash-object', '-w', garbage);
      const old = new Date(Date.now() - 86_400_000);
      await utimes(join(server.path(name), 'objects', blob.slice(0, 2), blob.slice(2)), old, old);
      const { state, message } = await ended(server, await begin(server, name));
      t.equal(state, 'done', `${message}`);
      t.equal((await gitAs(server.path(name), 'cat-file', '-e', blob)).code, 1, 'the old garbage is gone');
      totals.collections += 1;
    }
  })();
  const pushing = Array.from({ length: pushers }, async (_, who) => {
    const clone = await makeClone(server, names[who % names.length] ?? '', `b${who}`);
    for (let turn = 0; turn === 0 || !isOver(); turn++) {
      await commit(clone, `f${who}-${turn % 5}`, 20_000);
      const orders = [
        ['HEAD'],
        ['--force', `HEAD~1:refs/heads/b${who}`],
        ['HEAD', `HEAD:refs/tags/t${who}`],
        [`:t${who}`, 'HEAD'],
      ];
      const push = ['push', '-q', 'origin', ...(orders[turn % orders.length] ?? [])];
      let { code, stderr } = await gitAs(clone, ...push);
      if (lostDirectory.test(stderr)) ({ code, stderr } = await gitAs(clone, ...push));
      if (code !== 0) t.fail(`push ${turn} of ${who}: ${stderr}`);
      totals.pushes += 1;
    }
  });
  await Promise.all([...pushing, collecting]);
  t.comment(JSON.stringify(totals));
  t.ok(totals.collections > 0, JSON.stringify(totals));
  worker.kill('SIGTERM');
  await once(worker, 'exit');
  for (const name of names) await fsck(t, server.path(name), 'at the end');
  await server.scan();
  const onDisk = await counted(join(server.folder, 'git'));
  // A repack leaves signs for ten seconds.
  await server.usageIs('alice', used => used === onDisk);
});
