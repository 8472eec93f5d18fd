/** What a hook tells of a push where the daemon counts sizes. */

import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { refused } from './gate.ts';
import { byEachClient, World } from './world.ts';

async function counting(t: Test, options: Parameters<typeof World.open>[1] = {}): Promise<World> {
  const world = await World.open(t, options);
  await writeFile(join(world.folder, 'gate.sizes'), '');
  return world;
}

/** The bytes of all files below the bare repository. */
async function bytes(world: World): Promise<number> {
  const entries = await readdir(world.bare, { recursive: true, withFileTypes: true });
  const files = entries.filter(entry => entry.isFile());
  const sizes = await Promise.all(
    files.map(async file => (await stat(join(file.parentPath, file.name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** What the last push was said to bring, and its name. */
function told(world: World): { readonly size: number; readonly push: string | null } {
  const parameters = world.gate.checks.at(-1)?.parameters;
  return { size: Number(parameters?.get('size')), push: parameters?.get('push') ?? null };
}

byEachClient('the hook measures what a push brings, and both hooks name it alike', async (t, client) => {
  const world = await counting(t, { client });
  await world.commit('first');
  const before = await bytes(world);
  t.equal((await world.push(['HEAD:main', 'HEAD:other'])).code, 0);
  const grown = (await bytes(world)) - before;
  const { size, push } = told(world);
  t.ok(size >= grown && size < grown + 50, `${size} for ${grown}`);
  t.equal(push, `${await world.git('rev-parse', 'HEAD')}-refs/heads/main`);
  await world.gate.heard(1);
  t.equal(world.gate.changes[0]?.parameters.get('push'), push);
});

t.test('a pack counts with its index, and many loose objects are added up', async t => {
  for (const unpackLimit of ['1', '10000']) {
    const world = await counting(t);
    await world.configure('receive.unpackLimit', unpackLimit);
    await world.server('config', 'core.logAllRefUpdates', 'true');
    await world.commit('first');
    await world.push(['HEAD:first']);
    for (let each = 0; each < 400; each++) {
      await writeFile(join(world.work, `file-${each}`), randomBytes(100 + each));
    }
    await world.git('add', '.');
    await world.commit('many');
    const before = await bytes(world);
    t.equal((await world.push(['HEAD:main'])).code, 0);
    const grown = (await bytes(world)) - before;
    const { size } = told(world);
    t.ok(size >= grown && size < grown + 600, `${size} for ${grown}`);
  }
});

t.test('names that only curl could send are shortened, and tell pushes apart all the same', async t => {
  const world = await counting(t);
  await world.commit('first');
  const head = await world.git('rev-parse', 'HEAD');
  t.equal((await world.push(['HEAD:refs/heads/zoë'])).code, 0);
  t.match(told(world).push, new RegExp(`^${head}-\\d+$`));
  await world.commit('second');
  const next = await world.git('rev-parse', 'HEAD');
  t.equal((await world.push([`HEAD:refs/heads/${'n'.repeat(180)}`])).code, 0);
  t.match(told(world).push, new RegExp(`^${next}-\\d+$`));
});

t.test('a push that another hook refuses is told to be over; one that the daemon refuses is not', async t => {
  const world = await counting(t);
  const own = join(world.bare, 'hooks/pre-receive.d');
  await mkdir(own);
  await writeFile(join(own, '90-never'), '#!/bin/sh\nexit 3\n');
  await chmod(join(own, '90-never'), 0o755);
  await world.commit('first');
  t.equal((await world.push(['HEAD:main'])).code, 1);
  await world.gate.heard(1);
  t.equal(world.gate.changes[0]?.parameters.get('push'), told(world).push);
  world.gate.answer = refused('no\n');
  t.equal((await world.push(['HEAD:main'])).code, 1);
  t.equal(world.gate.changes.length, 1);
});

t.test('where the daemon does not count sizes, none is measured and no push has a name', async t => {
  const world = await World.open(t);
  await world.commit('first');
  t.equal((await world.push(['HEAD:main'])).code, 0);
  await world.gate.heard(1);
  for (const { parameters } of [...world.gate.checks, ...world.gate.changes]) {
    t.strictSame([parameters.has('size'), parameters.has('push')], [false, false]);
  }
});
