/**
 * A repository whose files a stranger wrote: nothing of it runs, nothing else is read, and everything ends.
 */

import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t from 'tap';
import { collect, writeBitmap } from '../../../../src/git/worker/space/collect.ts';
import { explainSpace } from '../../../../src/git/worker/space/explain.ts';
import { measure } from '../../../../src/git/worker/space/measure.ts';
import { run } from '../../../hooks/world.ts';
import { limits, Repository } from './world.ts';

/** Every key of this git's manual whose value is, or may be, a program. */
function programKeys(): readonly string[] {
  const known = execFileSync('git', ['help', '--config'], { encoding: 'utf8' }).split('\n');
  const pattern =
    /hook|command|cmd|program|helper|pager|editor|proxy|fsmonitor|external|textconv|driver|clean$|smudge|process|askpass|sshcommand|alternaterefs/i;
  return known.filter(key => pattern.test(key) && /^[A-Za-z]+(?:\.[A-Za-z]+)+$/.test(key));
}

t.test('no program that its configuration, hooks or attributes name is run', async t => {
  const repository = await Repository.holding(t, { a: 3000, 'b.txt': 3000 });
  const { path } = repository;
  const marker = repository.server.path('marker');
  const program = repository.server.path('program');
  await repository.server.file(program, `#!/bin/sh\necho ran "$0" "$@" >>${marker}\n`);
  const lines = [
    ...programKeys().map(key => {
      const parts = key.split('.');
      const [section, subsection] = [parts[0], parts.slice(1, -1).join('.')];
      return `[${section}${subsection === '' ? '' : ` "${subsection}"`}]\n${parts.at(-1)} = ${program}`;
    }),
    `[gc]\nrecentObjectsHook = ${program}\nauto = 1`,
    `[core]\nfsmonitor = ${program}\nhooksPath = ${repository.server.path('hooks')}\npager = ${program}\nsshCommand = ${program}`,
    `[filter "x"]\nclean = ${program}\nsmudge = ${program}\nprocess = ${program}\nrequired = true`,
    `[diff "x"]\ncommand = ${program}\ntextconv = ${program}`,
    `[remote "origin"]\nurl = ext::${program} %S\npromisor = true\npartialCloneFilter = blob:none\nuploadpack = ${program}\nvcs = x`,
    `[protocol]\nallow = always\n[protocol "ext"]\nallow = always`,
    `[include]\npath = ${repository.server.path('included')}`,
    `[alias]\nrepack = !${program}\nrev-list = !${program}\nprune = !${program}`,
    `[uploadpack]\npackObjectsHook = ${program}`,
    `[trace2]\neventTarget = ${repository.server.path('trace')}`,
  ];
  await writeFile(join(path, 'config'), `${lines.join('\n')}\n`, { flag: 'a' });
  await repository.server.file(repository.server.path('included'), `[gc]\nrecentObjectsHook = ${program}\n`);
  for (const folder of [join(path, 'hooks'), repository.server.path('hooks')])
    for (const name of ['reference-transaction', 'pre-auto-gc', 'post-rewrite', 'post-index-change'])
      await repository.server.file(join(folder, name), `#!/bin/sh\necho ran >>${marker}\n`);
  await mkdir(join(path, 'info'), { recursive: true });
  await writeFile(join(path, 'info/attributes'), '* filter=x diff=x\n');
  const view = await repository.view(t);
  await measure(view);
  await explainSpace(view);
  await writeBitmap(view);
  await collect(view, { expireMs: 600_000, now: Date.now });
  const left = await readdir(repository.server.root);
  t.notOk(left.includes('marker'), 'nothing ran');
  t.notOk(left.includes('trace'), 'nothing was written');
});

t.test('an object that a promisor remote has is not fetched, and is a fault', async t => {
  const repository = await Repository.holding(t, { a: 3000 });
  const { path } = repository;
  const marker = repository.server.path('marker');
  const program = repository.server.path('program');
  await repository.server.file(program, `#!/bin/sh\necho ran >>${marker}\n`);
  const config = [
    '[core]\nrepositoryFormatVersion = 1',
    '[extensions]\npartialClone = origin',
    `[remote "origin"]\nurl = file://${repository.server.path('elsewhere')}\nuploadpack = ${program}\npromisor = true`,
  ];
  await writeFile(join(path, 'config'), `${config.join('\n')}\n`, { flag: 'a' });
  const blob = (await repository.git('rev-parse', 'HEAD:a')).trim();
  await chmod(join(path, 'objects', blob.slice(0, 2)), 0o755);
  execFileSync('rm', ['-f', join(path, 'objects', blob.slice(0, 2), blob.slice(2))]);
  const view = await repository.view(t);
  await t.rejects(measure(view), /git rev-list: .*missing|unable|not found|bad/i);
  t.notOk((await readdir(repository.server.root)).includes('marker'));
});

t.test('names of files in the repositories of others are not shown', async t => {
  const victim = await Repository.holding(t, { 'secret-name': 5000 });
  const secret = (await victim.git('rev-parse', 'HEAD')).trim();
  const { server } = victim;
  const path = await server.repository('git/eve/one.git');
  await mkdir(join(path, 'objects/info'), { recursive: true });
  await writeFile(join(path, 'objects/info/alternates'), `${victim.path}/objects\n`);
  await writeFile(join(path, 'refs/heads/main'), `${secret}\n`);
  const view = await victim.at(path).view(t);
  const report = JSON.stringify(await explainSpace(view));
  t.notMatch(report, /secret-name/);
  t.match(await measure(view), { reachableBytes: 0, unreachableBytes: 0 });
});

t.test('LFS objects of others are not shown, whatever a link leads to', async t => {
  const repository = await Repository.holding(t, { a: 10 });
  const elsewhere = repository.server.path('elsewhere');
  await repository.server.file(join(elsewhere, 'aa/bb', 'c'.repeat(60)), 'x');
  for (const place of ['lfs', 'lfs/objects', 'lfs/objects/aa']) {
    const at = join(repository.path, place);
    await mkdir(dirname(at), { recursive: true });
    await symlink(place.endsWith('aa') ? join(elsewhere, 'aa') : elsewhere, at);
    const view = await repository.view(t);
    t.equal((await explainSpace(view)).lfs, null, place);
    await rm(join(repository.path, 'lfs'), { recursive: true });
  }
});

t.test('a deep tree and long names end, in an answer of bounded length', async t => {
  const repository = await Repository.open(t);
  const deep = Array.from({ length: 900 }, () => 'd'.repeat(200)).join('/');
  const blob = (await repository.git('hash-object', '-w', '/dev/null')).trim();
  const made = await run('git', ['fast-import', '--quiet', '--force'], {
    cwd: repository.clone,
    input: `commit refs/heads/main\ncommitter a <a@b> 1 +0000\ndata 1\nx\nM 100644 ${blob} ${deep}/f\nM 100644 ${blob} g\n`,
  });
  t.equal(made.code, 0, made.stderr);
  await repository.push('main');
  const view = await repository.view(t);
  const text = JSON.stringify(await explainSpace(view));
  t.ok(text.length < 200_000);
});

t.test('long names of many files take no memory, and a name without an end is a fault', async t => {
  const repository = await Repository.open(t);
  const blob = (await repository.git('hash-object', '-w', '/dev/null')).trim();
  const commit = async (letter: string, length: number) => {
    // One directory with a long name, and files below; git's fast-import does not take it.
    const files = Array.from({ length: 2000 }, (_, at) => `100644 blob ${blob}\tf${at}\n`).join('');
    const tree = await run('git', ['mktree'], { cwd: repository.clone, input: files });
    const above = await run('git', ['mktree'], {
      cwd: repository.clone,
      input: `040000 tree ${tree.stdout.trim()}\t${letter.repeat(length)}\n`,
    });
    const made = await repository.git('commit-tree', '-m', letter, above.stdout.trim());
    await repository.git('update-ref', 'refs/heads/long', made.trim());
    await repository.push('+long');
  };
  await commit('a', 1_000_000);
  const view = await repository.view(t);
  t.same((await explainSpace(view)).paths, []);
  await commit('b', 5_000_000);
  await t.rejects(explainSpace(await repository.view(t)), /a name of more than 4 MiB/);
});

t.test('work that takes longer than its time ends, and so does work that is stopped', async t => {
  const repository = await Repository.holding(t, { a: 1000 });
  const view = await repository.view(t);
  // git waits for somebody who writes a ref there.
  execFileSync('mkfifo', [join(repository.path, 'refs/heads/pipe')]);
  view.limits = { ...limits, timeoutMs: 200 };
  await t.rejects(measure(view), { code: 'not_ready' });
  const stop = new AbortController();
  stop.abort();
  view.limits = { ...limits, signal: stop.signal };
  await t.rejects(measure(view), { name: 'AbortError' });
});
