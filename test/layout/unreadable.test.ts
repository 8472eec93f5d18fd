import { execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import type { StorageSettings } from '../../src/layout/index.ts';
import type { Answer, Question } from './nobody.ts';
import {
  emptyDirectory,
  excluded,
  makeDirectory,
  makeFile,
  makeRepository,
  matchEach,
  storage,
} from './world.ts';

/** Answer of the layout to one who is not root, when this command runs it. */
function asNobody(
  storages: readonly StorageSettings[],
  paths: readonly string[] = [],
  through: readonly string[] = [],
): Answer {
  const script = fileURLToPath(new URL('nobody.ts', import.meta.url));
  const question: Question = { storages, exclude: excluded, paths };
  // env -i takes away the test runner's settings, which have every Node write where only root may.
  const command = [...through, 'env', '-i', process.execPath, script, JSON.stringify(question)];
  return JSON.parse(execFileSync('/usr/bin/env', command, { encoding: 'utf8' }));
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
  matchEach(t, found, [
    { type: 'unit', unit: { owner: 'carol' } },
    { type: 'unread', path: `${at}/alice`, error: 'EACCES' },
    { type: 'unread', path: `${at}/bob/b.git`, error: 'EACCES' },
  ]);
  matchEach(t, located, [
    { found: 'unread', path: `${at}/alice/a.git`, error: 'EACCES' },
    { found: 'unread', path: `${at}/bob/b.git`, error: 'EACCES' },
    { found: 'unit', unit: { owner: 'carol' } },
  ]);
  matchEach(t, inspected, [{ found: 'unread' }, { found: 'unread' }, { found: 'unit' }]);
});

t.test('a directory that may be passed through but not listed leads to the names that are known', async t => {
  const at = openDirectory(t);
  makeDirectory(`${at}/alice/packages`);
  makeDirectory(`${at}/git/team/carol`);
  makeDirectory(`${at}/git/bob/packages`);
  restrict(t, `${at}/alice`, 0o111);
  restrict(t, `${at}/git`, 0o711);
  const packages = (...templates: string[]) =>
    storage({ kind: 'packages', templates: templates.map(one => `${at}${one}`) });
  matchEach(t, asNobody([packages('/{owner}/packages', '/*/{owner}/packages', '/git/team/{owner}')]).found, [
    { type: 'unit', unit: { path: `${at}/alice/packages`, owner: 'alice' } },
    { type: 'unit', unit: { path: `${at}/git/team/carol`, owner: 'carol' } },
    { type: 'unread', path: `${at}/alice`, error: 'EACCES' },
    { type: 'unread', path: `${at}/git`, error: 'EACCES' },
  ]);
  matchEach(t, asNobody([packages('/{owner}/packages')]).found, [
    { type: 'unit', unit: { path: `${at}/alice/packages`, owner: 'alice' } },
  ]);
});

t.test('a root that may not be listed is unreadable, and all below is unread', async t => {
  const at = openDirectory(t);
  makeRepository(`${at}/git/alice/a.git`);
  restrict(t, `${at}/git`, 0o311);
  const { roots, found } = asNobody([storage({ templates: [`${at}/git/{owner}/{repo}.git`] })]);
  matchEach(t, roots, [{ state: 'unreadable', error: 'EACCES' }]);
  t.same(found, [{ type: 'unread', path: `${at}/git`, error: 'EACCES' }]);
});

t.test('a capability to read everything is as good as rights', async t => {
  const at = openDirectory(t);
  makeRepository(`${at}/git/alice/a.git`);
  restrict(t, `${at}/git`, 0o000);
  const nobody = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'];
  const capability = ['--inh-caps', '+dac_read_search', '--ambient-caps', '+dac_read_search'];
  const storages = [storage({ templates: [`${at}/git/{owner}/{repo}.git`] })];
  const { roots, found } = asNobody(storages, [], [...nobody, ...capability]);
  t.same(roots, [{ state: 'present' }]);
  matchEach(t, found, [{ type: 'unit', unit: { owner: 'alice' } }]);
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
  matchEach(t, found, [
    { type: 'unit', unit: { path: repository }, inner: [`${repository}/wiki.git`] },
    { type: 'unread', path: `${repository}/wiki.git`, error: 'EACCES' },
  ]);
  matchEach(t, located, [
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
