/** What a refused push leaves in the repository: nothing; or what is measured, and the daemon hears of. */

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { isQuarantine } from '../../src/scan/gitfiles.ts';
import { plain, refused } from './gate.ts';
import { World } from './world.ts';

async function seeded(t: Test) {
  const world = await World.open(t);
  await world.commit('first');
  await world.push(['HEAD:main', 'HEAD:old']);
  await world.gate.heard(1);
  world.gate.answer = refused('Quota exceeded.\n');
  const entries = async () => (await readdir(world.bare, { recursive: true })).sort();
  return { world, entries, kill: join(world.bare, 'hooks/pre-receive.d/10-kill') };
}

/** Signs with a key of ssh, which git can since 2.34. */
async function signing(world: World): Promise<void> {
  const key = join(world.folder, 'key');
  await world.must('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
  await world.git('config', 'gpg.format', 'ssh');
  await world.git('config', 'user.signingKey', `${key}.pub`);
  await world.configure('receive.certNonceSeed', 'seed');
}

t.test('nothing at all, where it was refused by the quota, or for a name', async t => {
  const { world, entries } = await seeded(t);
  const before = await entries();
  await world.commit('second');
  t.equal((await world.push(['HEAD:main', 'HEAD:refs/heads/a/b/c'])).code, 1);
  t.equal((await world.push([`HEAD:refs/heads${'/d'.repeat(60)}`])).code, 1);
  t.same(await entries(), before);
  t.equal(world.gate.changes.length, 1, 'and nobody has to be told');
});

t.test(
  'nothing but a quarantine, which counts after an hour, where receive-pack is killed meanwhile',
  async t => {
    const { world, entries, kill } = await seeded(t);
    const before = new Set(await entries());
    world.gate.answer = plain(404);
    await world.script(kill, '#!/bin/sh\nread -r _ _ _ parent _ </proc/$PPID/stat\nkill -KILL "$parent"\n');
    before.add('hooks/pre-receive.d').add('hooks/pre-receive.d/10-kill');
    await world.commit('second');
    t.not((await world.push(['HEAD:main'])).code, 0);
    const left = (await entries()).filter(name => !before.has(name));
    t.not(left.length, 0);
    t.same(
      left.filter(name => !(name.startsWith('objects/') && isQuarantine(name.slice('objects/'.length)))),
      [],
    );
  },
);

t.test('its certificate, where it is signed; and the daemon is told of that', async t => {
  const { world } = await seeded(t);
  await signing(world);
  const before = await world.objects();
  await world.commit('second');
  const push = await world.push(['--signed', 'HEAD:main']);
  t.equal(push.code, 1);
  t.match(push.stderr, /pre-receive hook declined/);
  t.equal(await world.objects(), before + 1);
  await world.gate.heard(2);
  t.same([...(world.gate.changes[1]?.parameters ?? [])], [['path', world.bare]]);

  t.equal((await world.push(['--signed', `HEAD:refs/heads${'/d'.repeat(60)}`])).code, 1);
  await world.gate.heard(3);
  await world.script(join(world.bare, 'hooks/pre-receive.d/10-no'), '#!/bin/sh\nexit 1\n');
  t.equal((await world.push(['--signed', ':old'])).code, 1, 'and by another hook, unasked');
  await world.gate.heard(4);
  t.equal(world.gate.checks.length, 2);
});
