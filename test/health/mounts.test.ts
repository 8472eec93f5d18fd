import t from 'tap';
import { networkTypeAt } from '../../src/health/index.ts';

const mountinfo = `22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
30 22 0:25 / /srv rw,relatime shared:5 - nfs4 nas:/export rw,vers=4.2
31 30 254:1 / /srv/local rw,relatime shared:6 - xfs /dev/vdb rw
32 22 0:26 / /mnt/two\\040words rw,relatime - fuse.glusterfs gluster:/data rw
33 22 0:27 / /over rw - nfs nas:/a rw
34 33 254:2 / /over rw - ext4 /dev/vdc rw
35 22 0:28 / /under rw - cifs //nas/a rw
`;

t.test('a directory is on the innermost file system around it, and the one mounted last', async t => {
  const types = {
    '/': null,
    '/home/git': null,
    '/srv': 'nfs4',
    '/srv/git/alice': 'nfs4',
    '/srv/local/git': null,
    '/srv/locally': 'nfs4',
    '/srvother': null,
    '/mnt/two words/git': 'fuse.glusterfs',
    '/over/git': null,
    '/under': 'cifs',
  };
  for (const [path, type] of Object.entries(types)) t.equal(networkTypeAt(path, mountinfo), type, path);
});

t.test('where the system lists nothing, nothing is said', async t => {
  t.equal(networkTypeAt('/srv', ''), null);
  t.equal(networkTypeAt('/srv', 'what is no line of it\n'), null);
});
