import t from 'tap';
import { hasOwnTimes, isOfNetwork, mountsIn, mountTable, sourceOf } from '../../src/layout/index.ts';
import { pathsTo } from '../../src/layout/mounts.ts';

const mountinfo = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
30 22 0:25 / /srv rw,relatime shared:5 - nfs4 nas:/export rw,vers=4.2
31 30 254:1 / /srv/local rw,relatime shared:6 - xfs /dev/vdb rw
32 22 0:26 / /mnt/two\\040words rw,relatime - fuse.glusterfs gluster:/data rw
33 22 0:27 / /over rw - nfs nas:/a rw
34 33 254:2 / /over rw - ext4 /dev/vdc rw
35 22 0:28 / /under rw - cifs //nas/a rw
`;

const mountAt = mountTable(mountsIn(mountinfo));

t.test('a directory is on the innermost file system around it, and the one mounted last', async t => {
  const at = (path: string) => {
    const mount = mountAt(path);
    return mount === null ? null : [mount.device, mount.type, mount.source, isOfNetwork(mount)];
  };
  const root = ['254:0', 'ext4', '/dev/vda1', false];
  const srv = ['0:25', 'nfs4', 'nas:/export', true];
  t.strictSame(at('/'), root);
  t.strictSame(at('/home/git'), root);
  t.strictSame(at('/srv'), srv);
  t.strictSame(at('/srv/git/alice'), srv);
  t.strictSame(at('/srv/local/git'), ['254:1', 'xfs', '/dev/vdb', false]);
  t.strictSame(at('/srv/locally'), srv);
  t.strictSame(at('/srvother'), root);
  t.strictSame(at('/mnt/two words/git'), ['0:26', 'fuse.glusterfs', 'gluster:/data', true]);
  t.strictSame(at('/over/git'), ['254:2', 'ext4', '/dev/vdc', false]);
  t.strictSame(at('/under'), ['0:28', 'cifs', '//nas/a', true]);
});

t.test('hosts have one name for a directory wherever they mount it', async t => {
  const named = (line: string, path: string) => {
    const [mount] = mountsIn(line);
    return mount === undefined ? null : sourceOf(mount, path);
  };
  const names = [
    named('30 22 0:25 / /mnt/nas rw - nfs4 nas:/export rw', '/mnt/nas/git'),
    named('30 22 0:25 / /mnt/nas rw - nfs4 nas:/export/ rw', '/mnt/nas/git'),
    named('30 22 0:25 / /srv/git rw - nfs4 nas:/export/git rw', '/srv/git'),
    named('30 22 0:25 / /mnt rw - nfs4 nas:/ rw', '/mnt/export/git'),
  ];
  t.strictSame(new Set(names), new Set(['nas:/export/git']));
  t.equal(named('35 22 0:28 / /srv rw - cifs //nas/a rw', '/srv/git'), '/nas/a/git');
  t.equal(named('22 1 254:0 /data /srv rw - ext4 /dev/vda1 rw', '/srv/git'), '/dev/vda1/data/git');
  t.equal(named('22 1 254:0 / / rw - ext4 /dev/vda1 rw', '/srv/git'), '/dev/vda1/srv/git');
});

t.test('where the system lists nothing, nothing is said', async t => {
  t.equal(mountTable(mountsIn(''))('/srv'), null);
  t.equal(mountTable(mountsIn('what is no line of it\n'))('/srv'), null);
});

t.test('it tells where somebody else gives the times of changes', async t => {
  const typed = (type: string) => hasOwnTimes({ type });
  for (const type of ['ext4', 'xfs', 'btrfs', 'zfs', 'tmpfs', 'overlay']) t.ok(typed(type), type);
  for (const type of ['nfs4', 'cifs', '9p', 'fuse', 'fuse.bindfs', 'fuseblk', 'virtiofs', 'vboxsf', 'prl_fs'])
    t.notOk(typed(type), type);
});

t.test('a directory is at a path of each mount that has it', async t => {
  const bound = `${mountinfo}36 22 254:0 /srv/git /mnt/git rw - ext4 /dev/vda1 rw
37 22 254:0 /srv/git/alice /home/alice rw - ext4 /dev/vda1 rw
38 22 254:1 /git/alice /data rw - xfs /dev/vdb rw
`;
  const paths = (path: string) => pathsTo(path, mountsIn(bound));
  t.strictSame(paths('/mnt/git/alice/a.git'), [
    '/srv/git/alice/a.git',
    '/mnt/git/alice/a.git',
    '/home/alice/a.git',
  ]);
  t.strictSame(paths('/home/alice'), ['/srv/git/alice', '/mnt/git/alice', '/home/alice']);
  t.strictSame(paths('/srv/local/git/alice/b.git'), ['/srv/local/git/alice/b.git', '/data/b.git']);
  t.strictSame(paths('/srv/local/git'), ['/srv/local/git']);
  t.strictSame(paths('/'), ['/']);
  t.strictSame(pathsTo('/srv', []), []);
});
