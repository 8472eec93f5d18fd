/** The file systems that are mounted, by what the system lists in /proc/self/mountinfo; see proc(5). */

export interface Mount {
  /** The directory of its file system that is mounted: `/` but for bind mounts and subvolumes. */
  readonly root: string;
  /** Path that it is mounted at. */
  readonly at: string;
  /** The numbers of its device: one file system may be mounted at several places. */
  readonly device: string;
  readonly type: string;
  /** The mounted device, such as /dev/sda1 or server:/export, as it was written. */
  readonly source: string;
}

/** The mounts that a text in the form of /proc/self/mountinfo lists. */
export function mountsIn(mountinfo: string): readonly Mount[] {
  return mountinfo.split('\n').flatMap(line => {
    // "36 35 98:0 /root /mount/point options … - type source options"
    const [before = '', after = ''] = line.split(' - ');
    const [, , device = '', root = '', at = ''] = before.split(' ');
    const [type = '', source = ''] = after.split(' ');
    return at === ''
      ? []
      : [{ root: unescaped(root), at: unescaped(at), device, type, source: unescaped(source) }];
  });
}

/** Finds the mount that a path, links resolved, lies on; null where none is around it. */
export type MountTable = (path: string) => Mount | null;

export function mountTable(mounts: readonly Mount[]): MountTable {
  // A later mount covers an earlier one in the same place.
  const byPlace = new Map(mounts.map(mount => [mount.at, mount]));
  return path => {
    for (let at = path; at !== '/' && at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
      const mount = byPlace.get(at);
      if (mount !== undefined) return mount;
    }
    return byPlace.get('/') ?? null;
  };
}

/**
 * The name of a directory for all hosts that mount its file system by the same name, wherever they do:
 * what is mounted, and the path in it, such as `nas:/export/git`.
 */
export function sourceOf({ root, at, source }: Mount, path: string): string {
  const inside = `${root}/${path.slice(at.length)}`.split('/').filter(name => name !== '');
  return [source.replace(/\/+$/, ''), ...inside].join('/');
}

/** Types of file systems that other hosts may mount, too. */
const networkTypes: ReadonlySet<string> = new Set([
  '9p',
  'afs',
  'beegfs',
  'ceph',
  'cifs',
  'fuse.ceph',
  'fuse.glusterfs',
  'fuse.juicefs',
  'fuse.moosefs',
  'fuse.sshfs',
  'gfs2',
  'glusterfs',
  'gpfs',
  'lustre',
  'nfs',
  'nfs4',
  'ocfs2',
  'smb3',
  'smbfs',
]);

/** Tells whether other hosts may mount this, too. */
export function isOfNetwork({ type }: Mount): boolean {
  return networkTypes.has(type);
}

/** Types that begin so leave the times of changes to a program, or to the host of a virtual machine. */
const foreignTimes = ['fuse', 'prl_fs', 'vboxsf', 'virtiofs'];

/** Tells whether this system itself gives the times of changes there, and no other host or program. */
export function hasOwnTimes(mount: Mount): boolean {
  return !isOfNetwork(mount) && !foreignTimes.some(type => mount.type.startsWith(type));
}

/** Space, tab, line feed and backslash stand there in octal. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 8)));
}
