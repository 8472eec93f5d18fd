import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { decodePath, Mounts, mountsIn, mountTable } from '../../src/layout/index.ts';
import { fileSystemAt } from '../../src/scan/file-system.ts';
import { temporary } from './world.ts';

t.test('another file system of the same type in the same place has other marks', async t => {
  const root = temporary(t);
  const mount = (): void => {
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', root]);
  };
  mount();
  t.teardown(() => execFileSync('umount', ['-l', root]));
  const markNow = (): string | null => {
    const mountAt = mountTable(mountsIn(decodePath(readFileSync('/proc/self/mountinfo'))));
    return fileSystemAt(root, statSync(root, { bigint: true }).dev, mountAt);
  };
  const first = markNow();
  t.match(first, /fsid=/);
  mkdirSync(join(root, 'alice'));
  t.equal(markNow(), first, 'whatever is in it');
  execFileSync('umount', [root]);
  mount();
  t.not(markNow(), first);
});

t.test('a file system whose times others tell is known, and so are unknown mounts', async t => {
  const behind = temporary(t);
  const at = temporary(t);
  execFileSync('bindfs', [behind, at]);
  t.teardown(() => execFileSync('umount', ['-l', at]));
  const mounts = new Mounts();
  t.equal(mounts.isLocal(behind), false);
  await mounts.refresh();
  t.equal(mounts.isLocal(behind), true);
  t.equal(mounts.isLocal(join(at, 'alice/a.git')), false);
});
