import { rmSync } from 'node:fs';
import t from 'tap';
import { isUnchanged, resolveLayout } from '../../src/layout/index.ts';
import { emptyDirectory, layoutOf, makeDirectory, makeFile, makeLink, matchEach, storage } from './world.ts';

t.test('each fixed part is one root, where it really is', async t => {
  const at = emptyDirectory(t);
  makeDirectory(`${at}/disk/git`);
  makeLink(`${at}/srv`, 'disk');
  const layout = layoutOf(
    storage({ templates: [`${at}/srv/git/{owner}/{repo}.git`] }),
    storage({ kind: 'lfs', templates: [`${at}/srv/git/{owner}/{repo}.git/lfs`, `${at}/disk/git/{owner}`] }),
  );
  matchEach(t, layout.roots, [
    { written: `${at}/srv/git`, path: `${at}/disk/git`, state: 'present' },
    { written: `${at}/disk/git`, path: `${at}/disk/git`, state: 'present' },
  ]);
  t.equal(layout.roots[0]?.inode, layout.roots[1]?.inode);
});

t.test('a root that cannot be used says in which way', async t => {
  const at = emptyDirectory(t);
  makeFile(`${at}/file`);
  makeLink(`${at}/dangling`, 'nowhere/git');
  makeLink(`${at}/loop`, 'loop');
  const roots = layoutOf(
    storage({
      templates: [
        `${at}/gone/{owner}`,
        `${at}/file/{owner}`,
        `${at}/dangling/x/{owner}`,
        `${at}/loop/{owner}`,
      ],
    }),
  ).roots;
  matchEach(t, roots, [
    { state: 'missing', path: `${at}/gone` },
    { state: 'not a directory', path: `${at}/file` },
    { state: 'missing', path: `${at}/nowhere/git/x` },
    { state: 'unreadable', error: 'ELOOP' },
  ]);
});

t.test('a root that is replaced, or gone, is not the same any more', async t => {
  const at = emptyDirectory(t);
  makeDirectory(`${at}/git`);
  // Holds the old directory's number, so that the new one cannot have it.
  makeDirectory(`${at}/other`);
  const [root] = layoutOf(storage({ templates: [`${at}/git/{owner}`] })).roots;
  if (root === undefined) throw new Error('no root');
  t.equal(isUnchanged(root), true);
  rmSync(`${at}/git`, { recursive: true });
  t.equal(isUnchanged(root), false);
  makeLink(`${at}/git`, 'other');
  t.equal(isUnchanged(root), false);
});

t.test('a layout can be handed to a thread', async t => {
  const at = emptyDirectory(t);
  const layout = layoutOf(
    storage({ templates: [`${at}/{owner}/{repo}.git`] }),
    storage({ kind: 'lfs', templates: [`${at}/{owner}/{repo}.git/lfs`] }),
  );
  t.same(structuredClone(layout), layout);
});

t.test('a template that is none is refused by name', async t => {
  t.throws(() => resolveLayout([storage({ templates: ['git/{owner}'] })], []), {
    code: 'configuration',
    message: /\[storage\.repos\] PATH: "git\/\{owner\}" is not a template: expected an absolute path/,
  });
});
