/** hooks/upload: the same question, for upload handlers. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { plain, refused, warned } from './gate.ts';
import { World } from './world.ts';

async function handler(t: Test, conf = '') {
  const world = await World.open(t);
  const file = join(world.folder, 'upload');
  await world.put('upload', file);
  await writeFile(world.hookConf, `socket=${world.gate.socket}\n${conf}`);
  return { world, upload: (...args: readonly string[]) => world.run(file, args, { cwd: '/' }) };
}

t.test('an upload is asked for by owner, subject and size', async t => {
  const { world, upload } = await handler(t);
  t.match(await upload('jürgen & co', 'size:git:lfs', '1000'), { code: 0, stdout: '', stderr: '' });
  t.match(await upload('@alice', 'size:assets:packages:all'), { code: 0, stdout: '', stderr: '' });
  t.same(
    world.gate.checks.map(check => [...check.parameters]),
    [
      [
        ['owner', 'jürgen & co'],
        ['subject', 'size:git:lfs'],
        ['size', '1000'],
      ],
      [
        ['owner', '@alice'],
        ['subject', 'size:assets:packages:all'],
      ],
    ],
  );
});

t.test('a refused upload ends with 1 and the reason, a warned one with 0 and the warning', async t => {
  const { world, upload } = await handler(t);
  world.gate.answer = refused('Quota exceeded: alice\x1b uses 2 MB of 1 MB.\n');
  const reason = 'Quota exceeded: alice uses 2 MB of 1 MB.\n';
  t.match(await upload('alice', 'size:git:lfs'), { code: 1, stdout: '', stderr: reason });
  world.gate.answer = warned('nearly full\n');
  t.match(await upload('alice', 'size:git:lfs'), { code: 0, stdout: '', stderr: 'nearly full\n' });
});

t.test('when nobody can tell, onError of hook.conf says what an upload may', async t => {
  const asked = 'softquota: the quota could not be checked (the answer was 400),';
  for (const [conf, code, end] of [
    ['', 0, 'and no earlier list of refused owners exists, so this upload is allowed.'],
    ['onError=allow\n', 0, 'so this upload is allowed.'],
    ['onError=deny\n', 1, 'so this upload is refused. Try again later.'],
  ] as const) {
    const { world, upload } = await handler(t, conf);
    world.gate.answer = plain(400);
    t.match(await upload('alice', 'size:git:lfs'), { code, stderr: `${asked} ${end}\n` });
  }
});

t.test('arguments that make no question end with 1 and what is expected', async t => {
  const { world, upload } = await handler(t);
  for (const args of [
    [],
    ['alice'],
    ['a', 'b', 'c'],
    ['a', 'b', '-1'],
    ['a', 'b', ''],
    ['a', 'b', '1', '2'],
  ]) {
    t.match(await upload(...args), {
      code: 1,
      stderr: /^softquota: expected: upload OWNER SUBJECT \[SIZE\]/,
    });
  }
  t.equal(world.gate.questions.length, 0);
});
