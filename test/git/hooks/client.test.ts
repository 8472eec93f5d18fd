/** Only a program that has been seen to ask as the hooks need it is chosen. */

import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { asks, findClient } from '../../../src/git/hooks/client.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

/** Folders with these programs: a path that a link leads to, or a script's body. */
async function folderWith(t: Test, programs: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const folder = temporaryFolder(t);
  await mkdir(join(folder, 'empty'));
  for (const [name, what] of Object.entries(programs)) {
    const file = join(folder, name);
    if (what.startsWith('/')) await symlink(what, file);
    else {
      await writeFile(file, `#!/bin/sh\n${what}\n`);
      await chmod(file, 0o755);
    }
  }
  return [join(folder, 'empty'), folder];
}

const programs = { timeout: '/usr/bin/timeout', env: '/usr/bin/env', cat: '/usr/bin/cat' };
const nc = '/usr/bin/nc.openbsd';
const curl = '/usr/bin/curl';

t.test('netcat goes before curl, and where neither works there is none', async t => {
  t.equal(await findClient(await folderWith(t, { ...programs, nc, curl })), 'nc');
  t.equal(await findClient(await folderWith(t, { ...programs, curl })), 'curl');
  t.equal(await findClient(await folderWith(t, programs)), null);
  const { timeout: _, ...others } = programs;
  t.equal(await findClient(await folderWith(t, { ...others, nc, curl })), 'curl', 'nc needs timeout');
});

for (const [what, program] of [
  ['knows no -U', 'echo "nc: invalid option -- U" >&2; exit 1'],
  ['is that of busybox', '/bin/busybox'],
  ['answers by itself', 'cat'],
  ['ends without an answer', 'exit 0'],
  ['adds to the answer', `true; ${nc} "$@"; echo more`],
  ['loses of the question', `true; head -c 70000 | ${nc} "$@"`],
] as const) {
  t.test(`an nc that ${what} is not taken`, async t => {
    const folders = await folderWith(t, { ...programs, nc: program, curl });
    t.equal(await asks('nc', folders), false);
    t.equal(await findClient(folders), 'curl');
  });
}

t.test('a timeout that ends nothing is not taken', async t => {
  const folders = await folderWith(t, { ...programs, timeout: 'shift 3; exec "$@"', nc, curl });
  t.equal(await findClient(folders), 'curl');
});
