import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import t from 'tap';
import { inspect, type Layout, locate, locateByMounts } from '../../src/layout/index.ts';
import {
  emptyDirectory,
  layoutOf,
  makeDirectory,
  makeFile,
  makeLink,
  makeRepository,
  storage,
} from './world.ts';

/** A forge's layout: repositories, their LFS files inside, and wikis beside them. */
function forge(at: string): Layout {
  return layoutOf(
    storage({ templates: [`${at}/{owner}/{repo}.git`] }),
    storage({ kind: 'lfs', templates: [`${at}/{owner}/{repo}.git/lfs`] }),
    storage({ kind: 'wiki', templates: [`${at}/{owner}/{repo}.wiki.git`] }),
  );
}

/** Gives what `locate` finds, as `PATH KIND` below a directory, `to come` if it is not there; or why none. */
function told(at: string, layout: Layout, path: string): string {
  const located = locate(layout, path);
  if (located.found === 'none') return 'none';
  if (located.found === 'unread') return `${located.error} ${located.path.slice(at.length)}`;
  const { unit, exists } = located;
  return `${unit.path.slice(at.length)} ${unit.kind}${exists ? '' : ' to come'}`;
}

t.test('a unit, and anything inside it, is that unit', async t => {
  const at = emptyDirectory(t);
  const repository = makeRepository(`${at}/alice/group/a.git`);
  makeDirectory(`${repository}/lfs/objects`);
  const layout = forge(at);
  const inner = [`${repository}/lfs`];
  t.match(locate(layout, repository), { unit: { owner: 'alice' }, inner });
  const places = [
    '',
    '/',
    '/refs/heads',
    '/HEAD',
    '/refs/heads/a.git/lfs',
    '/refs/../objects',
    '//objects/.',
  ];
  for (const place of places)
    t.equal(told(at, layout, `${repository}${place}`), '/alice/group/a.git repos', place);
  for (const place of ['/lfs', '/lfs/objects/aa/bb'])
    t.equal(told(at, layout, `${repository}${place}`), '/alice/group/a.git/lfs lfs', place);
});

t.test('what is under no template is none', async t => {
  const at = emptyDirectory(t);
  makeRepository(`${at}/alice/a.git`);
  makeFile(`${at}/alice/file.git`);
  makeDirectory(`${at}/alice/empty.git`);
  const layout = forge(at);
  for (const path of [
    at,
    `${at}/alice`,
    `${at}/alice/notes`,
    `${at}/alice/file.git`,
    `${at}/alice/file.git/x.git`,
    `${at}/alice/empty.git`,
    `${at}/alice/.snapshot/a.git`,
    `${at}/.snapshot/a.git`,
    '/etc/passwd',
    '/',
    'alice/a.git',
    `${at}/alice/new/../a.git`,
    `${at}/alice/a\0.git`,
    `${at}/alice/a\ud800.git`,
  ]) {
    t.same(locate(layout, path), { found: 'none' }, JSON.stringify(path));
  }
});

t.test('what does not exist yet is told by its name', async t => {
  const at = emptyDirectory(t);
  makeRepository(`${at}/alice/a.git`);
  const layout = forge(at);
  const cases = {
    '/alice/new.git': '/alice/new.git repos to come',
    '/alice/new.git/refs/x.git/lfs': '/alice/new.git repos to come',
    '/alice/new.git/lfs/objects': '/alice/new.git/lfs lfs to come',
    '/alice/group/new.wiki.git': '/alice/group/new.wiki.git wiki to come',
    '/bob/new.git': '/bob/new.git repos to come',
    '/alice/a.git/lfs/objects': '/alice/a.git/lfs lfs to come',
    '/alice/a.git/refs/new/x': '/alice/a.git repos',
  };
  for (const [path, place] of Object.entries(cases)) t.equal(told(at, layout, at + path), place, path);
});

t.test('a link from one owner’s tree into another’s leads to the other’s unit', async t => {
  const at = emptyDirectory(t);
  makeRepository(`${at}/alice/a.git`);
  makeLink(`${at}/mallory/m.git`, '../alice/a.git');
  makeLink(`${at}/mallory/later.git`, '../alice/later.git');
  makeRepository(`${at}/mallory/own.git`);
  makeLink(`${at}/mallory/own.git/lfs`, '../../alice/a.git/lfs');
  const layout = forge(at);
  t.match(locate(layout, `${at}/mallory/m.git/refs`), { unit: { owner: 'alice' } });
  t.equal(told(at, layout, `${at}/mallory/m.git/refs`), '/alice/a.git repos');
  t.equal(told(at, layout, `${at}/mallory/later.git`), '/alice/later.git repos to come');
  t.equal(told(at, layout, `${at}/mallory/own.git/lfs/x`), '/alice/a.git/lfs lfs to come');
});

t.test('links that lead round and round are unread', async t => {
  const at = emptyDirectory(t);
  makeLink(`${at}/alice/a.git`, 'b.git');
  makeLink(`${at}/alice/b.git`, 'a.git');
  t.equal(told(at, forge(at), `${at}/alice/a.git`), 'ELOOP /alice/a.git');
});

t.test('a path through a linked root, or a link to the storage, is found', async t => {
  const at = emptyDirectory(t);
  makeRepository(`${at}/disk/alice/a.git`);
  makeLink(`${at}/srv`, 'disk');
  makeLink(`${at}/home/git`, `${at}/srv`);
  const layout = forge(`${at}/srv`);
  for (const way of ['srv', 'disk', 'home/git', 'home/git/../disk']) {
    t.equal(told(at, layout, `${at}/${way}/alice/a.git`), '/disk/alice/a.git repos', way);
  }
});

t.test('names that are not UTF-8 are found in either spelling', async t => {
  const at = emptyDirectory(t);
  makeRepository(`${at}/alice/b\udcff.git`);
  makeRepository(`${at}/alice/é.git`);
  const layout = forge(at);
  t.equal(told(at, layout, `${at}/alice/b\udcff.git/refs`), '/alice/b\udcff.git repos');
  t.equal(told(at, layout, `${at}/alice/\udcc3\udca9.git`), '/alice/é.git repos');
});

t.test('a path longer than the system takes is told as far as it can be', async t => {
  const at = emptyDirectory(t);
  makeRepository(`${at}/alice/a.git`);
  const layout = forge(at);
  t.equal(told(at, layout, `${at}/alice/a.git${'/x'.repeat(3000)}`), '/alice/a.git repos');
  t.match(locate(layout, `${at}/bob${'/x'.repeat(3000)}/a.git`), { found: 'unread', error: 'ENAMETOOLONG' });
});

t.test('storage that is not there is unread', async t => {
  const at = emptyDirectory(t);
  t.equal(told(at, forge(`${at}/mnt/git`), `${at}/mnt/git/alice/a.git`), 'ENOENT /mnt/git');
});

t.test('inspecting tells what a directory is now', async t => {
  const at = emptyDirectory(t);
  const repository = makeRepository(`${at}/alice/a.git`);
  const layout = forge(at);
  t.match(inspect(layout, repository), { found: 'unit', unit: { leaf: 'size:repos:private' }, inner: [] });
  makeFile(`${repository}/git-daemon-export-ok`);
  makeDirectory(`${repository}/lfs`);
  t.match(inspect(layout, repository), { unit: { leaf: 'size:repos:public' }, inner: [`${repository}/lfs`] });
  t.match(inspect(layout, `${repository}/lfs`), { unit: { path: `${repository}/lfs`, kind: 'lfs' } });
});

t.test('inspecting what is no unit, no more, or reached by a link gives none', async t => {
  const at = emptyDirectory(t);
  const repository = makeRepository(`${at}/alice/a.git`);
  const layout = forge(at);
  t.same(inspect(layout, `${repository}/refs`), { found: 'none' });
  t.same(inspect(layout, `${repository}/lfs`), { found: 'none' });
  rmSync(`${repository}/HEAD`);
  t.same(inspect(layout, repository), { found: 'none' });
  rmSync(repository, { recursive: true });
  t.same(inspect(layout, repository), { found: 'none' });
  makeRepository(`${at}/bob/b.git`);
  makeLink(repository, '../bob/b.git');
  t.same(inspect(layout, repository), { found: 'none' });
});

t.test('inspecting in storage that is gone or replaced gives no word on the unit', async t => {
  const at = emptyDirectory(t);
  const repository = makeRepository(`${at}/git/alice/a.git`);
  const layout = forge(`${at}/git`);
  renameSync(`${at}/git`, `${at}/away`);
  t.same(inspect(layout, repository), { found: 'unread', path: `${at}/git`, error: 'ESTALE' });
  mkdirSync(`${at}/git`);
  t.same(inspect(layout, repository), { found: 'unread', path: `${at}/git`, error: 'ESTALE' });
});

t.test('a linked worktree is in the unit of its repository', async t => {
  const at = emptyDirectory(t);
  const unit = makeRepository(`${at}/git/alice/a.git`);
  const layout = forge(`${at}/git`);
  const worktree = `${at}/worktree`;
  makeDirectory(worktree);
  t.match(locateByMounts(layout, worktree), { found: 'none' });
  makeFile(`${worktree}/commondir`, '../git/alice/a.git\n');
  t.match(locateByMounts(layout, worktree), { found: 'unit', unit: { path: unit } });
  execFileSync('mkfifo', [`${at}/git/commondir`]);
  t.match(locateByMounts(layout, `${at}/git`), { found: 'none' }, 'a pipe keeps nobody waiting');
});

t.test('a unit that was moved behind a link is not gone, but nobody can tell', async t => {
  const at = emptyDirectory(t);
  const repository = makeRepository(`${at}/git/alice/a.git`);
  const layout = forge(`${at}/git`);
  renameSync(`${at}/git/alice`, `${at}/alice`);
  t.same(inspect(layout, repository), { found: 'none' });
  makeLink(`${at}/git/alice`, `${at}/alice`);
  t.same(inspect(layout, repository), { found: 'unread', path: repository, error: 'ELOOP' });
});
