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

t.test('a unit, and anything inside it, is that unit', async t => {
  const at = emptyDirectory(t);
  const repository = makeRepository(`${at}/alice/group/a.git`);
  makeDirectory(`${repository}/lfs/objects`);
  const layout = forge(at);
  for (const place of [
    '',
    '/',
    '/refs/heads',
    '/HEAD',
    '/refs/heads/a.git/lfs',
    '/refs/../objects',
    '//objects/.',
  ]) {
    t.match(
      locate(layout, `${repository}${place}`),
      {
        found: 'unit',
        unit: { path: repository, owner: 'alice', kind: 'repos' },
        inner: [`${repository}/lfs`],
        exists: true,
      },
      place,
    );
  }
  for (const place of ['/lfs', '/lfs/objects/aa/bb']) {
    t.match(locate(layout, `${repository}${place}`), {
      unit: { path: `${repository}/lfs`, kind: 'lfs' },
      inner: [],
      exists: true,
    });
  }
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
  const cases = [
    [`${at}/alice/new.git`, `${at}/alice/new.git`, 'repos', false],
    [`${at}/alice/new.git/refs/x.git/lfs`, `${at}/alice/new.git`, 'repos', false],
    [`${at}/alice/new.git/lfs/objects`, `${at}/alice/new.git/lfs`, 'lfs', false],
    [`${at}/alice/group/new.wiki.git`, `${at}/alice/group/new.wiki.git`, 'wiki', false],
    [`${at}/bob/new.git`, `${at}/bob/new.git`, 'repos', false],
    [`${at}/alice/a.git/lfs/objects`, `${at}/alice/a.git/lfs`, 'lfs', false],
    [`${at}/alice/a.git/refs/new/x`, `${at}/alice/a.git`, 'repos', true],
  ] as const;
  for (const [asked, path, kind, exists] of cases) {
    t.match(locate(layout, asked), { found: 'unit', unit: { path, kind }, exists }, asked);
  }
});

t.test('a link from one owner’s tree into another’s leads to the other’s unit', async t => {
  const at = emptyDirectory(t);
  makeRepository(`${at}/alice/a.git`);
  makeLink(`${at}/mallory/m.git`, '../alice/a.git');
  makeLink(`${at}/mallory/later.git`, '../alice/later.git');
  makeRepository(`${at}/mallory/own.git`);
  makeLink(`${at}/mallory/own.git/lfs`, '../../alice/a.git/lfs');
  const layout = forge(at);
  t.match(locate(layout, `${at}/mallory/m.git/refs`), {
    unit: { path: `${at}/alice/a.git`, owner: 'alice' },
  });
  t.match(locate(layout, `${at}/mallory/later.git`), {
    unit: { path: `${at}/alice/later.git`, owner: 'alice' },
    exists: false,
  });
  t.match(locate(layout, `${at}/mallory/own.git/lfs/x`), {
    unit: { path: `${at}/alice/a.git/lfs`, owner: 'alice' },
  });
});

t.test('links that lead round and round are unread', async t => {
  const at = emptyDirectory(t);
  makeLink(`${at}/alice/a.git`, 'b.git');
  makeLink(`${at}/alice/b.git`, 'a.git');
  t.same(locate(forge(at), `${at}/alice/a.git`), {
    found: 'unread',
    path: `${at}/alice/a.git`,
    error: 'ELOOP',
  });
});

t.test('a path through a linked root, or a link to the storage, is found', async t => {
  const at = emptyDirectory(t);
  makeRepository(`${at}/disk/alice/a.git`);
  makeLink(`${at}/srv`, 'disk');
  makeLink(`${at}/home/git`, `${at}/srv`);
  const layout = forge(`${at}/srv`);
  for (const way of ['srv', 'disk', 'home/git', 'home/git/../disk']) {
    t.match(locate(layout, `${at}/${way}/alice/a.git`), { unit: { path: `${at}/disk/alice/a.git` } }, way);
  }
});

t.test('names that are not UTF-8 are found in either spelling', async t => {
  const at = emptyDirectory(t);
  makeRepository(`${at}/alice/b\udcff.git`);
  makeRepository(`${at}/alice/é.git`);
  const layout = forge(at);
  t.match(locate(layout, `${at}/alice/b\udcff.git/refs`), {
    unit: { path: `${at}/alice/b\udcff.git` },
    exists: true,
  });
  t.match(locate(layout, `${at}/alice/\udcc3\udca9.git`), {
    unit: { path: `${at}/alice/é.git` },
    exists: true,
  });
});

t.test('a path longer than the system takes is told as far as it can be', async t => {
  const at = emptyDirectory(t);
  makeRepository(`${at}/alice/a.git`);
  const layout = forge(at);
  t.match(locate(layout, `${at}/alice/a.git${'/x'.repeat(3000)}`), { unit: { path: `${at}/alice/a.git` } });
  t.match(locate(layout, `${at}/bob${'/x'.repeat(3000)}/a.git`), { found: 'unread', error: 'ENAMETOOLONG' });
});

t.test('storage that is not there is unread', async t => {
  const at = emptyDirectory(t);
  t.same(locate(forge(`${at}/mnt/git`), `${at}/mnt/git/alice/a.git`), {
    found: 'unread',
    path: `${at}/mnt/git`,
    error: 'ENOENT',
  });
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
