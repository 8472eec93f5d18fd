/** LFS over ssh, with a program of the test's own in place of the real one, and a gate that says odd things. */

import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { plain, refused } from './gate.ts';
import { run, World, type WorldOptions } from './world.ts';

const packet = (line: string) => `${(line.length + 5).toString(16).padStart(4, '0')}${line}\n`;
const oid = 'a'.repeat(64);
const taken = `000fstatus 200\n0001${packet(`${oid} 5 upload`)}0000`;

/** An upload of one object; the program beside the script takes it. */
async function open(t: Test, options: WorldOptions = {}) {
  const world = await World.open(t, options);
  const [folder, bin] = ['receive-pack', 'bin'].map(name => join(world.folder, name)) as [string, string];
  for (const each of [folder, bin]) await mkdir(each, { recursive: true });
  const script = join(folder, 'git-lfs-transfer');
  await world.put('receive-pack/git-lfs-transfer', script);
  const answers = `${packet('version=1')}0000${packet('status 200')}0000${taken}`;
  await writeFile(join(bin, 'answers'), answers);
  await world.script(join(bin, 'git-lfs-transfer'), `#!/bin/sh\ncat '${bin}/answers'\nexec cat >/dev/null\n`);
  const input = `${packet('version 1')}0000${packet('batch')}0001${packet(`${oid} 5`)}0000`;
  return {
    world,
    list: `${world.gate.socket.replace(/\.sock$/, '')}.refused`,
    upload: () =>
      run('/bin/sh', [script, world.bare, 'upload'], {
        input,
        env: { PATH: `${folder}:${bin}:/usr/bin:/bin` },
      }),
  };
}

t.test('only what the daemon refuses by the quota is refused', async t => {
  const { world, upload } = await open(t);
  world.gate.answer = refused('too much\n');
  t.match(await upload(), { stdout: /status 507\n0001....too much\n/ });
  world.gate.answer = plain(400, 'the body has more than 65536 bytes\n');
  const { stdout, stderr } = await upload();
  t.match(stdout, taken);
  t.match(stderr, 'softquota: the quota could not be checked, so this upload is allowed.');
});

t.test('a fault is what onError says', async t => {
  const { world, upload } = await open(t, { onError: 'deny' });
  world.gate.answer = plain(400, 'the body has more than 65536 bytes\n');
  t.match(await upload(), { stdout: /status 507\n0001....softquota: the quota could not be checked, so/ });
});

t.test('without a daemon the list says what is refused of LFS, and not of pushes', async t => {
  const { world, list, upload } = await open(t);
  await world.gate.close();
  await writeFile(list, `path\t${world.bare}\tno pushes\n`);
  t.match((await upload()).stdout, taken);
  await writeFile(list, `lfs\t${world.bare}\tno objects\n`);
  t.match(await upload(), { stdout: /status 507\n0001....softquota: .* Last known: no objects\n/ });
  const soon = new Date(Date.now() + 3600_000);
  await utimes(list, soon, soon);
  t.match((await upload()).stdout, taken, 'a list from the future');
});
