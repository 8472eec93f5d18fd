/** The marks of a file system, and how seldom a program is asked for them. */

import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { decodePath, mountsIn, mountTable } from '../../src/layout/index.ts';
import { fileSystemAt } from '../../src/scan/file-system.ts';
import { temporary } from './world.ts';

t.test('stat(1) is asked again only where another file system may be there', async t => {
  const folder = temporary(t);
  const root = join(folder, 'mounted');
  mkdirSync(root);
  const log = join(folder, 'log');
  const { PATH } = process.env;
  const tools = join(folder, 'tools');
  mkdirSync(tools);
  writeFileSync(join(tools, 'stat'), `#!/bin/sh\necho >>${log}\nPATH=${PATH} exec stat "$@"\n`);
  chmodSync(join(tools, 'stat'), 0o755);
  process.env.PATH = `${tools}:${PATH}`;
  t.teardown(() => {
    process.env.PATH = PATH;
  });
  const mount = (...options: readonly string[]): void => {
    execFileSync('mount', ['-t', 'tmpfs', ...options, 'tmpfs', root]);
  };
  mount();
  t.teardown(() => execFileSync('umount', [root]));
  const markNow = (): string | null => {
    const mountAt = mountTable(mountsIn(decodePath(readFileSync('/proc/self/mountinfo'))));
    return fileSystemAt(root, statSync(root, { bigint: true }).dev, mountAt);
  };
  const asked = (): number => (existsSync(log) ? readFileSync(log, 'utf8').length : 0);

  const first = markNow();
  t.match(first, /fsid=/);
  t.equal(asked(), 1);
  for (let again = 0; again < 5; again++) t.equal(markNow(), first);
  t.equal(asked(), 1, 'while nothing has changed');
  mkdirSync(join(root, 'alice'));
  t.equal(markNow(), first);
  t.equal(asked(), 2, 'a directory has come');
  appendFileSync(join(root, 'alice/file'), 'x');
  t.equal(markNow(), first);
  t.equal(asked(), 2, 'what is further down does not matter');

  execFileSync('umount', [root]);
  mount();
  const other = markNow();
  t.equal(asked(), 3, 'another file system of the same type is at the place');
  t.not(other, first);
});
