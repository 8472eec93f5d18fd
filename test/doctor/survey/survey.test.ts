import { chmodSync, chownSync, mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parseAccounts } from '../../../src/accounts.ts';
import { type Survey, survey } from '../../../src/doctor/index.ts';
import { inspect, resolveLayout } from '../../../src/layout/index.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { write } from '../folder.ts';
import { layouts, makeTree, repository, sizesOf } from './world.ts';

const accounts = parseAccounts('root:x:0:0::/root:/bin/sh\nversions:x:4711:4712::/srv:/bin/sh\n', '');
const look = (given: string): Promise<Survey> => survey(given, { accounts, storesMs: 60_000 });

for (const layout of layouts) {
  t.test(`the layout ${layout} is recognised, with every owner that it tells`, async t => {
    const tree = makeTree(layout, temporaryFolder(t), 5);
    const found = await look(tree.given);
    t.equal(found.layout, layout);
    t.equal(found.root, tree.root);
    t.equal(found.repositories, tree.owners.size);
    const settings = resolveLayout(found.storages, []);
    for (const [path, owner] of tree.owners) {
      const located = inspect(settings, path);
      t.equal(located.found === 'unit' ? located.unit.owner : null, owner, path);
      if (located.found === 'unit') t.equal(located.unit.kind, path.endsWith('.wiki.git') ? 'wiki' : 'repos');
    }
    const ownerless = [...tree.owners].flatMap(([path, owner]) => (owner === null ? [path] : []));
    t.strictSame(found.ownerless, ownerless.sort());
    t.strictSame(found.stores.map(({ path }) => path).sort(), [...tree.stores].sort());
    for (const { path, bytes, whole } of found.stores) {
      t.equal(bytes, sizesOf([path]).get(path));
      t.ok(whole);
    }
    t.strictSame(found.unread, []);
  });
}

async function refused(t: Test, given: string, code: string, message: RegExp): Promise<void> {
  await t.rejects(look(given), { code, message });
}

t.test('directories to which links lead are proposed', async t => {
  const folder = temporaryFolder(t);
  const [git, disk] = [join(folder, 'git'), join(folder, 'disk')];
  repository(join(git, 'alice/a.git'));
  repository(join(disk, 'bob/b.git'));
  symlinkSync(join(disk, 'bob'), join(git, 'bob'));
  const { storages, evidence } = await look(git);
  t.same(
    storages.map(({ follow }) => follow),
    [[disk]],
  );
  t.match(evidence, [/bare repository/, `symbolic links lead to directories in ${disk}`, /owner taken/]);
});

t.test('the directory that is named may be any on the way to the repositories', async t => {
  const folder = temporaryFolder(t);
  const places = { gitolite: ['', 'repositories'], gitea: ['', 'data', 'data/gitea-repositories'] };
  const gitlab = ['', 'git-data', 'git-data/repositories'];
  for (const [layout, names] of [...Object.entries(places), ['gitlab', gitlab] as const]) {
    const known = layouts.find(each => each === layout) ?? 'owners';
    const tree = makeTree(known, join(folder, layout), 3);
    for (const name of names) {
      const found = await look(join(folder, layout, name));
      t.match(found, { layout, root: tree.root }, `${layout} at ${name}`);
      t.equal(
        found.stores.some(({ subject }) => subject === 'size:git:lfs'),
        layout !== 'gitolite',
      );
    }
  }
});

t.test('where no directory names owners, one owner has everything, with how to change that', async t => {
  const folder = temporaryFolder(t);
  for (const name of ['a', 'b', 'c']) repository(join(folder, `${name}.git`));
  repository(join(folder, 'team/d.git'));
  const found = await look(folder);
  t.match(found, { layout: 'flat', ownerless: [], storages: [{ owner: { by: 'fixed', name: 'git' } }] });
  t.match(found.advice.join(' '), /one owner, git, .*or set OWNER to file NAME/);
});

t.test('the owner of everything is the account that the directory belongs to', async t => {
  const folder = temporaryFolder(t);
  repository(join(folder, 'a.git'));
  chownSync(folder, 4711, 4712);
  t.match((await look(folder)).storages, [{ owner: { by: 'fixed', name: 'versions' } }]);
});

t.test('repositories whose names do not end with .git are found as well', async t => {
  const folder = temporaryFolder(t);
  repository(join(folder, 'alice/app'));
  repository(join(folder, 'bob/app.git'));
  t.match(await look(folder), {
    storages: [{ templates: [`${folder}/{owner}/{repo}`] }],
    repositories: 2,
    ownerless: [],
  });
});

t.test('a home with repositories in a folder of its own names no owner after that folder', async t => {
  const folder = temporaryFolder(t);
  repository(join(folder, 'repositories/alice/app.git'));
  t.match(await look(folder), { storages: [{ templates: [`${folder}/repositories/{owner}/{repo}.git`] }] });
});

t.test('LFS objects in the repositories are counted as such', async t => {
  const folder = temporaryFolder(t);
  repository(join(folder, 'alice/app.git'), 10, { 'lfs/objects/aa/bb/object': 'large' });
  const { storages } = await look(folder);
  t.match(storages, [{ kind: 'repos' }, { kind: 'lfs', templates: [`${folder}/{owner}/{repo}.git/lfs`] }]);
});

t.test('gitolite’s owners are told by what tells most: folders, gl-creator, or gitweb.owner', async t => {
  const folder = temporaryFolder(t);
  const config = '[gitweb]\n\towner = carol\n';
  const trees = {
    path: { 'alice/a': {}, 'bob/b': { 'gl-creator': 'zoe\n' }, c: {} },
    file: { a: { 'gl-creator': 'alice\n' }, b: { 'gl-creator': 'bob\n' }, 'team/c': {} },
    'git-config': { a: { config }, b: { config }, 'team/c': {} },
    fixed: { a: {}, b: {}, 'team/c': { 'gl-creator': 'bob\n' } },
  };
  for (const [by, repositories] of Object.entries(trees)) {
    repository(
      join(folder, by, 'repositories/gitolite-admin.git'),
      10,
      by === 'file' ? { 'gl-creator': 'x\n' } : {},
    );
    for (const [name, files] of Object.entries(repositories)) {
      repository(join(folder, by, `repositories/${name}.git`), 10, files);
    }
    const found = await look(join(folder, by));
    t.match(found, { layout: 'gitolite', storages: [{ owner: { by } }] });
    t.equal(found.ownerless.length, { path: 2, file: 1, 'git-config': 2, fixed: 0 }[by]);
  }
});

t.test('what gitolite itself begins with says nothing about how owners are told', async t => {
  const repositories = join(temporaryFolder(t), 'repositories');
  for (const name of ['gitolite-admin', 'testing']) repository(join(repositories, `${name}.git`));
  t.match(await look(repositories), { storages: [{ owner: { by: 'path' } }], ownerless: { length: 2 } });
  repository(join(repositories, 'alice/app.git'));
  t.match(await look(repositories), { storages: [{ owner: { by: 'path' } }], ownerless: { length: 2 } });
  repository(join(repositories, 'shared.git'));
  repository(join(repositories, 'wiki.git'));
  t.match(await look(repositories), { storages: [{ owner: { by: 'fixed' } }], ownerless: [] });
});

t.test('where no config of GitLab’s repositories names a project, only GitLab knows', async t => {
  const folder = temporaryFolder(t);
  const hashed = join(folder, 'git-data/repositories/@hashed/aa/bb/aabb');
  repository(`${hashed}.git`);
  repository(`${hashed}.wiki.git`);
  const found = await look(folder);
  t.match(found.storages, [
    { kind: 'repos', owner: { by: 'fixed' } },
    { kind: 'wiki', owner: { by: 'fixed' } },
  ]);
  t.match(found.advice.join(' '), /Only GitLab's database knows/);
  t.strictSame(found.ownerless, []);
});

t.test('replicas of a Gitaly Cluster are named, also where there is nothing else', async t => {
  const folder = temporaryFolder(t);
  const storage = join(folder, 'git-data/repositories');
  repository(join(storage, '@cluster/repositories/aa/bb/71'));
  const named = { what: 'replicas of a Gitaly Cluster', path: join(storage, '@cluster') };
  const alone = await look(folder);
  t.match(alone, { layout: 'gitlab', root: storage, repositories: 0, ownerless: [], stores: [named] });
  t.match(alone.advice.join(' '), /@cluster has replicas of a Gitaly Cluster\. They do not count yet/);
  repository(join(storage, '@hashed/aa/bb/aabb.git'));
  const beside = await look(folder);
  t.match(beside, { repositories: 1, stores: [named] });
  t.match(beside.advice.join(' '), /They do not count yet/);
  t.notMatch(beside.evidence.join(' '), /@cluster/);
});

t.test('a forge is recognised by its hooks alone, and by the app.ini that they name', async t => {
  const folder = temporaryFolder(t);
  const hook = (config: string) => ({
    'hooks/pre-receive.d/gitea': `#!/usr/bin/env bash\n'/usr/bin/forgejo' hook --config='${config}' pre-receive\n`,
  });
  repository(join(folder, 'a/trees/alice/app.git'), 10, hook('/nowhere/app.ini'));
  repository(join(folder, 'a/trees/alice/app.wiki.git'), 10, hook('/nowhere/app.ini'));
  t.match(await look(join(folder, 'a/trees')), {
    layout: 'forgejo',
    root: `${folder}/a/trees`,
    storages: [{ kind: 'repos' }, { kind: 'wiki' }],
    ownerless: [],
  });
  const ini = join(folder, 'b/etc/app.ini');
  repository(join(folder, 'b/trees/alice/app.git'), 10, hook(ini));
  write(ini, `[repository]\nROOT = ${folder}/b/trees\n[attachment]\nPATH = \`${folder}/b/files\`\n`);
  write(join(folder, 'b/files/aa'), 'attached');
  t.match(await look(join(folder, 'b/trees')), {
    layout: 'gitea',
    stores: [{ what: 'attachments', path: `${folder}/b/files`, bytes: 8 }],
    // The owner of a repository can write its hooks, and must not choose the database that root asks.
    forge: { kind: 'gitea', configFile: null, passedOver: { file: ini, why: 'named-by-hook' } },
  });
});

t.test(
  'a forge is found by an app.ini whose paths lead through a link, and through a linked app.ini',
  async t => {
    const folder = temporaryFolder(t);
    const data = join(folder, 'disk2/forge');
    repository(join(data, 'data/gitea-repositories/alice/app.git'));
    symlinkSync(data, join(folder, 'gitea'));
    write(join(folder, 'etc/app.ini'), `WORK_PATH = ${folder}/gitea\n[database]\nDB_TYPE = sqlite3\n`);
    mkdirSync(join(data, 'custom/conf'), { recursive: true });
    symlinkSync(join(folder, 'etc/app.ini'), join(data, 'custom/conf/app.ini'));
    for (const given of [data, join(folder, 'gitea'), join(data, 'data/gitea-repositories')]) {
      const { layout, forge, repositories } = await look(given);
      t.match({ layout, repositories }, { layout: 'gitea', repositories: 1 }, given);
      t.equal(forge?.configFile?.endsWith('/custom/conf/app.ini'), true, given);
    }
  },
);

t.test('what a forge keeps in an object store is named as not being here', async t => {
  const folder = temporaryFolder(t);
  repository(join(folder, 'data/gitea-repositories/alice/app.git'));
  write(join(folder, 'custom/conf/app.ini'), '[lfs]\nSTORAGE_TYPE = minio\n[storage]\nPATH = /elsewhere\n');
  mkdirSync(join(folder, 'data/lfs'));
  const found = await look(folder);
  t.match(found.evidence.join('\n'), /LFS objects: kept in an object store/);
  t.strictSame(found.stores, []);
});

t.test('an app.ini of a forge with repositories elsewhere says nothing of what lies here', async t => {
  const folder = temporaryFolder(t);
  repository(join(folder, 'git/alice/app.git'));
  repository(join(folder, 'forge/bob/app.git'));
  write(join(folder, 'custom/conf/app.ini'), `[repository]\nROOT = ${folder}/forge\n`);
  t.match(await look(join(folder, 'git')), { layout: 'owners', root: `${folder}/git`, stores: [] });
  t.match(await look(join(folder, 'forge/bob')), { layout: 'gitea', root: `${folder}/forge` });
});

t.test('a forge without a repository yet is recognised', async t => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'data/forgejo-repositories'), { recursive: true });
  t.match(await look(folder), { layout: 'forgejo', repositories: 0, storages: [{ kind: 'repos' }, {}] });
});

t.test('copies that the file system keeps are no repositories of their own', async t => {
  const folder = temporaryFolder(t);
  repository(join(folder, 'alice/app.git'));
  repository(join(folder, '.snapshot/hourly/alice/app.git'));
  t.match(await look(folder), { repositories: 1, ownerless: [] });
});

t.test('a link is taken as it is named', async t => {
  const folder = temporaryFolder(t);
  repository(join(folder, 'a, {b}/alice/app.git'));
  await refused(t, join(folder, 'a, {b}'), 'usage', /cannot have the ","[\s\S]*Make a link/);
  symlinkSync(join(folder, 'a, {b}'), join(folder, 'plain'));
  t.match(await look(join(folder, 'plain')), {
    storages: [{ templates: [`${folder}/plain/{owner}/{repo}.git`] }],
    ownerless: [],
  });
});

t.test('what is no directory of repositories is refused, and it is said why', async t => {
  const folder = temporaryFolder(t);
  await refused(t, join(folder, 'nothing'), 'usage', /is not a directory/);
  write(join(folder, 'file'), '');
  await refused(t, join(folder, 'file'), 'usage', /is not a directory/);
  await refused(t, folder, 'not_found', /no bare repository/);
  await refused(t, repository(join(folder, 'a.git')), 'usage', /is itself a repository/);
});

t.test('the group of the repositories is told, since it has to reach the gate', async t => {
  const folder = temporaryFolder(t);
  chownSync(repository(join(folder, 'alice/app.git')), 4711, 4712);
  t.equal((await look(folder)).gid, 4712);
});

t.test('a store that is too large to be added up in time is told as at least so large', async t => {
  const folder = temporaryFolder(t);
  const tree = makeTree('gitea', folder, 1);
  const { stores } = await survey(tree.given, { accounts, storesMs: -1 });
  t.ok(stores.length > 0);
  for (const store of stores) t.match(store, { bytes: 0, whole: false });
});

t.test('a directory that moved is recognised where it lies', async t => {
  const folder = temporaryFolder(t);
  const { root } = makeTree('owners', folder, 2);
  chmodSync(root, 0o750);
  renameSync(root, join(folder, 'moved # here; "so"'));
  const found = await look(join(folder, 'moved # here; "so"'));
  t.match(found, { layout: 'owners', ownerless: [] });
});
