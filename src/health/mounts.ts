/** Which file system a directory lies on, by what the system lists in /proc/self/mountinfo. */

/** Types of file systems that other machines may mount, too. */
const ofMany: ReadonlySet<string> = new Set([
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

/** The type of the file system at this path, links resolved, if other machines may mount it; else null. */
export function networkTypeAt(path: string, mountinfo: string): string | null {
  let found = { at: '', type: '' };
  for (const line of mountinfo.split('\n')) {
    // "36 35 98:0 /root /mount/point options … - type source options": see proc(5).
    const [before = '', after = ''] = line.split(' - ');
    const at = unescaped(before.split(' ')[4] ?? '');
    const [type = ''] = after.split(' ');
    const isAround = at === '/' || path === at || path.startsWith(`${at}/`);
    // Of two in one place the later one covers the earlier.
    if (at !== '' && isAround && at.length >= found.at.length) found = { at, type };
  }
  return ofMany.has(found.type) ? found.type : null;
}

/** Space, tab, line feed and backslash stand there in octal. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 8)));
}
