/** Names of refs: each level of one is a directory, so that names alone can fill a disk. */

import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { allowed, refused } from './gate.ts';
import { World, type WorldOptions } from './world.ts';

/** A name of so many levels. */
const levels = (count: number) => `refs/heads/${Array.from({ length: count - 2 }, () => 'd').join('/')}`;

async function seeded(t: Test, options: WorldOptions = {}) {
  const world = await World.open(t, options);
  await world.commit('first');
  await world.push(['HEAD:main']);
  await world.gate.heard(1);
  const id = await world.git('rev-parse', 'HEAD');
  const quarantine = join(world.folder, 'quarantine');
  await mkdir(join(quarantine, 'pack'), { recursive: true });
  const zeros = '0'.repeat(id.length);
  world.gate.questions.length = 0;
  return {
    world,
    push: async (...refs: readonly string[]) => {
      const push = await world.push(refs.map(name => `HEAD:${name}`));
      return { code: push.code, said: World.said(push), asked: world.gate.checks.length };
    },
    /** The hook as git calls it for a push without objects. */
    hook: (lines: readonly string[]) =>
      world.run(join(world.bare, 'hooks/pre-receive'), [], {
        cwd: world.bare,
        input: lines.map(line => `${line}\n`).join(''),
        env: { GIT_QUARANTINE_PATH: quarantine },
      }),
    created: (name: string) => `${zeros} ${id} ${name}`,
    updated: (name: string) => `${id} ${id} ${name}`,
    deleted: (name: string) => `${id} ${zeros} ${name}`,
    entries: async () => (await readdir(world.bare, { recursive: true })).sort(),
  };
}

t.test('a created name of ten levels passes unasked, one of eleven is asked for', async t => {
  const { world, push } = await seeded(t);
  world.gate.answer = refused('Quota exceeded.\n');
  t.same(await push(levels(10)), { code: 0, said: '', asked: 0 });
  t.same(await push(levels(11).replace('/d/', '/e/')), { code: 1, said: 'Quota exceeded.', asked: 1 });
});

t.test('created names of 1,000 characters together pass unasked, of one more are asked for', async t => {
  const { world, push } = await seeded(t);
  world.gate.answer = refused('Quota exceeded.\n');
  const names = (last: number) =>
    [...'abcd', ''].map((letter, index) => `refs/heads/${letter}${'x'.repeat(index < 4 ? 188 : last)}`);
  t.equal(names(189).join('').length, 1000);
  t.same(await push(...names(190)), { code: 1, said: 'Quota exceeded.', asked: 1 });
  t.same(await push(...names(189)), { code: 0, said: '', asked: 1 });
  t.same(
    await push(...names(189)),
    { code: 0, said: '', asked: 1 },
    'names that are there already are not created',
  );
});

for (const shell of ['/bin/dash', '/bin/bash', '/bin/busybox ash']) {
  t.test(`a name of more than 50 levels is refused whoever pushes, in ${shell}`, async t => {
    const { world, push, entries } = await seeded(t, { shell });
    world.gate.answer = allowed;
    const before = await entries();
    const { code, said } = await push(levels(51), 'refs/heads/fine');
    t.equal(code, 1);
    t.equal(
      said,
      `softquota: ${levels(51).slice(0, 80)}... has more than 50 levels. Names with more than 50 levels are refused.`,
    );
    t.same(await entries(), before, 'nothing stays');
    await world.commit('second');
    t.equal((await push(levels(51))).code, 1, 'also when it brings objects');
    t.equal((await push(levels(50))).code, 0);
  });
}

t.test('nobody is asked for it, and no daemon has to run', async t => {
  const { world, push } = await seeded(t);
  t.equal((await push(levels(1990))).asked, 0);
  await world.gate.close();
  t.match(await push(levels(51)), { code: 1, said: /has more than 50 levels/ });
});

t.test('one that is there already may be deleted, and not be written again', async t => {
  const { world, push } = await seeded(t);
  await world.server('update-ref', levels(60), 'main');
  await world.git('commit', '-q', '--allow-empty', '-m', 'second');
  t.match(await push(levels(60)), { code: 1, said: /has more than 50 levels/ });
  t.equal((await world.push([`:${levels(60)}`])).code, 0);
  t.equal((await world.refs()).split('\n').length, 1);
});

t.test('of a name only the printable beginning is shown', async t => {
  const { hook, created } = await seeded(t);
  const name = `refs/heads/\u001b[31m\u202e\u00fc${'/d'.repeat(60)}`;
  t.match(await hook([created(name)]), {
    code: 1,
    stderr: /^softquota: refs\/heads\/\[31m\u00fc(\/d)+\/?\.\.\. has more than 50 levels\. [^\n]+\n$/,
  });
});

t.test('what is read of 100,000 refs takes no program a ref', async t => {
  for (const shell of ['/bin/dash', '/bin/bash', '/bin/busybox ash']) {
    const { world, hook, created, deleted, updated } = await seeded(t, { shell });
    const names = Array.from({ length: 100_000 }, (_, n) => `refs/heads/group/project/feature-${n}`);
    world.gate.answer = allowed;
    const run = await hook(names.map(created));
    t.equal(run.code, 0);
    t.equal(world.gate.checks.length, 1);
    t.ok(run.elapsedMs < 30_000, `${shell}: ${Math.round(run.elapsedMs)} ms`);
    t.comment(`${shell}: ${Math.round(run.elapsedMs)} ms`);
    t.equal((await hook(names.map(deleted))).code, 0);
    t.equal((await hook(names.map(updated))).code, 0);
    t.equal(world.gate.checks.length, 1);
  }
});
