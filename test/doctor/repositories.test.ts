/**
 * Finding the repositories of a host: those that templates know, those that none does, of many a part, and
 * folders inside of repositories that git takes for some, and so pushes to without any hook.
 */

import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Config } from '../../src/config/index.ts';
import {
  checkInnerRepositories,
  checkUnmanaged,
  lookForRepositories,
} from '../../src/doctor/repositories.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { context, findingsOf, git, installationIn, write } from './folder.ts';
import { repository } from './survey/world.ts';

function configured(t: Test, template: string): { folder: string; config: Config } {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'srv/git'), { recursive: true });
  const ini = `[storage.repos]\nPATH = ${join(folder, template)}\n`;
  return { folder, config: installationIn(folder, ini).loaded.config };
}

t.test('repositories that no template matches are found below and beside the roots', async t => {
  const { folder, config } = configured(t, 'srv/git/{owner}/{repo}.git');
  const at = (path: string) => repository(join(folder, 'srv', path));
  at('git/alice/app.git');
  const unmanaged = [
    at('git/alone.git'),
    at('git/alice/old.bak'),
    at('git/bob/deep/er.repo'),
    at('other/x.git'),
  ];
  at('git/alice/app.git/modules/inner.git');
  at('work/.git');
  mkdirSync(join(folder, 'srv/git/alice/notes'));
  const found = lookForRepositories(config);
  t.strictSame(found.unmanaged, unmanaged.sort());
  t.equal(found.count, 1);
  t.match(found.close, [{ path: join(folder, 'srv/git/alice/app.git'), user: { uid: 0, gid: 0 } }]);
  t.ok(found.whole);
});

t.test('a repository that counts is no stranger by another mount', async t => {
  const { folder, config } = configured(t, 'srv/git/{owner}/{repo}.git');
  repository(join(folder, 'srv/git/alice/app.git'));
  const alone = repository(join(folder, 'srv/git/alone.git'));
  const bound = join(folder, 'srv/bound');
  mkdirSync(bound);
  execFileSync('mount', ['--bind', join(folder, 'srv/git'), bound]);
  t.teardown(() => execFileSync('umount', ['-l', bound]));
  t.strictSame(lookForRepositories(config).unmanaged, [join(bound, 'alone.git'), alone]);
});

t.test('a working copy that takes pushes, and a working tree outside of all units, are found', async t => {
  const { folder, config } = configured(t, 'srv/git/{owner}/{repo}.git');
  const bare = join(folder, 'srv/git/alice/app.git');
  git('init', '-q', '--bare', bare);
  const files = git('-C', bare, 'hash-object', '-w', '-t', 'tree', '/dev/null');
  const who = ['-c', 'user.name=x', '-c', 'user.email=x@localhost'];
  const commit = git('-C', bare, ...who, 'commit-tree', '-m', 'x', files);
  const trees = [join(folder, 'srv/git/alice/tree'), join(bare, 'inside')];
  for (const tree of trees) git('-C', bare, 'worktree', 'add', '-q', '--detach', tree, commit);
  for (const [name, value] of [
    ['quiet', 'refuse'],
    ['pushed', 'updateInstead'],
  ] as const) {
    const work = join(folder, 'srv', name);
    git('init', '-q', work);
    git('-C', work, 'config', 'receive.denyCurrentBranch', value);
  }
  const { unmanaged, workingTrees } = lookForRepositories(config);
  t.strictSame(unmanaged, [join(folder, 'srv/pushed/.git')]);
  t.strictSame(workingTrees, trees.slice(0, 1));
  const installation = installationIn(folder, '');
  const found = lookForRepositories(config);
  const findings = findingsOf(report => checkUnmanaged(report, installation, found));
  t.match(findings[1], { code: 'unmanaged_repository', message: /alice\/tree: the working tree/ });
});

t.test('what lies inside a repository that no template matches is no repository of its own', async t => {
  const { folder, config } = configured(t, 'srv/git/{owner}/{repo}.repository');
  const stray = repository(join(folder, 'srv/git/alice/app.git'));
  repository(join(stray, 'modules/inner'));
  t.strictSame(lookForRepositories(config).unmanaged, [stray]);
});

t.test('of very many, those that look unprotected are looked at, but never they alone', async t => {
  const { folder, config } = configured(t, 'srv/git/{owner}/{repo}.git');
  for (let number = 0; number < 60; number++) {
    const path = repository(join(folder, `srv/git/o${number % 7}/r${number}.git`));
    if (number !== 33) write(join(path, 'hooks/pre-receive'), '#!/bin/sh\n');
  }
  const { close, count } = lookForRepositories(config, { mostMs: 20_000, mostClose: 10 });
  t.equal(count, 60);
  t.equal(close.length, 10);
  t.ok(close.some(({ path }) => path.endsWith('/r33.git')));
  t.equal(new Set(close.map(({ path }) => path)).size, 10);
});

t.test('with the time up it says that there are more', async t => {
  const { folder, config } = configured(t, 'srv/git/{owner}/{repo}.git');
  for (const name of ['a', 'b', 'c']) repository(join(folder, `srv/git/alice/${name}.git`));
  const { count, whole } = lookForRepositories(config, { mostMs: 0, mostClose: 10 });
  t.equal(whole, false);
  t.ok(count < 3);
});

t.test('a storage root that is not there is told as it stands', async t => {
  const { folder, config } = configured(t, 'nowhere/{owner}/{repo}.git');
  const { roots, count, unmanaged } = lookForRepositories(config);
  t.match(roots, [{ path: join(folder, 'nowhere'), state: 'missing' }]);
  t.equal(count, 0);
  t.strictSame(unmanaged, []);
});

t.test('refs that make a folder a repository are found, and go as doctor says', async t => {
  const path = join(temporaryFolder(t), 'app.git');
  git('init', '-q', '--bare', path);
  const tree = git('-C', path, 'hash-object', '-w', '-t', 'tree', '/dev/null');
  const who = ['-c', 'user.name=x', '-c', 'user.email=x@localhost'];
  const commit = git('-C', path, ...who, 'commit-tree', '-m', 'x', tree);
  for (const name of ['HEAD', 'objects/a', 'refs/a'])
    git('-C', path, 'update-ref', `refs/heads/x/${name}`, commit);
  const look = () =>
    findingsOf(report => checkInnerRepositories(report, context, [{ path, user: { uid: 0, gid: 0 } }]));
  const findings = look();
  t.match(findings, [{ code: 'inner_repository', message: new RegExp(`^${path}/refs/heads/x: `) }]);
  execFileSync('sh', ['-c', `${findings[0]?.mend}`]);
  t.strictSame(look(), []);
});

t.test('a submodule repository without the hooks is found, and one with them is well', async t => {
  const path = repository(join(temporaryFolder(t), 'app.git'));
  const inner = repository(join(path, 'modules/lib'));
  const look = () =>
    findingsOf(report => checkInnerRepositories(report, context, [{ path, user: { uid: 0, gid: 0 } }]));
  t.match(look(), [{ code: 'inner_repository', mend: `softquota hooks install ${path}` }]);
  write(join(inner, 'hooks/pre-receive'), '#!/bin/sh\n');
  t.strictSame(look(), []);
});
