/** Predictions of freed bytes are true: each kind of advice is taken, and the disk says what came of it. */

import { createHash, randomBytes } from 'node:crypto';
import { cp, mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t from 'tap';
import { bashQuoted, explainSpace } from '../../../../src/git/worker/space/explain.ts';
import { lfsStores } from '../../../../src/git/worker/space/lfs.ts';
import { RepositoryView } from '../../../../src/git/worker/space/view.ts';
import { run } from '../../../hooks/world.ts';
import { storage } from '../../../layout/world.ts';
import { collected, explained, predictions, wrongOnes } from './predictions.ts';
import { isNear, limits, program, Repository } from './world.ts';

/** Some history with files that change, one that went, and branches. */
async function grow(repository: Repository): Promise<void> {
  const [files, versions] = [40, 10];
  await repository.commit(Object.fromEntries(Array.from({ length: files }, (_, at) => [`src/f${at}`, 700])));
  for (let at = 0; at < versions; at++)
    await repository.commit({ 'assets/video.bin': 30_000, [`src/f${at % files}`]: 900 });
  await repository.commit({ 'gone/once.zip': 60_000 });
  await repository.git('rm', '-q', 'gone/once.zip');
  await repository.git('commit', '-q', '-m', 'gone');
  await repository.push('main');
  await repository.git('checkout', '-q', '-b', 'feature/large', 'HEAD~2');
  await repository.commit({ 'model.bin': 80_000, 'notes.txt': 3000 });
  await repository.push('feature/large', 'HEAD~1:refs/heads/old');
  await repository.git('checkout', '-q', 'main');
}

t.test('deleting a branch frees what was said', async t => {
  const repository = await Repository.open(t);
  await grow(repository);
  const before = await collected(repository);
  const { refs, paths, unreachable_bytes: unreachable } = await explained(repository);
  t.equal(unreachable, 0);
  const [first] = refs.filter(({ default_branch: isDefault }) => !isDefault);
  t.match(first, { name: 'refs/heads/feature/large', commits: 1 });
  t.same(first?.commands, ['git push origin --delete refs/heads/feature/large']);
  t.match(paths[0], { path: 'assets/video.bin', versions: 10, in_default_branch: true });
  t.match(
    paths.find(({ path }) => path === 'gone/once.zip'),
    { versions: 1, in_default_branch: false },
  );
  t.match(paths[0]?.commands, ['git filter-repo --invert-paths --path assets/video.bin', /git push --force/]);
  await repository.git('remote', 'add', 'origin', repository.path);
  const done = await run('sh', ['-c', first?.commands[0] ?? 'false'], { cwd: repository.clone });
  t.equal(done.code, 0, done.stderr);
  const gone = await explained(repository);
  t.ok(isNear(gone.unreachable_bytes, first?.bytes ?? 0));
  const truth = before - (await collected(repository));
  t.ok(isNear(first?.frees ?? 0, truth), `${first?.frees} said, ${truth} freed`);
});

t.test('a file that was moved, and one that is there twice, are said to free what they free', async t => {
  const repository = await Repository.open(t);
  await repository.commit({ 'old/film.bin': 200_000, 'twice/a.bin': 150_000, other: 40_000 });
  await repository.commit({ 'old/film.bin': 210_000 });
  await repository.git('mv', 'old/film.bin', 'film.bin');
  await cp(join(repository.clone, 'twice/a.bin'), join(repository.clone, 'twice/b.bin'));
  await repository.commit({ note: 10 });
  await repository.git('mv', 'film.bin', 'new film.bin');
  await repository.commit({ note: 11 });
  await repository.push('main');
  const { paths, cut } = await explained(repository);
  t.equal(cut, false);
  t.match(paths, [
    { path: 'new film.bin', other_names: ['film.bin', 'old/film.bin'], versions: 2 },
    { path: 'twice/a.bin', other_names: ['twice/b.bin'], versions: 1 },
    { path: 'other', other_names: [] },
  ]);
  t.equal(
    paths[0]?.commands[0],
    "git filter-repo --invert-paths --path 'new film.bin' --path film.bin --path old/film.bin",
  );
  t.same(wrongOnes(await predictions(repository, 0.05)), []);
});

t.test('a ref that others hold too frees nothing, and hidden ones are counted and not named', async t => {
  const repository = await Repository.holding(t, { a: 1000 });
  await repository.git('checkout', '-q', '-b', 'topic');
  await repository.commit({ b: 90_000 });
  await repository.push('topic', 'topic:refs/pull/7/head');
  const { refs, namespaces } = await explained(repository);
  t.same(
    refs.filter(({ name }) => name !== 'refs/heads/main'),
    [],
  );
  t.same(namespaces, []);
  await repository.push(':topic');
  const after = await explained(repository);
  t.match(after.namespaces, [{ name: 'refs/pull/', refs: 1 }]);
  t.ok((after.namespaces[0]?.bytes ?? 0) > 90_000);
  t.same(after.refs, []);
});

t.test('where refs take long, the report ends before all of their namespaces are measured', async t => {
  const repository = await Repository.holding(t, { a: 1000 });
  for (let at = 0; at < 10; at++) {
    await repository.git('checkout', '-q', '--orphan', `topic${at}`);
    await repository.commit({ [`b${at}`]: 5000 });
    await repository.push(`HEAD:refs/space${at}/one`, `HEAD:refs/space${at}/two`);
  }
  const slow = repository.server.path('git-slow');
  const wait = 'case "$*" in *--exclude=refs/space*) sleep 2 ;; esac';
  await repository.server.file(slow, `#!/bin/sh\n${wait}\nexec ${program.program} "$@"\n`);
  const view = await RepositoryView.open(repository.path, { program: { ...program, program: slow } }, limits);
  t.teardown(() => view.close());
  const { namespaces, cut } = await explainSpace(view);
  t.equal(cut, true);
  t.ok(namespaces.length > 0 && namespaces.length < 10, `${namespaces.length} of 10`);
});

t.test('in a pool of GitLab there is nothing that anybody can push', async t => {
  const repository = await Repository.holding(t, { a: 200_000 });
  await repository.git('checkout', '-q', '-b', 'topic');
  await repository.commit({ b: 90_000 });
  await repository.push('topic:refs/remotes/origin/heads/topic');
  const pool = join(dirname(repository.path), '@pools/ab/cd/pool.git');
  await mkdir(dirname(pool), { recursive: true });
  await rename(repository.path, pool);
  const { paths, refs } = await explained({ path: pool });
  t.ok(paths.length > 0 && refs.length > 0);
  t.same(
    [...paths, ...refs].flatMap(({ commands }) => commands),
    [],
  );
});

t.test('names of refs beyond ASCII, and files that look like options', async t => {
  const repository = await Repository.holding(t, { '-x': 60_000 });
  await repository.git('checkout', '-q', '-b', 'größe/été');
  await repository.commit({ b: 90_000 });
  await repository.push('größe/été');
  const { refs, paths } = await explained(repository);
  t.match(refs[0], { name: 'refs/heads/größe/été', commits: 1 });
  t.ok((refs[0]?.frees ?? 0) > 90_000);
  t.same(refs[0]?.commands, ["git push origin --delete 'refs/heads/größe/été'"]);
  t.equal(paths[1]?.commands[0], 'git filter-repo --invert-paths --path=-x');
});

/** Puts an LFS object of so many bytes at a place in a store; gives its id. */
async function putObject(
  store: string,
  bytes: number,
  place = (oid: string) => `objects/${oid.slice(0, 2)}/${oid.slice(2, 4)}/${oid}`,
): Promise<string> {
  const content = randomBytes(bytes);
  const oid = createHash('sha256').update(content).digest('hex');
  const file = join(store, place(oid));
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
  return oid;
}

/** Writes the pointer of an LFS object into the clone. */
async function point(repository: Repository, oid: string): Promise<void> {
  await mkdir(join(repository.clone, 'media'), { recursive: true });
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize 5000\n`;
  await writeFile(join(repository.clone, 'media/film'), pointer);
}

t.test('an empty repository has nothing to say', async t => {
  const repository = await Repository.open(t);
  t.match(await explained(repository), { objects: 0, paths: [], refs: [], namespaces: [], lfs: null });
});

t.test('LFS objects that no version of a file names are named', async t => {
  const repository = await Repository.open(t);
  const store = join(repository.path, 'lfs');
  const needed = await putObject(store, 5000);
  const lost = await putObject(store, 7000);
  await point(repository, needed);
  await repository.commit({ other: 10 });
  await repository.push('main');
  t.same((await explained(repository)).lfs, { count: 1, bytes: 7000, largest: [{ oid: lost, bytes: 7000 }] });
});

t.test('LFS objects whose pointers lie in a repository that this one borrows from are in use', async t => {
  const repository = await Repository.open(t);
  const fork = repository.at(repository.server.path('git/bob/one.git'));
  const store = join(fork.path, 'lfs');
  await mkdir(join(fork.path, '..'), { recursive: true });
  const borrowed = await putObject(store, 5000);
  const own = await putObject(store, 6000);
  const lost = await putObject(store, 7000);
  await point(repository, borrowed);
  // Longer than any pointer, but with a line of one.
  await writeFile(join(repository.clone, 'long'), `oid sha256:${lost}\n${'x'.repeat(2000)}`);
  await repository.commit({ other: 10 });
  await repository.push('main');
  await repository.git('init', '-q', '--bare', fork.path);
  await writeFile(join(fork.path, 'objects/info/alternates'), `${repository.path}/objects\n`);
  await point(repository, own);
  await repository.commit({ other: 10 });
  await fork.push('main');
  const { lfs, ...report } = await explained(fork);
  t.equal(report.objects, 5, 'two trees, the commit and two blobs are its own');
  t.same(lfs, { count: 1, bytes: 7000, largest: [{ oid: lost, bytes: 7000 }] });
});

t.test('LFS objects beside the repository are looked at where they are of that repository alone', async t => {
  const repository = await Repository.open(t);
  const names = /^(.*)\/([^/]+)\/([^/]+)\.git$/.exec(repository.path);
  const [, root = '', owner = '', repo = ''] = names ?? [];
  const storages = [
    storage({ templates: [`${root}/{owner}/{repo}.git`] }),
    storage({
      kind: 'lfs',
      templates: [`${root}/lfs/{owner}/of-{repo}`, `${root}/shared/{owner}`, `${root}/all/*/{repo}`],
    }),
  ];
  const stores = lfsStores(repository.path, storages);
  t.strictSame(stores, [`${repository.path}/lfs`, `${root}/lfs/${owner}/of-${repo}`]);
  t.strictSame(lfsStores(`${root}/a/b/c.git`, storages).slice(1), [`${root}/lfs/a/of-b/c`]);
  t.strictSame(lfsStores('/elsewhere/a/b.git', storages), ['/elsewhere/a/b.git/lfs']);

  // The layouts of git-lfs, Gitea and giftless.
  const store = stores[1] ?? '';
  const needed = await putObject(store, 5000);
  const lost = [
    await putObject(store, 9000),
    await putObject(store, 8000, oid => `${oid.slice(0, 2)}/${oid.slice(2, 4)}/${oid.slice(4)}`),
    await putObject(store, 7000, oid => oid),
  ];
  await point(repository, needed);
  await repository.commit({ other: 10 });
  // A pull request's ref needs it as a branch does.
  await repository.push('main:refs/pull/1/head');
  const view = await repository.view(t);
  const { lfs } = await explainSpace(view, { stores, ofForge: null });
  t.strictSame(lfs, {
    count: 3,
    bytes: 24_000,
    largest: lost.map((oid, at) => ({ oid, bytes: 9000 - at * 1000 })),
  });
});

t.test('names with controls and bytes that are no text are shown harmlessly, and can be copied', async t => {
  const repository = await Repository.open(t);
  const odd = 'a\u001b[2J\u202eb \'q" $(touch pwned).bin';
  await repository.commit({ plain: 50_000 });
  await rename(join(repository.clone, 'plain'), join(repository.clone, odd));
  await writeFile(
    Buffer.concat([Buffer.from(`${repository.clone}/latin`), Buffer.of(0xe4)]),
    randomBytes(40_000),
  );
  await repository.commit({ x: 10 });
  await repository.push('main');
  const { paths } = await explained(repository);
  t.same(
    paths.map(({ path }) => path),
    [odd, 'latin\udce4', 'plain', 'x'].filter(path => paths.some(each => each.path === path)),
  );
  for (const { path, commands } of paths) {
    t.match(commands[0], /^[ -~]*$/, 'a terminal shows it as it is');
    const echoed = await run(
      'bash',
      ['-c', `printf %s ${bashQuoted(path)} | od -An -tx1 -v | tr -d ' \\n'`],
      {},
    );
    const bytes = path === 'latin\udce4' ? Buffer.from('latin\xe4', 'latin1') : Buffer.from(path);
    t.equal(echoed.stdout, bytes.toString('hex'));
  }
});
