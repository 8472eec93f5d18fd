import { execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import type { StorageSettings } from '../../src/layout/index.ts';
import { emptyDirectory, excluded, makeDirectory, makeFile, makeRepository, storage } from './world.ts';

/** What the layout answers to one who is not root. */
function asNobody(storages: readonly StorageSettings[], paths: readonly string[] = []) {
  const script = fileURLToPath(new URL('nobody.ts', import.meta.url));
  const question = JSON.stringify({ storages, exclude: excluded, paths });
  // env -i takes away the test runner's settings, which have every Node write where only root may.
  const command = ['-i', process.execPath, script, question];
  return JSON.parse(execFileSync('env', command, { encoding: 'utf8' }));
}

/** Takes the rights away until the test's end. */
function restrict(t: Test, path: string, mode: number): void {
  chmodSync(path, mode);
  t.teardown(() => chmodSync(path, 0o755));
}

/** An empty directory that everybody may look into. */
function openDirectory(t: Test): string {
  const at = emptyDirectory(t);
  chmodSync(at, 0o755);
  return at;
}

t.test('what cannot be looked into is unread, and the rest is found', async t => {
  const at = openDirectory(t);
  makeRepository(`${at}/alice/a.git`);
  makeRepository(`${at}/bob/b.git`);
  makeRepository(`${at}/carol/c.git`);
  restrict(t, `${at}/alice`, 0o000);
  restrict(t, `${at}/bob/b.git`, 0o600);
  const paths = [`${at}/alice/a.git`, `${at}/bob/b.git/refs`, `${at}/carol/c.git`];
  const { found, located, inspected } = asNobody(
    [storage({ templates: [`${at}/{owner}/{repo}.git`] })],
    paths,
  );
  t.match(
    found.sort((a: { type: string }, b: { type: string }) => (a.type < b.type ? -1 : 1)),
    [
      { type: 'unit', unit: { owner: 'carol' } },
      { type: 'unread', error: 'EACCES' },
      { type: 'unread', error: 'EACCES' },
    ],
  );
  t.same(
    new Set(found.map(({ path }: { path?: string }) => path)),
    new Set([undefined, `${at}/alice`, `${at}/bob/b.git`]),
  );
  t.match(located, [
    { found: 'unread', path: `${at}/alice/a.git`, error: 'EACCES' },
    { found: 'unread', path: `${at}/bob/b.git`, error: 'EACCES' },
    { found: 'unit', unit: { owner: 'carol' } },
  ]);
  t.match(inspected, [{ found: 'unread' }, { found: 'unread' }, { found: 'unit' }]);
});

t.test(
  'a directory that may be passed through but not listed still leads to names that are known',
  async t => {
    const at = openDirectory(t);
    makeDirectory(`${at}/git/alice/packages`);
    makeRepository(`${at}/git/bob/b.git`);
    makeDirectory(`${at}/git/team/carol`);
    restrict(t, `${at}/git/alice`, 0o111);
    restrict(t, `${at}/git`, 0o711);
    const { roots, found } = asNobody([
      storage({ kind: 'packages', templates: [`${at}/*/{owner}/packages`, `${at}/git/team/{owner}`] }),
    ]);
    t.match(roots, [{ state: 'present' }, { state: 'present' }]);
    t.match(found, [
      { type: 'unread', path: `${at}/git`, error: 'EACCES' },
      { type: 'unit', unit: { path: `${at}/git/team/carol`, owner: 'carol' } },
    ]);
  },
);

t.test('a root that may not be listed is unreadable, and all below is unread', async t => {
  const at = openDirectory(t);
  makeRepository(`${at}/git/alice/a.git`);
  restrict(t, `${at}/git`, 0o311);
  const { roots, found } = asNobody([storage({ templates: [`${at}/git/{owner}/{repo}.git`] })]);
  t.match(roots, [{ state: 'unreadable', error: 'EACCES' }]);
  t.same(found, [{ type: 'unread', path: `${at}/git`, error: 'EACCES' }]);
});

t.test('a place inside a unit that cannot be looked into is left out of the unit, and unread', async t => {
  const at = openDirectory(t);
  const repository = makeRepository(`${at}/alice/a.git`);
  makeRepository(`${repository}/wiki.git`);
  restrict(t, `${repository}/wiki.git`, 0o000);
  const storages = [
    storage({ templates: [`${at}/{owner}/{repo}.git`] }),
    storage({ kind: 'wiki', templates: [`${at}/{owner}/{repo}.git/wiki.git`] }),
  ];
  const { found, located } = asNobody(storages, [`${repository}/wiki.git`, `${repository}/refs`]);
  t.match(found, [
    { type: 'unit', unit: { path: repository }, inner: [`${repository}/wiki.git`] },
    { type: 'unread', path: `${repository}/wiki.git`, error: 'EACCES' },
  ]);
  t.match(located, [
    { found: 'unread', path: `${repository}/wiki.git` },
    { found: 'unit', unit: { path: repository }, inner: [`${repository}/wiki.git`] },
  ]);
});

t.test('a unit whose owner cannot be read is unread: it is not of nobody', async t => {
  const at = openDirectory(t);
  restrict(t, makeFile(`${makeRepository(`${at}/a.git`)}/owner`, 'alice'), 0o000);
  const { found } = asNobody([
    storage({ templates: [`${at}/{repo}.git`], owner: { by: 'file', name: 'owner' } }),
  ]);
  t.same(found, [{ type: 'unread', path: `${at}/a.git`, error: 'EACCES' }]);
});
