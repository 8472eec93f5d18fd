/** Finding units where something cannot be read, goes meanwhile, or is for another host. */

import { mkdirSync, renameSync, rmSync } from 'node:fs';
import t from 'tap';
import { discover } from '../../src/layout/index.ts';
import {
  discovered,
  emptyDirectory,
  layoutOf,
  makeDirectory,
  makeRepository,
  matchEach,
  shown,
  storage,
} from './world.ts';

t.test('what vanishes during the walk is no fault', async t => {
  const at = emptyDirectory(t);
  for (const owner of ['alice', 'bob', 'carol']) makeRepository(`${at}/${owner}/a.git`);
  const found = [];
  for (const one of discover(layoutOf(storage({ templates: [`${at}/{owner}/{repo}.git`] })))) {
    // The owners are known once their parent is listed; now they go.
    if (one.type === 'listed' && one.path === at) {
      for (const owner of ['alice', 'bob']) rmSync(`${at}/${owner}`, { recursive: true });
    }
    found.push(one);
  }
  matchEach(
    t,
    found.filter(one => one.type !== 'listed'),
    [{ type: 'unit', unit: { owner: 'carol' } }],
  );
});

t.test('a root that is not there, or goes during the walk, is unread: its units are not gone', async t => {
  const at = emptyDirectory(t);
  const layout = layoutOf(storage({ templates: [`${at}/gone/{owner}`, `${at}/going/{owner}`] }));
  t.same(discovered(layout).unread, [
    { path: `${at}/going`, error: 'ENOENT' },
    { path: `${at}/gone`, error: 'ENOENT' },
  ]);
  makeRepository(`${at}/going/alice`);
  const later = layoutOf(storage({ templates: [`${at}/going/{owner}`] }));
  renameSync(`${at}/going`, `${at}/kept`);
  mkdirSync(`${at}/going`);
  t.same(discovered(later).unread, [{ path: `${at}/going`, error: 'ESTALE' }]);
});

t.test('a tree may be thousands of directories deep; below what the system takes it is unread', async t => {
  const at = emptyDirectory(t);
  const deep = '/d'.repeat(1990);
  const half = '/d'.repeat(1000);
  makeRepository(`${at}/alice${deep}/a.git`);
  makeRepository(`${at}/bob${half}/b.git`);
  makeDirectory(`${at}/alice${deep.slice(0, -2)}/more`);
  renameSync(`${at}/bob`, `${at}/alice${deep.slice(0, -2)}/more/bob`);
  const { units, unread } = discovered(layoutOf(storage({ templates: [`${at}/{owner}/{repo}.git`] })));
  matchEach(t, units, [{ unit: { path: `${at}/alice${deep}/a.git`, owner: 'alice' } }]);
  matchEach(t, unread, [{ error: 'ENAMETOOLONG' }]);
});

t.test('what another host walks is not looked for, and nothing of it counts as something else', async t => {
  const at = emptyDirectory(t);
  makeDirectory(`${makeRepository(`${at}/git/alice/a.git`)}/lfs`);
  makeRepository(`${at}/git/alice/a.wiki.git`);
  makeDirectory(`${at}/packages/alice`);
  const sections = {
    repos: [`${at}/git/{owner}/{repo}.git`],
    wiki: [`${at}/git/{owner}/{repo}.wiki.git`],
    lfs: [`${at}/git/{owner}/{repo}.git/lfs`],
    packages: [`${at}/packages/{owner}`, `${at}/missing/{owner}`],
  } as const;
  const kinds = ['repos', 'wiki', 'lfs', 'packages'] as const;
  const layout = (...walked: readonly (typeof kinds)[number][]) =>
    layoutOf(
      ...kinds.map(kind => {
        const templates = sections[kind];
        return storage({ kind, templates, elsewhere: walked.includes(kind) ? [] : templates });
      }),
    );
  const units = (...walked: readonly (typeof kinds)[number][]) => shown(at, layout(...walked));
  t.strictSame(units('repos'), ['/git/alice/a.git alice repos without /git/alice/a.git/lfs']);
  t.strictSame(units('lfs'), ['/git/alice/a.git/lfs alice lfs']);
  t.strictSame(units('wiki'), ['/git/alice/a.wiki.git alice wiki']);
  t.strictSame(units('packages'), ['/packages/alice alice packages']);
  t.strictSame(units(), []);
  t.strictSame(discovered(layout('repos')).unread, [], 'nor is it missed where it is not there');
  const { unread, listed } = discovered(layout('packages'));
  t.match(unread, [{ path: `${at}/missing` }]);
  t.notOk(
    listed.some(path => path.startsWith(`${at}/git`)),
    'nor read',
  );
});
