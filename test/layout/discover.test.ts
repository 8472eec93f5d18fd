import { execFileSync } from 'node:child_process';
import { chownSync, lchownSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import t from 'tap';
import { discover, inspect, locate, resolveLayout } from '../../src/layout/index.ts';
import {
  discovered,
  emptyDirectory,
  layoutOf,
  makeDirectory,
  makeFile,
  makeLink,
  makeRepository,
  matchEach,
  shown,
  storage,
  unitsOf,
} from './world.ts';

t.test('a repository is a unit of its owner, public when exported', async t => {
  const at = emptyDirectory(t);
  makeRepository(`${at}/alice/a.git`);
  makeFile(`${makeRepository(`${at}/bob/b.git`)}/git-daemon-export-ok`);
  const templates = [`${at}/{owner}/{repo}.git`];
  t.same(unitsOf(layoutOf(storage({ templates }))), [
    { path: `${at}/alice/a.git`, kind: 'repos', owner: 'alice', leaf: 'size:repos:private' },
    { path: `${at}/bob/b.git`, kind: 'repos', owner: 'bob', leaf: 'size:repos:public' },
  ]);
  for (const visibility of ['public', 'private'] as const) {
    const leaves = unitsOf(layoutOf(storage({ templates, visibility }))).map(unit => unit.leaf);
    t.same(leaves, [`size:repos:${visibility}`, `size:repos:${visibility}`]);
  }
});

t.test('every kind of storage has its leaf', async t => {
  const at = emptyDirectory(t);
  const leaves = {
    wiki: 'size:assets:wiki',
    lfs: 'size:git:lfs',
    'attachments.issues': 'size:assets:attachments:issues',
    'attachments.releases': 'size:assets:attachments:releases',
    artifacts: 'size:assets:artifacts',
    packages: 'size:assets:packages:all',
  } as const;
  for (const kind of Object.keys(leaves)) makeRepository(`${at}/${kind}/alice`);
  const layout = layoutOf(
    ...(Object.keys(leaves) as (keyof typeof leaves)[]) // Its own keys.
      .map(kind => storage({ kind, templates: [`${at}/${kind}/{owner}`] })),
  );
  t.same(Object.fromEntries(unitsOf(layout).map(unit => [unit.kind, unit.leaf])), leaves);
});

t.test('a repository may lie several directories deep, and a group may be named like one', async t => {
  const at = emptyDirectory(t);
  makeRepository(`${at}/alice/group.git/sub/a.git`);
  makeRepository(`${at}/alice/.git`);
  makeRepository(`${at}/alice/notes`);
  const layout = layoutOf(storage({ templates: [`${at}/{owner}/{repo}.git`] }));
  t.same(shown(at, layout), ['/alice/group.git/sub/a.git alice repos']);
});

t.test('below the name of a repository that another host walks, what this one walks is found', async t => {
  const at = emptyDirectory(t);
  makeRepository(`${at}/alice/a`);
  makeRepository(`${at}/alice/wikis/a`);
  const layout = layoutOf(
    storage({ templates: [`${at}/{owner}/{repo}`], elsewhere: [`${at}/{owner}/{repo}`] }),
    storage({ kind: 'wiki', templates: [`${at}/{owner}/wikis/{repo}`] }),
  );
  t.same(shown(at, layout), ['/alice/wikis/a alice wiki']);
});

t.test('text before and after a placeholder belongs to the template, not to the owner', async t => {
  const at = emptyDirectory(t);
  makeRepository(`${at}/u-alice-x/p-group/b/r.git/store`);
  makeRepository(`${at}/u--x/p-a.git/store`);
  makeRepository(`${at}/u-bob-x/group/p-a.git/store`);
  const layout = layoutOf(storage({ templates: [`${at}/u-{owner}-x/p-{repo}.git/store`] }));
  t.same(shown(at, layout), ['/u-alice-x/p-group/b/r.git/store alice repos']);
});

t.test('a template without placeholders is one unit', async t => {
  const at = emptyDirectory(t);
  const templates = [`${makeDirectory(`${at}/lfs`)}/`];
  const layout = layoutOf(storage({ kind: 'lfs', templates, owner: { by: 'fixed', name: 'all' } }));
  t.same(shown(at, layout), ['/lfs all lfs']);
});

t.test('no branch name makes a unit', async t => {
  const at = emptyDirectory(t);
  const repository = makeRepository(`${at}/alice/a.git`);
  makeFile(`${repository}/refs/heads/a.git/lfs/x`);
  makeRepository(`${repository}/refs/heads/b.git`);
  makeDirectory(`${repository}/lfs/objects`);
  const layout = layoutOf(
    storage({ templates: [`${at}/{owner}/{repo}.git`] }),
    storage({ kind: 'lfs', templates: [`${at}/{owner}/{repo}.git/lfs`] }),
  );
  t.same(shown(at, layout), [
    '/alice/a.git alice repos without /alice/a.git/lfs',
    '/alice/a.git/lfs alice lfs',
  ]);
});

t.test('units inside a unit nest by literal segments, each over directories alone', async t => {
  const at = emptyDirectory(t);
  const a = makeRepository(`${at}/alice/a.git`);
  makeRepository(`${a}/x/wiki.git`);
  makeDirectory(`${a}/x/wiki.git/lfs`);
  const b = makeRepository(`${at}/alice/b.git`);
  makeLink(`${b}/x`, '../a.git/x');
  makeDirectory(`${makeRepository(`${at}/alice/c.git`)}/x/wiki.git/lfs`);
  const layout = layoutOf(
    storage({ templates: [`${at}/{owner}/{repo}.git`] }),
    storage({ kind: 'wiki', templates: [`${at}/{owner}/{repo}.git/x/wiki.git`] }),
    storage({ kind: 'lfs', templates: [`${at}/{owner}/{repo}.git/x/wiki.git/lfs`] }),
  );
  t.same(shown(at, layout), [
    '/alice/a.git alice repos without /alice/a.git/x/wiki.git',
    '/alice/a.git/x/wiki.git alice wiki without /alice/a.git/x/wiki.git/lfs',
    '/alice/a.git/x/wiki.git/lfs alice lfs',
    '/alice/b.git alice repos',
    '/alice/c.git alice repos without /alice/c.git/x/wiki.git/lfs',
    '/alice/c.git/x/wiki.git/lfs alice lfs',
  ]);
});

t.test('HEAD, objects and refs need only exist, be it as links', async t => {
  const at = emptyDirectory(t);
  makeLink(`${at}/alice/a.git/HEAD`, 'refs/heads/main');
  makeLink(`${at}/alice/a.git/objects`, '/nowhere');
  makeLink(`${at}/alice/a.git/refs`, '/nowhere');
  t.equal(unitsOf(layoutOf(storage({ templates: [`${at}/{owner}/{repo}.git`] }))).length, 1);
});

t.test('links are not followed, and named where an owner or a unit is expected', async t => {
  const at = emptyDirectory(t);
  const git = `${at}/git`;
  makeRepository(`${git}/alice/a.git`);
  makeRepository(`${at}/disk/b.git`);
  makeLink(`${git}/mallory/a.git`, '../alice/a.git');
  makeLink(`${git}/alice/file`, 'a.git/HEAD');
  makeLink(`${git}/alice/a.git/elsewhere`, '/usr');
  for (const [name, target] of [
    ['alice/b.git', `${at}/disk/b.git`],
    ['alice/gone.git', `${at}/nothing`],
    ['alice/loop', '..'],
    ['eve', 'alice'],
  ] as const)
    makeLink(`${git}/${name}`, target);
  const layout = layoutOf(storage({ templates: [`${git}/{owner}/{repo}.git`] }));
  const { units, unread, faults } = discovered(layout);
  matchEach(t, units, [{ unit: { path: `${git}/alice/a.git` } }]);
  const names = ['alice/b.git', 'alice/gone.git', 'alice/loop', 'eve'];
  t.same(
    unread,
    names.map(name => ({ path: `${git}/${name}`, error: 'ELOOP' })),
  );
  const counts = `a symbolic link to ${git}/alice/a.git, whose data counts there`;
  t.same(faults, [{ path: `${git}/mallory/a.git`, what: counts }]);
  const behind = [...discover(layout)].flatMap(one => (one.type === 'unread' ? [one.unit] : []));
  t.match(new Set(behind.map(unit => unit?.owner)), new Set(['alice', 'eve']), 'as far as paths tell');
});

t.test("a link of root or of the target's owner to a directory below FOLLOW is followed, once", async t => {
  const at = emptyDirectory(t);
  const [git, disk] = [`${at}/git`, `${at}/disk`];
  makeRepository(`${git}/alice/a.git`);
  makeRepository(`${git}/lfs/inside.git`);
  const objects = `${git}/alice/a.git/objects`;
  rmdirSync(objects);
  const links = {
    'alice/a.git/objects': makeDirectory(`${disk}/objects`),
    'alice/big.git': makeRepository(`${disk}/0042`),
    'alice/inside.git': `${git}/lfs/inside.git`,
    'alice/outside.git': makeRepository(`${at}/other.git`),
    'alice/twice.git': `${disk}/0042`,
    'alice/whole.git': disk,
    bob: makeDirectory(`${disk}/people/bob`),
    carol: `${disk}/carol`,
    eve: `${disk}/people/bob/b.git`,
  };
  makeDirectory(`${makeRepository(`${disk}/people/bob/b.git`)}/lfs`);
  makeRepository(`${disk}/people/bob/group/c.git`);
  for (const [name, target] of Object.entries(links)) makeLink(`${git}/${name}`, target);
  const follow = [disk, `${at}/nothing`];
  const storages = [
    storage({ templates: [`${git}/{owner}/{repo}.git`], follow }),
    storage({ kind: 'lfs', templates: [`${git}/{owner}/{repo}.git/lfs`], follow }),
  ];
  const layout = resolveLayout(storages, []);
  const { units, unread, faults } = discovered(layout);
  t.same(shown(at, layout), [
    '/disk/0042 alice repos',
    '/disk/people/bob/b.git bob repos without /disk/people/bob/b.git/lfs',
    '/disk/people/bob/b.git/lfs bob lfs',
    '/disk/people/bob/group/c.git bob repos',
    '/git/alice/a.git alice repos',
    '/git/lfs/inside.git lfs repos',
  ]);
  t.equal(units.find(({ unit }) => unit.path === `${git}/alice/a.git`)?.objectsAt, `${disk}/objects`);
  t.same(
    unread.filter(({ error }) => error === 'ELOOP').map(({ path }) => path.slice(git.length)),
    ['/alice/outside.git', '/alice/whole.git'],
  );
  t.same(
    unread.filter(({ error }) => error === 'ENOENT').map(({ path }) => path),
    [`${disk}/carol`],
  );
  t.same(
    faults.map(({ path, what }) => what.endsWith('whose data counts there') && path.slice(git.length)),
    ['/alice/inside.git', '/alice/twice.git', '/eve'],
  );
  for (const { unit, inner, objectsAt } of units) {
    const found = { found: 'unit', unit, inner, ...(objectsAt && { objectsAt }), exists: true };
    t.same(inspect(layout, unit.path), found);
  }
  t.match(locate(layout, `${git}/bob/b.git/refs`), { unit: { path: `${disk}/people/bob/b.git` } });
  t.same(resolveLayout(storages, [], [...layout.links.keys()]), layout, 'what is known is found again');
  rmSync(`${git}/bob`);
  t.notOk(resolveLayout(storages, [], [...layout.links.keys()]).links.has(`${git}/bob`));
});

t.test('links behind links are found again in their order, and without them not', async t => {
  const at = emptyDirectory(t);
  makeRepository(`${at}/a/last/r.git`);
  makeDirectory(`${at}/b/zoe`);
  makeLink(`${at}/b/zoe/r.git`, `${at}/a/last/r.git`);
  makeDirectory(`${at}/git`);
  makeLink(`${at}/git/zoe`, `${at}/b/zoe`);
  const follow = [`${at}/a`, `${at}/b`];
  const settings = [storage({ templates: [`${at}/git/{owner}/{repo}.git`], follow })];
  const layout = resolveLayout(settings, []);
  const known = [...layout.links.keys()];
  t.same(known, [`${at}/git/zoe`, `${at}/b/zoe/r.git`]);
  t.same(resolveLayout(settings, [], known), layout);
  rmSync(`${at}/git/zoe`);
  t.same([...resolveLayout(settings, [], known).links.keys()], []);
});

t.test('a link that a stranger made is not followed', async t => {
  const at = emptyDirectory(t);
  const repository = makeRepository(`${at}/disk/bob.git`);
  const link = makeLink(`${at}/git/eve/a.git`, repository);
  const settings = storage({ templates: [`${at}/git/{owner}/{repo}.git`], follow: [`${at}/disk`] });
  const followed = () => [...resolveLayout([settings], []).links.keys()];
  t.same(followed(), [link], 'root made it');
  chownSync(`${at}/git/eve`, 1234, 1234);
  lchownSync(link, 0, 0);
  t.same(followed(), [], 'others may have put it there just now');
  chownSync(`${at}/git/eve`, 0, 0);
  lchownSync(link, 1234, 1234);
  t.same(followed(), []);
  chownSync(repository, 1234, 1234);
  t.same(followed(), [link], 'it leads to what is their own');
  renameSync(repository, `${at}/disk/away`);
  t.same(followed(), [], 'a disk that is not mounted says nothing');
  chownSync(`${at}/git`, 1234, 1234);
  t.same(followed(), [link], 'unless the storage is theirs');
});

t.test('a fixed part may be a link, and its units have their physical paths', async t => {
  const at = emptyDirectory(t);
  makeRepository(`${at}/disk/alice/a.git`);
  makeLink(`${at}/git`, 'disk');
  const templates = ['git', 'disk'].map(name => `${at}/${name}/{owner}/{repo}.git`);
  t.same(shown(at, layoutOf(storage({ templates }))), ['/disk/alice/a.git alice repos']);
});

t.test('excluded names are left out below the fixed part, not in it', async t => {
  const at = emptyDirectory(t);
  for (const place of ['.snapshot/daily/alice', 'alice/.snapshot', 'alice/group/lost+found']) {
    makeRepository(`${at}/.zfs/${place}/a.git`);
  }
  makeRepository(`${at}/.zfs/alice/a.git`);
  const layout = layoutOf(storage({ templates: [`${at}/.zfs/{owner}/{repo}.git`] }));
  t.same(shown(at, layout), ['/.zfs/alice/a.git alice repos']);
});

t.test('an excluded name is no unit inside a unit either', async t => {
  const at = emptyDirectory(t);
  const repository = makeRepository(`${at}/alice/a.git`);
  makeDirectory(`${repository}/.snapshot/lfs`);
  const layout = layoutOf(
    storage({ templates: [`${at}/{owner}/{repo}.git`] }),
    storage({ kind: 'lfs', templates: [`${at}/{owner}/{repo}.git/.snapshot/lfs`] }),
  );
  t.same(shown(at, layout), ['/alice/a.git alice repos']);
});

t.test('the root of all directories is a root like others', async t => {
  const at = emptyDirectory(t);
  makeDirectory(`${at}/alice`);
  const [, , ...rest] = at.split('/');
  const layout = layoutOf(
    storage({ kind: 'packages', templates: [`/*/${rest.join('/')}/{owner}`, `${at}/{owner}`] }),
  );
  t.same(shown(at, layout), ['/alice alice packages']);
});

t.test('one walk serves roots within roots, and lists each directory once', async t => {
  const at = emptyDirectory(t);
  makeRepository(`${at}/git/alice/a.git`);
  makeRepository(`${at}/git/lost+found/team/bob/b.git`);
  makeDirectory(`${at}/packages/alice`);
  const layout = layoutOf(
    storage({ templates: [`${at}/git/{owner}/{repo}.git`, `${at}/git/lost+found/team/{owner}/{repo}.git`] }),
    storage({ kind: 'packages', templates: [`${at}/packages/{owner}`] }),
    storage({ kind: 'lfs', templates: [`${at}/*/{owner}/{repo}.git/lfs`] }),
  );
  t.same(shown(at, layout), [
    '/git/alice/a.git alice repos',
    '/git/lost+found/team/bob/b.git bob repos',
    '/packages/alice alice packages',
  ]);
  const { listed } = discovered(layout);
  t.same(listed, [...new Set(listed)]);
});

t.test('nothing is listed where no template can match', async t => {
  const at = emptyDirectory(t);
  makeDirectory(`${at}/alice/packages`);
  makeDirectory(`${at}/alice/other/deep/deeper`);
  const { units, listed } = discovered(
    layoutOf(storage({ kind: 'packages', templates: [`${at}/{owner}/packages`] })),
  );
  t.equal(units.length, 1);
  t.same(listed, [at, `${at}/alice`]);
});

t.test('a template that begins inside a unit of another one is a fault', async t => {
  const at = emptyDirectory(t);
  const repository = makeRepository(`${at}/alice/a.git`);
  makeDirectory(`${repository}/files/bob`);
  const layout = layoutOf(
    storage({ templates: [`${at}/{owner}/{repo}.git`] }),
    storage({ kind: 'packages', templates: [`${repository}/files/{owner}`] }),
  );
  const { units, faults } = discovered(layout);
  t.equal(units.length, 1);
  matchEach(t, faults, [{ path: `${repository}/files`, what: /files\/\{owner\}.* matches nothing here/ }]);
});

t.test('a literal template inside a literal one is its own', async t => {
  const at = emptyDirectory(t);
  makeDirectory(`${at}/data/lfs`);
  const owner = { by: 'fixed', name: 'all' } as const;
  const layout = layoutOf(
    storage({ kind: 'packages', templates: [`${at}/data`], owner }),
    storage({ kind: 'lfs', templates: [`${at}/data/lfs`], owner }),
  );
  t.same(shown(at, layout), ['/data all packages without /data/lfs', '/data/lfs all lfs']);
  t.same(discovered(layout).faults, []);
});

t.test('names with control and bidirectional characters are owners like others', async t => {
  const at = emptyDirectory(t);
  const names = ['\x1b[2Jeve', '\u202eecila', 'a\nb'];
  for (const name of names) makeRepository(`${at}/${name}/r\x07.git`);
  const { units, faults } = discovered(layoutOf(storage({ templates: [`${at}/{owner}/{repo}.git`] })));
  t.same(new Set(units.map(({ unit }) => unit.owner)), new Set(names));
  t.same(faults, []);
});

t.test('an owner that is not UTF-8 is nobody and at fault once; a repository may be named so', async t => {
  const at = emptyDirectory(t);
  makeRepository(`${at}/b\udcff/a.git`);
  makeRepository(`${at}/b\udcff/b.git`);
  makeRepository(`${at}/alice/\udcc3(.git`);
  const { units, faults } = discovered(layoutOf(storage({ templates: [`${at}/{owner}/{repo}.git`] })));
  matchEach(t, units, [
    { unit: { path: `${at}/alice/\udcc3(.git`, owner: 'alice' } },
    { unit: { path: `${at}/b\udcff/a.git`, owner: null, ownerFault: /not UTF-8/ } },
    { unit: { path: `${at}/b\udcff/b.git`, owner: null } },
  ]);
  matchEach(t, faults, [{ path: `${at}/b\udcff`, what: /not UTF-8/ }]);
});

t.test('a unit whose file does not name its owner is found, and at fault', async t => {
  const at = emptyDirectory(t);
  makeFile(`${makeRepository(`${at}/a.git`)}/owner`, 'alice\n');
  execFileSync('mkfifo', [`${makeRepository(`${at}/b.git`)}/owner`]);
  const layout = layoutOf(storage({ templates: [`${at}/{repo}.git`], owner: { by: 'file', name: 'owner' } }));
  const { units, faults } = discovered(layout);
  t.same(
    units.map(({ unit }) => unit.owner),
    ['alice', null],
  );
  matchEach(t, faults, [{ path: `${at}/b.git`, what: /not a regular file/ }]);
});
