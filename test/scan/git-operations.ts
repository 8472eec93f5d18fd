/**
 * Operations of git and others on a repository, and what catches each: its signature, or only a walk of
 * VERIFY.
 */

import { throws } from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Ground } from './git-ground.ts';
import { fill } from './world.ts';

/**
 * `signature`: no sweep misses it. `VERIFY`: no directory shows it, so a sweep keeps the figure until the
 * repository is pushed to, checked or verified. `nothing`: there is nothing to catch.
 */
export type Catcher = 'signature' | 'VERIFY' | 'nothing';

export interface Operation {
  readonly by: Catcher;
  readonly prepare: (ground: Ground) => void;
  readonly run: (ground: Ground) => void;
}

const manyObjects = 150;

const push: Operation['run'] = ({ work, commit, gitIn }) => {
  commit(3);
  gitIn(work, 'push', '-q', 'origin', 'HEAD:main');
};

/** Makes an object whose name begins with these digits, and gives the file that it is made of. */
function contentNamed(ground: Ground, digits: string): string {
  for (;;) {
    const file = join(ground.work, '..', 'content');
    writeFileSync(file, randomBytes(200).toString('hex'));
    if (ground.git('hash-object', file).startsWith(digits)) return file;
  }
}

/** Writes a file that is new in its directory, also where one of its name is there. */
function fillAnew(path: string, bytes: number): void {
  rmSync(path, { force: true });
  fill(path, bytes);
}

function fanOutOf({ path }: Ground): string {
  const [first = ''] = readdirSync(path('objects')).filter(name => /^[0-9a-f]{2}$/.test(name));
  return first;
}

/** A directory for objects that has none, so that one more leaves it empty when it goes. */
function emptyFanOut({ path }: Ground): string {
  const names = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
  const isEmpty = (name: string) =>
    !existsSync(path('objects', name)) || readdirSync(path('objects', name)).length === 0;
  const name = names.findLast(isEmpty);
  if (name === undefined) throw new Error('all directories have objects');
  return name;
}

/** Two objects that nothing refers to in one directory, of which one is old. */
function makeUnreachable(ground: Ground): void {
  const directory = fanOutOf(ground);
  const names = [0, 1].map(() => ground.git('hash-object', '-w', contentNamed(ground, directory)).trim());
  const [old = ''] = names;
  execFileSync('touch', ['-d', '1 year ago', ground.path('objects', directory, old.slice(2))]);
}

const bySignature = (run: Operation['run'], prepare: Operation['run'] = () => {}): Operation => {
  return { by: 'signature', prepare, run };
};

const byVerify: typeof bySignature = (run, prepare) => ({ ...bySignature(run, prepare), by: 'VERIFY' });

const unchanged = (run: Operation['run']): Operation => ({ ...bySignature(run), by: 'nothing' });

export const operations: Readonly<Record<string, Operation>> = {
  'push of some objects': bySignature(push),
  'push of some objects into directories that are all there': bySignature(
    ground => push(ground),
    ({ path }) => {
      for (let byte = 0; byte < 256; byte++)
        mkdirSync(path('objects', byte.toString(16).padStart(2, '0')), { recursive: true });
    },
  ),
  'push of a pack': bySignature(({ work, commit, gitIn }) => {
    commit(manyObjects);
    gitIn(work, 'push', '-q', 'origin', 'HEAD:main');
  }),
  'forced push': bySignature(({ work, commit, gitIn }) => {
    gitIn(work, 'reset', '-q', '--hard', 'HEAD~1');
    commit(2);
    gitIn(work, 'push', '-q', '--force', 'origin', 'HEAD:main');
  }),
  'push of a branch at a commit that is there': bySignature(({ work, gitIn }) =>
    gitIn(work, 'push', '-q', 'origin', 'HEAD:refs/heads/deep/er/branch'),
  ),
  'push of a tag': bySignature(({ work, gitIn }) => {
    gitIn(work, 'tag', '-a', '-m', 'a tag', 'v1');
    gitIn(work, 'push', '-q', 'origin', 'v1');
  }),
  'push that deletes a branch': bySignature(({ work, gitIn }) =>
    gitIn(work, 'push', '-q', 'origin', ':refs/heads/deep/er/branch'),
  ),
  'push that a hook refuses': bySignature(
    ({ work, commit, gitIn, path }) => {
      commit(2);
      throws(() => gitIn(work, 'push', '-q', 'origin', 'HEAD:main'));
      gitIn(work, 'reset', '-q', '--hard', 'HEAD~1');
      // The push leaves only the change that its quarantine made to `objects`.
      chmodSync(path('hooks/pre-receive'), 0o644);
    },
    ({ path }) => {
      mkdirSync(path('hooks'), { recursive: true });
      writeFileSync(path('hooks/pre-receive'), '#!/bin/sh\nexit 1\n');
      chmodSync(path('hooks/pre-receive'), 0o755);
    },
  ),
  'clone and fetch from it': unchanged(({ repository, work, gitIn }) => {
    gitIn(work, 'clone', '-q', '--no-local', repository, join(work, '../clone'));
    gitIn(work, 'fetch', '-q', 'origin');
  }),
  fsck: unchanged(({ git }) => git('fsck', '--no-dangling')),
  'fetch of some objects': bySignature(({ other, git, commit, gitIn }) => {
    commit(2, other);
    git('fetch', '-q', other, '+main:from-other');
    gitIn(other, 'status');
  }),
  'fetch of a pack': bySignature(({ other, git, commit }) => {
    commit(manyObjects, other);
    git('fetch', '-q', other, '+main:from-other');
  }),
  'fetch that brings nothing new, and looks whether there is something to maintain': bySignature(
    ({ other, git }) => git('fetch', '-q', other, 'main', 'HEAD'),
  ),
  'fetch that brings nothing new': byVerify(({ other, git }) =>
    git('-c', 'maintenance.auto=false', 'fetch', '-q', other, 'main'),
  ),
  'hash-object -w into a new directory': bySignature(
    ground => ground.git('hash-object', '-w', contentNamed(ground, 'ff')),
    ground => rmSync(ground.path('objects', 'ff'), { recursive: true, force: true }),
  ),
  'hash-object -w into a directory that is there': byVerify(ground =>
    ground.git('hash-object', '-w', contentNamed(ground, fanOutOf(ground))),
  ),
  'unpack-objects into directories that are there': byVerify(
    ({ repository, work, gitIn }) => {
      const pack = 'git -C "$1" pack-objects --all --stdout -q </dev/null | git -C "$2" unpack-objects -q';
      execFileSync('sh', ['-c', pack, 'sh', work, repository]);
      gitIn(work, 'push', '-q', '--dry-run', 'origin', 'HEAD:main');
    },
    ground => {
      ground.commit(2);
      for (let byte = 0; byte < 256; byte++)
        mkdirSync(ground.path('objects', byte.toString(16).padStart(2, '0')), { recursive: true });
    },
  ),
  'prune that leaves its directory': byVerify(
    ({ git }) => git('prune', '--expire=1.month.ago'),
    ground => {
      // Takes away what is empty, too.
      ground.git('prune', '--expire=1.month.ago');
      makeUnreachable(ground);
    },
  ),
  'prune that empties a directory': bySignature(
    ({ git }) => git('prune', '--expire=now'),
    ground => ground.git('hash-object', '-w', contentNamed(ground, emptyFanOut(ground))),
  ),
  'update-ref: a new ref': bySignature(({ git }) => git('update-ref', 'refs/heads/new', 'refs/heads/main')),
  'update-ref: one that moves': bySignature(({ git }) =>
    git('update-ref', 'refs/heads/new', 'refs/heads/main~1'),
  ),
  'update-ref: a deep one that moves': bySignature(
    ({ git }) => git('update-ref', 'refs/a/b/c/d', 'refs/heads/main~1'),
    ({ git }) => git('update-ref', 'refs/a/b/c/d', 'refs/heads/main'),
  ),
  'update-ref: one that goes': bySignature(({ git }) => git('update-ref', '-d', 'refs/heads/new')),
  'symbolic-ref': bySignature(({ git }) => git('symbolic-ref', 'HEAD', 'refs/heads/other')),
  'branch -m': bySignature(
    ({ git }) => git('branch', '-m', 'one', 'two'),
    ({ git }) => git('branch', 'one', 'main'),
  ),
  'notes add': bySignature(({ git }) => git('notes', 'add', '-m', 'a note', 'main')),
  replace: bySignature(({ git }) => git('replace', 'main', 'main~1')),
  'pack-refs': bySignature(({ git }) => git('pack-refs', '--all')),
  'an entry of a reflog, with its ref': bySignature(
    ({ git }) => git('update-ref', 'refs/heads/logged', 'main~1'),
    ({ git }) => {
      git('config', 'core.logAllRefUpdates', 'always');
      git('update-ref', 'refs/heads/logged', 'main');
    },
  ),
  'an entry that is only appended to a reflog': byVerify(({ path }) =>
    appendFileSync(path('logs/refs/heads/logged'), 'one more line\n'),
  ),
  'reflog expire': bySignature(({ git }) => git('reflog', 'expire', '--expire=now', '--all')),
  'repack of what is loose': bySignature(({ git }) => git('repack', '-d', '-q')),
  'repack of all': bySignature(({ git }) => git('repack', '-a', '-d', '-q'), push),
  'repack that loosens what nothing refers to': bySignature(
    ({ git }) => git('repack', '-A', '-d', '-q', '--unpack-unreachable=1.year.ago'),
    ({ git }) => git('update-ref', '-d', 'refs/heads/from-other'),
  ),
  'repack with a bitmap': bySignature(({ git }) => git('repack', '-a', '-d', '-b', '-q')),
  'prune-packed': bySignature(
    ({ git }) => git('prune-packed', '-q'),
    ground => {
      // Unreachable objects are in no pack, and would keep the directories from going.
      ground.git('prune', '--expire=now');
      push(ground);
      ground.git('repack', '-q');
    },
  ),
  'multi-pack-index write': bySignature(({ git }) => git('multi-pack-index', 'write')),
  'multi-pack-index repack': bySignature(
    ({ git }) => git('multi-pack-index', 'repack', '--batch-size=0'),
    ground => {
      ground.commit(manyObjects);
      ground.gitIn(ground.work, 'push', '-q', 'origin', 'HEAD:main');
      ground.git('multi-pack-index', 'write');
    },
  ),
  'commit-graph write': bySignature(({ git }) => git('commit-graph', 'write', '--reachable')),
  gc: bySignature(({ git }) => git('gc', '-q'), push),
  'gc of all that nothing refers to': bySignature(
    ({ git }) => git('gc', '-q', '--prune=now'),
    makeUnreachableAnywhere,
  ),
  'gc --auto that has nothing to do': unchanged(({ git }) => git('gc', '--auto', '-q')),
  'maintenance run': bySignature(
    ({ git }) => git('maintenance', 'run', '--task=loose-objects', '--task=incremental-repack', '--quiet'),
    push,
  ),
  'update-server-info': bySignature(({ git }) => git('update-server-info'), push),
  'worktree add': bySignature(({ git, work }) =>
    git('worktree', 'add', '-q', '-b', 'tree', join(work, '../tree'), 'main'),
  ),
  'commit in a worktree': bySignature(({ work, commit }) => commit(1, join(work, '../tree'))),
  'worktree remove': bySignature(({ git, work }) =>
    git('worktree', 'remove', '--force', join(work, '../tree')),
  ),
  'bundle create': unchanged(({ git, work }) =>
    git('bundle', 'create', '-q', join(work, '../bundle'), 'main'),
  ),
  'bundle unbundle': bySignature(
    ({ git, work }) => git('bundle', 'unbundle', join(work, '../new-bundle')),
    ({ commit, work, gitIn }) => {
      commit(3);
      gitIn(work, 'bundle', 'create', '-q', join(work, '../new-bundle'), 'HEAD');
    },
  ),
  'index-pack --stdin': bySignature(
    ({ repository, work }) => {
      const pack = 'git -C "$1" pack-objects --all --stdout -q </dev/null | git -C "$2" index-pack --stdin';
      execFileSync('sh', ['-c', pack, 'sh', work, repository]);
    },
    ({ commit }) => commit(3),
  ),
  'alternates: a new file': bySignature(({ path, other }) => {
    rmSync(path('objects/info/alternates'), { force: true });
    writeFileSync(path('objects/info/alternates'), `${other}/.git/objects\n`);
  }),
  'alternates: another line in the file': byVerify(({ path, other }) =>
    appendFileSync(path('objects/info/alternates'), `${other}/.git/objects\n`),
  ),
  'new objects of an alternate': unchanged(({ commit, other }) => commit(2, other)),
  'git config': bySignature(({ git }) => git('config', 'receive.denyDeletes', 'false')),
  'config, written in place': byVerify(({ path }) => appendFileSync(path('config'), '# edited\n')),
  'description, written in place': byVerify(({ path }) =>
    writeFileSync(path('description'), 'a repository of some length\n'),
  ),
  'a new hook': byVerify(({ path }) => fillAnew(path('hooks/post-update'), 20)),
  'a new file in info': byVerify(({ path }) => fillAnew(path('info/attributes'), 30)),
  'a hook, written in place': byVerify(({ path }) => appendFileSync(path('hooks/post-update'), '# edited\n')),
  'an LFS upload': bySignature(({ path, git }) => {
    fill(path('lfs/tmp/upload'), 3000);
    mkdirSync(path('lfs/objects/ab/cd'), { recursive: true });
    git('--version');
    execFileSync('mv', [path('lfs/tmp/upload'), path('lfs/objects/ab/cd/abcd01')]);
  }),
  'an LFS upload into directories that are there': bySignature(({ path }) =>
    fillAnew(path('lfs/objects/ab/cd/abcd02'), 2000),
  ),
  'an LFS upload that begins': bySignature(({ path }) => fillAnew(path('lfs/tmp/partial'), 100)),
  'an LFS upload that goes on': byVerify(({ path }) =>
    appendFileSync(path('lfs/tmp/partial'), 'x'.repeat(1000)),
  ),
};

/** Objects that nothing refers to, in a pack and loose. */
function makeUnreachableAnywhere(ground: Ground): void {
  makeUnreachable(ground);
  ground.git('update-ref', '-d', 'refs/notes/commits');
  ground.git('reflog', 'expire', '--expire=now', '--all');
}
