/** Reports of the worker on a repository always fit its present state. */

import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { cp, mkdir, readdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import t, { type Test } from 'tap';
import { Loans } from '../../../src/git/worker/loans.ts';
import { Reclaim, type ReclaimOptions } from '../../../src/git/worker/reclaim.ts';
import { refsSignature } from '../../../src/git/worker/refs-signature.ts';
import { RepositoryWalk } from '../../../src/git/worker/repository-walk.ts';
import { gitOf } from '../../../src/git/worker/space/git.ts';
import type { RepositoryFigures } from '../../../src/wire/index.ts';
import { storage } from '../../layout/world.ts';
import { program, Repository } from './space/world.ts';

async function open(
  t: Test,
  { everyMs = 60_000, ...given }: Partial<ReclaimOptions> & { readonly everyMs?: number } = {},
) {
  const repository = await Repository.open(t);
  const { path, server } = repository;
  const told = new PassThrough({ objectMode: true });
  const repositories = new RepositoryWalk({
    storages: [storage({ templates: [server.path('git/{owner}/{repo}.git')] })],
    exclude: [],
    everyMs,
  });
  const reclaim = new Reclaim({
    isAlone: true,
    repositories,
    run: 'measure',
    expireMs: 3_600_000,
    gitFor: () => ({ ...program, major: 2, minor: 39, version: '2.39.5' }),
    log: { info: () => {}, warn: () => {} },
    changed: () => {
      for (const figures of reclaim.nextFigures()) told.write(figures);
    },
    ...given,
  });
  t.teardown(async () => {
    await repositories.close();
    await reclaim.close();
  });
  const next = async (of = path): Promise<RepositoryFigures> => {
    for (;;) {
      const figures = told.read();
      if (figures === null) await once(told, 'readable');
      else if (figures.path === of) return figures;
    }
  };
  const push = async (branch: string, bytes: number) => {
    await repository.git('checkout', '-q', '--orphan', branch);
    await repository.commit({ file: bytes });
    await repository.push(branch);
  };
  return { repository, path, reclaim, repositories, next, push };
}

/** Waits until the last change is some time ago. */
async function settle(path: string): Promise<void> {
  for (;;) {
    if ((await refsSignature(path))?.isSure === true) return;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}

t.test('what has not changed is said again with the new mark, and what has is measured', async t => {
  const { repository, path, reclaim, next, push } = await open(t);
  await push('main', 5000);
  await push('big', 100_000);
  await settle(path);
  reclaim.mark = 'one';
  reclaim.pushed(path);
  const first = await next();
  t.match(first, { mark: 'one', measured: { unreachable_bytes: 0, lent: false } });
  reclaim.mark = 'two';
  reclaim.pushed(path);
  const again = await next();
  t.equal(again.mark, 'two');
  t.same(again.measured, first.measured);
  await repository.push(':big');
  reclaim.pushed(path);
  const deleted = await next();
  t.ok((deleted.measured?.unreachable_bytes ?? 0) > 100_000);
  await settle(path);
  reclaim.pushed(path);
  t.same((await next()).measured, deleted.measured);
  // Loose objects go, and no ref changes.
  await repository.git('-C', path, 'prune', '--expire=now');
  reclaim.pushed(path);
  t.match(await next(), { measured: { unreachable_bytes: 0 } });
});

t.test('changes in the same moment are told apart, and those in the 2001st directory', async t => {
  const { path, reclaim, next, push } = await open(t);
  await push('main', 5000);
  reclaim.pushed(path);
  await next();
  t.equal((await refsSignature(path))?.isSure, false, 'the next change may leave the same trace');
  await settle(path);
  t.equal((await refsSignature(path))?.isSure, true);
  for (let at = 0; at < 2001; at++) await mkdir(join(path, `refs/heads/d${at}`));
  const old = new Date(Date.now() - 60_000);
  await utimes(join(path, 'refs/heads'), old, old);
  t.equal((await refsSignature(path))?.isSure, false);
});

t.test('a repository that lends its objects says so', async t => {
  const { repository, path, reclaim, next, push } = await open(t);
  await push('main', 5000);
  await push('big', 100_000);
  const fork = repository.server.path('git/bob/one.git');
  await repository.git('clone', '-q', '--bare', '--shared', path, fork);
  await repository.push(':big');
  reclaim.start();
  const lent = await next();
  t.ok((lent.measured?.unreachable_bytes ?? 0) > 100_000);
  t.equal(lent.measured?.lent, true);
  t.equal((await next(fork)).measured?.lent, false);
  t.ok((await readdir(join(fork, 'objects/pack'))).length === 0);
});

t.test('a loan holds while the borrower is away, and through a directory that is no unit', async t => {
  const { repository, path, reclaim, next, push } = await open(t);
  await push('main', 5000);
  await push('big', 100_000);
  const between = repository.server.path('between');
  await repository.git('clone', '-q', '--bare', '--shared', path, between);
  const fork = repository.server.path('git/bob/one.git');
  await repository.git('clone', '-q', '--bare', '--shared', between, fork);
  await repository.push(':big');
  reclaim.start();
  t.equal((await next()).measured?.lent, true);
  // A file system below that is not mounted any more looks so, and the walk waits for it.
  await rename(join(fork, 'objects'), join(fork, 'away'));
  await t.rejects(reclaim.collectNow(path), /another repository uses its objects/);
  await rename(join(fork, 'away'), join(fork, 'objects'));
  t.equal((await repository.server.git(['fsck', '--full'], fork)).code, 0);
});

t.test('a loan ends where the borrowers are deleted, even if they are most of all repositories', async t => {
  const { repository, path, reclaim, repositories, next, push } = await open(t, { everyMs: 100 });
  await push('main', 5000);
  const forks = Array.from({ length: 12 }, (_, at) => repository.server.path(`git/bob/${at}.git`));
  for (const fork of forks) await repository.git('clone', '-q', '--bare', '--shared', path, fork);
  const left = new Set(forks);
  const { promise: areGone, resolve } = Promise.withResolvers<void>();
  repositories.add({
    found: () => {},
    gone: fork => left.delete(fork) && left.size === 0 && resolve(),
  });
  reclaim.start();
  t.equal((await next()).measured?.lent, true);
  for (const fork of forks) rmSync(fork, { recursive: true });
  await areGone;
  await reclaim.collectNow(path);
});

t.test('a path that is no repository, or none any more, keeps nobody from collecting', async t => {
  const { repository, path, reclaim, next, push } = await open(t);
  await push('main', 5000);
  const packages = repository.server.path('git/alice/packages');
  await mkdir(packages, { recursive: true });
  const brief = repository.server.path('git/bob/brief.git');
  await repository.git('clone', '-q', '--bare', path, brief);
  reclaim.pushed(brief);
  t.not((await next(brief)).measured, null);
  await rm(brief, { recursive: true });
  for (const gone of [packages, brief]) reclaim.pushed(gone);
  await reclaim.collectNow(path);
});

t.test('a fault that names what a stranger wrote is short', async t => {
  const { repository, path, reclaim, next, push } = await open(t);
  await push('main', 5000);
  await repository.git('config', '--file', join(path, 'config'), `extensions.x${'y'.repeat(5000)}`, 'true');
  reclaim.pushed(path);
  const { fault } = await next();
  t.match(fault, /its config has extensions\.xyyy/);
  t.equal(fault?.length, 1000);
  await t.rejects(reclaim.collectNow(path));
  t.equal((await next()).collected?.fault?.length, 1000);
});

t.test('nothing is deleted while it cannot be told whose objects a repository uses', async t => {
  const { repository, path, reclaim, next, push } = await open(t);
  await push('main', 5000);
  const other = repository.server.path('git/bob/one.git');
  await repository.git('clone', '-q', '--bare', path, other);
  reclaim.start();
  await next();
  for (const odd of ['"/srv/a\\nb/objects"\n', '/srv/none\n'.repeat(101), 'x'.repeat(70_000)]) {
    await writeFile(join(other, 'objects/info/alternates'), odd);
    await t.rejects(reclaim.collectNow(path), { message: new RegExp(`whose objects ${other} uses`) });
  }
  await rm(join(other, 'objects/info/alternates'));
  await reclaim.collectNow(path);
});

t.test('collections that are due look once who borrows, one on request and new ones look anew', async t => {
  // Garbage is due at once.
  const given = { run: 'gc', expireMs: -60_000, everyMs: 50 } as const;
  const { repository, path, reclaim, repositories, next, push } = await open(t, given);
  await push('main', 5000);
  await push('big', 300_000);
  await repository.push(':big');
  const at = (name: string) => repository.server.path(`git/bob/${name}.git`);
  const [other, third, odd, late] = [at('two'), at('three'), at('odd'), at('late')];
  for (const copy of [other, third, odd]) await cp(path, copy, { recursive: true });
  await settle(odd);
  const { promise: isFound, resolve } = Promise.withResolvers<void>();
  repositories.add({ found: found => found === late && resolve(), gone: () => {} });
  reclaim.start();
  const collected = async (repository: string) => {
    reclaim.pushed(repository);
    await next(repository);
    reclaim.collectFirst(repository);
    for (;;) {
      const { collected } = await next(repository);
      if (collected !== null) return collected.fault;
    }
  };
  t.equal(await collected(path), null);
  await writeFile(join(odd, 'objects/info/alternates'), '"odd"\n');
  t.equal(await collected(other), null);
  await t.rejects(reclaim.collectNow(path), /cannot be told whose objects/);
  await rm(join(odd, 'objects/info/alternates'));
  await reclaim.collectNow(path);
  // A disk that is mounted late brings repositories that have borrowed before.
  await rename(odd, late);
  await writeFile(join(late, 'objects/info/alternates'), `${third}/objects\n`);
  await isFound;
  t.match(await collected(third), /another repository uses its objects/);
});

t.test('a look that began before another one does not replace what that found', async t => {
  const { repository, path, push } = await open(t);
  await push('main', 5000);
  const fork = repository.server.path('git/bob/one.git');
  const loans = new Loans();
  const { promise: goesOn, resolve } = Promise.withResolvers<void>();
  const slow = loans.look([path], { step: () => goesOn });
  await repository.git('clone', '-q', '--bare', '--shared', path, fork);
  await loans.look([path, fork], { step: async () => {} });
  resolve();
  await slow;
  t.ok(await loans.isLender(path));
  t.ok(loans.isFresh);
  loans.came();
  t.notOk(loans.isFresh);
});

t.test('of objects to which another repository has a link nothing is deleted', async t => {
  const { repository, path, reclaim, next, push } = await open(t);
  await push('main', 5000);
  const other = repository.server.path('git/bob/one.git');
  await repository.git('clone', '-q', '--bare', path, other);
  await rm(join(other, 'objects'), { recursive: true });
  await symlink(join(path, 'objects'), join(other, 'objects'));
  reclaim.start();
  t.equal((await next()).measured?.lent, true);
  await t.rejects(reclaim.collectNow(path), /another repository uses its objects/);
});

t.test('a repository in reftable format is for the first git that can read it', async t => {
  const { repository, path, reclaim, next, push } = await open(t);
  await push('main', 5000);
  const older = { ...program, program: 'older', major: 2, minor: 44, execPaths: ['/old'] };
  const newer = { ...older, program: 'newer', minor: 45, execPaths: ['/new'] };
  const chosen = (execPath: string) => gitOf([older, newer], execPath, path)?.program;
  t.same(['/old', '/new', ''].map(chosen), ['older', 'newer', 'older']);
  const settings = ['core.repositoryFormatVersion=1', 'extensions.refStorage=reftable'];
  for (const setting of settings) {
    const [key = '', value = ''] = setting.split('=');
    await repository.git('config', '--file', join(path, 'config'), key, value);
  }
  t.same(['/old', '/new', ''].map(chosen), ['newer', 'newer', 'newer']);
  t.equal(gitOf([older], '', path)?.program, 'older');
  t.equal(gitOf([], '', path), null);
  reclaim.pushed(path);
  const why = /reftable format, which git 2\.39\.5 \(git\) cannot read: .*\[reclaim\] GIT/;
  t.match(await next(), { fault: why });
});

t.test(
  'GitLab collects its own garbage: it is measured there, and nothing is repacked or deleted',
  async t => {
    const { repository, path, reclaim, next, push } = await open(t);
    await push('main', 5000);
    await push('big', 100_000);
    await repository.push(':big');
    const hashed = repository.server.path('git/@hashed/ab.git');
    await mkdir(join(hashed, '..'), { recursive: true });
    await rename(path, hashed);
    await settle(hashed);
    const before = await readdir(join(hashed, 'objects'), { recursive: true });
    await t.rejects(reclaim.collectNow(hashed), /GitLab removes what is unreachable itself, within ten days/);
    reclaim.pushed(hashed);
    const { measured } = await next(hashed);
    t.ok((measured?.unreachable_bytes ?? 0) > 100_000);
    t.same(await readdir(join(hashed, 'objects'), { recursive: true }), before);
  },
);

t.test('a change of a branch is seen, whatever letters are in the names of the folders above', async t => {
  const repository = await Repository.open(t);
  await repository.commit({ a: 10 });
  await repository.push('main', 'main:refs/heads/grün/one');
  const before = await refsSignature(repository.path);
  t.type(before, 'object');
  t.equal((await refsSignature(repository.path))?.text, before?.text);
  await writeFile(join(repository.path, 'refs/heads/grün/two'), '');
  t.not((await refsSignature(repository.path))?.text, before?.text);
  t.equal(await refsSignature(join(repository.path, 'hooks')), null, 'there are no refs');
});
