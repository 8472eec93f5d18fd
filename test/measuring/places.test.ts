/** Storage that several hosts mount, each at a place of its own, and one of them walks. */

import t from 'tap';
import { isElsewhere, ownPathsOf, rootsIn, sharedPathOf } from '../../src/measuring/places.ts';
import { PushWorld } from './push-world.ts';

const nas = { isOfNetwork: true };
const own = { isOfNetwork: false, isWalked: true };

t.test('a path on what another host walks has the same name there', async t => {
  const here = [
    { kind: 'repos', path: '/mnt/nas/git', source: 'nas:/export/git', isWalked: false, ...nas },
    { kind: 'lfs', path: '/mnt/nas/git', source: 'nas:/export/git', isWalked: false, ...nas },
    { kind: 'packages', path: '/srv/packages', source: '/dev/vda1/srv/packages', ...own },
  ] as const;
  t.ok(isElsewhere('/mnt/nas/git/alice/app.git', here));
  t.notOk(isElsewhere('/srv/packages/alice', here));
  t.notOk(isElsewhere('/mnt/nas/github/alice', here));
  t.equal(sharedPathOf('/mnt/nas/git/alice/app.git', here), 'nas:/export/git/alice/app.git');
  t.equal(sharedPathOf('/mnt/nas/github/alice', here), null);
  t.strictSame(ownPathsOf('nas:/export/git/alice/app.git', here), [], 'it is not walked here');
  const there = [
    { kind: 'repos', path: '/srv/git', source: 'nas:/export/git', isWalked: true, ...nas },
    { kind: 'lfs', path: '/srv/git', source: 'nas:/export/git', isWalked: true, ...nas },
    { kind: 'packages', path: '/data', source: 'nas:/export', isWalked: true, ...nas },
  ] as const;
  t.strictSame(ownPathsOf('nas:/export/git/alice/app.git', there), [
    '/srv/git/alice/app.git',
    '/data/git/alice/app.git',
  ]);
  t.strictSame(ownPathsOf('nas:/other/alice', there), []);
});

t.test('what is walked inside of what is left to another is walked here', async t => {
  const places = [
    { kind: 'repos', path: '/srv/git', source: 'nas:/git', isWalked: false, ...nas },
    { kind: 'lfs', path: '/srv/git/lfs', source: 'nas:/git/lfs', isWalked: true, ...nas },
  ] as const;
  t.ok(isElsewhere('/srv/git/alice/app.git', places));
  t.notOk(isElsewhere('/srv/git/lfs/alice', places));
});

t.test('a host tells of each directory once, and of none before mounts are known', async t => {
  const repos = { kind: 'repos', path: '/srv/git', source: 'nas:/git', isWalked: false, ...nas } as const;
  const wiki = { ...repos, kind: 'wiki' } as const;
  t.strictSame(rootsIn([repos, wiki]), [{ source: 'nas:/git', isOfNetwork: true, isWalked: false }]);
  t.strictSame(rootsIn([{ ...repos, isWalked: true }, wiki]), [
    { source: 'nas:/git', isOfNetwork: true, isWalked: true },
  ]);
  t.equal(rootsIn([repos, { ...wiki, source: null }]), null);
});

t.test('however many units are named, the roots are looked up once', async t => {
  const { measuring } = await PushWorld.open(t);
  const { scanner } = measuring;
  const places = scanner.places.bind(scanner);
  let looks = 0;
  scanner.places = () => {
    looks++;
    return places();
  };
  const nameOf = measuring.unitNames();
  const [root = ''] = places().map(({ path }) => path);
  for (const name of ['alice/a.git', 'bob/b.git'])
    t.equal(nameOf({ kind: 'walked', name: `${root}/${name}` }), name);
  t.equal(looks, 1);
});
