/**
 * The worker collects garbage while many push into the same repositories, and nothing is lost. In the long
 * run 50 push for three minutes.
 */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { z } from 'zod';
import { type ReclaimRun, reclaimRun } from '../../src/wire/index.ts';
import { isLong } from '../run-length.ts';
import { until } from './ask.ts';
import { counted } from './count.ts';
import { gitAs, makeRepository, openForGitUser, startWorker } from './git-user.ts';
import type { Server } from './server.ts';

t.setTimeout(3_600_000);

const pushers = isLong ? 50 : 6;
const pushingMs = isLong ? 180_000 : 1500;
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
  // A local clone links files, and fails where a collection replaces one meanwhile.
  await git('/', 'clone', '-q', '--no-local', server.path(from), clone);
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
