/** The lines about its space that a repository's refused pushes show. */

import t from 'tap';
import { spaceLines } from '../../src/daemon/space-lines.ts';

const report = {
  object_bytes: 100,
  reachable_bytes: 90,
  unreachable_bytes: 0,
  objects: 3,
  packs: 1,
  loose_objects: 0,
  kept_bytes: 0,
  leftover_bytes: 0,
  paths: [],
  refs: [],
  namespaces: [],
  lfs: null,
  cut: false,
};

function file(path: string, frees: number, versions = 1) {
  return { path, other_names: [], bytes: frees, versions, in_default_branch: true, frees, commands: [] };
}

function ref(name: string, frees: number, isDefault = false) {
  return { name, bytes: frees, commits: 1, default_branch: isDefault, frees, commands: [] };
}

t.test('the three that free most are named, in order, with the page', async t => {
  const full = {
    ...report,
    unreachable_bytes: 5000,
    leftover_bytes: 7,
    paths: [file('a\u001b.bin', 3_000_000, 1200), file('b', 10)],
    refs: [ref('refs/heads/main', 9_000_000, true), ref('refs/tags/v1', 20_000), ref('refs/pull/1/head', 1)],
  };
  t.same(spaceLines(full, 'https://quota.example/space'), [
    'Removing these frees the most space in this repository:',
    '   3 MB  file a\\u{1b}.bin, 1,200 versions',
    '  20 kB  tag v1',
    '   5 kB  objects that nothing reaches: go with the next garbage collection',
    'How to free it: https://quota.example/space',
  ]);
});

t.test('a history that GitLab keeps is removed in the project, and its refs are not named', async t => {
  const namespaces = [
    { name: 'refs/keep-around/', refs: 12, bytes: 2_000_000 },
    { name: 'refs/merge-requests/', refs: 3, bytes: 1_000_000 },
    { name: 'refs/pull/', refs: 3, bytes: 5_000_000 },
  ];
  t.match(spaceLines({ ...report, namespaces }, ''), [
    /frees the most/,
    /3 MB {2}history that GitLab keeps: see Settings, Repository, Repository maintenance/,
  ]);
});

t.test('without a page there is no link, and where nothing frees anything no line', async t => {
  t.match(spaceLines({ ...report, leftover_bytes: 7 }, ''), [/frees the most/, /7 B {2}leftovers of broken/]);
  t.same(spaceLines({ ...report, refs: [ref('refs/heads/main', 9, true)] }, 'https://quota.example'), []);
  const long = spaceLines({ ...report, refs: [ref(`refs/heads/${'x'.repeat(300)}`, 9)] }, '');
  t.match(long[1], /branch x{200}\.{3}$/);
});
