/** Paths that hosts tell one another if they mount the same at different places. */

import t from 'tap';
import type { StorageKind, StorageSettings } from '../../src/layout/index.ts';
import { pathsIn, pathsOf, unsharedIn } from '../../src/measuring/mounted.ts';

function section(kind: StorageKind, differing: Partial<StorageSettings> = {}): StorageSettings {
  return { kind, templates: [], owner: { by: 'path' }, visibility: 'export-ok', ...differing };
}

const nas = { shared: 'nas', isWalked: false };

t.test('a path on what another walks is told from the directory on that templates begin with', async t => {
  const storages = [section('repos', nas), section('lfs', nas), section('packages')];
  const places = [
    { kind: 'repos', path: '/mnt/nas/git' },
    { kind: 'lfs', path: '/mnt/nas/git' },
    { kind: 'lfs', path: '/mnt/nas/lfs' },
    { kind: 'packages', path: '/srv/packages' },
  ] as const;
  t.strictSame(pathsOf('/mnt/nas/git/alice/app.git', places, storages), {
    isHere: false,
    elsewhere: [
      { shared: 'nas', below: 'alice/app.git' },
      { shared: 'nas', below: 'alice/app.git' },
    ],
  });
  t.strictSame(pathsOf('/srv/packages/alice', places, storages), { isHere: true, elsewhere: [] });
  t.strictSame(pathsOf('/mnt/nas/github/alice', places, storages), { isHere: false, elsewhere: [] });
  const there = [
    { kind: 'repos', path: '/srv/git' },
    { kind: 'lfs', path: '/srv/git' },
    { kind: 'lfs', path: '/srv/lfs' },
    { kind: 'packages', path: '/srv/packages' },
  ] as const;
  const walked = [
    section('repos', { shared: 'nas' }),
    section('lfs', { shared: 'nas' }),
    section('packages'),
  ];
  t.strictSame(pathsIn('nas', 'alice/app.git', there, walked), [
    '/srv/git/alice/app.git',
    '/srv/lfs/alice/app.git',
  ]);
  t.strictSame(pathsIn('other', 'alice/app.git', there, walked), []);
});

t.test('where both lie below one directory, a path may be the one or the other', async t => {
  const places = [
    { kind: 'repos', path: '/srv/git' },
    { kind: 'lfs', path: '/srv/git' },
  ] as const;
  const storages = [section('repos'), section('lfs', nas)];
  t.strictSame(pathsOf('/srv/git/alice/app.git', places, storages), {
    isHere: true,
    elsewhere: [{ shared: 'nas', below: 'alice/app.git' }],
  });
});

t.test('roots on network file systems are told once for each section that has no name for them', async t => {
  const places = [
    { kind: 'repos', path: '/mnt/nas/git' },
    { kind: 'lfs', path: '/mnt/nas/git' },
    { kind: 'lfs', path: '/mnt/nas/git' },
    { kind: 'packages', path: '/srv/packages' },
  ] as const;
  const storages = [section('repos', nas), section('lfs'), section('packages')];
  const typeAt = (path: string) => (path.startsWith('/mnt/nas') ? 'nfs4' : null);
  t.strictSame(unsharedIn(places, storages, typeAt), [
    { path: '/mnt/nas/git', type: 'nfs4', section: 'storage.lfs' },
  ]);
});
