/** Only a program that has been seen to ask as the hooks need it is chosen. */

import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { clientFault, findClient } from '../../../src/git/hooks/client.ts';

/** Folders with these programs: a path that a link leads to, or a script's body. */
async function folderWith(t: Test, programs: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'softquota-'));
  t.teardown(() => rm(folder, { recursive: true }));
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

const nc = '/usr/bin/nc.openbsd';
const socat = '/usr/bin/socat';

t.test('netcat goes before socat, and socat before curl', async t => {
  t.equal(await findClient(await folderWith(t, { nc, socat })), 'nc');
  t.equal(await findClient(await folderWith(t, { socat })), 'socat');
  t.equal(await findClient(await folderWith(t, {})), 'curl');
});

for (const [what, program] of [
  ['knows no -U', 'echo "nc: invalid option -- U" >&2; exit 1'],
  ['is that of busybox', '/bin/busybox'],
  ['answers by itself', 'cat'],
  ['ends without an answer', 'exit 0'],
  ['never ends', `true; ${nc} -U "$4"; exec sleep 60`],
  ['has no bound for an answer', `exec ${nc} -U "$4"`],
  ['adds to the answer', `true; ${nc} "$@"; echo more`],
  ['loses of it', `true; ${nc} "$@" | tr -d t`],
] as const) {
  t.test(`an nc that ${what} is not taken`, async t => {
    const folders = await folderWith(t, { nc: program, socat });
    t.equal(
      await clientFault('nc', folders),
      `${join(folders[1] ?? '', 'nc')} does not ask at a socket as the hooks need it`,
    );
    t.equal(await findClient(folders), 'socat');
  });
}

t.test('a program that is not there is told with where it was looked for', async t => {
  const [folder = ''] = await folderWith(t, {});
  t.equal(await clientFault('socat', [folder]), `socat is not in ${folder}`);
});
