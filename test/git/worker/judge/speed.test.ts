/** A judgement takes little longer than the git that it needs, which is run beside it in the same way. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { noise } from '../../../noise.ts';
import { World } from './world.ts';

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

t.test('a push is judged within 100 ms beyond the time of git itself', async t => {
  const world = await World.open(t);
  for (let at = 0; at < 100; at++) {
    await writeFile(join(world.work, `file-${at % 10}`), noise(`${at}`, 5000));
    await world.git('add', '--all');
    await world.git('commit', '-q', '-m', 'x');
  }
  await world.passes('HEAD:main');
  await world.server('repack', '-a', '-d', '-q', '-b');
  const [old = '', next = ''] = (await world.git('rev-parse', 'HEAD', 'HEAD~50')).split('\n');
  const task = {
    kind: 'judge',
    path: world.bare,
    quarantine: null,
    lines: `${old} ${next} refs/heads/main\n`,
    manner: 'any',
    hidden: [],
    exec_path: '',
  } as const;
  const judged: number[] = [];
  const ofGit: number[] = [];
  for (let turn = 0; turn < 9; turn++) {
    const begun = performance.now();
    const { smaller } = await world.link.ask(task, 60_000);
    judged.push(performance.now() - begun);
    t.equal(smaller, true);
    const weighed = performance.now();
    await Promise.all([
      world.server('rev-list', '--objects', '--no-object-names', old, `^${next}`),
      world.server('for-each-ref'),
      world.server('config', '--list'),
      world.server('cat-file', '-t', next),
    ]);
    const weigh = (tip: string) =>
      world.server('rev-list', '--objects', '--disk-usage', '--use-bitmap-index', tip);
    await Promise.all([weigh(old), weigh(next)]);
    ofGit.push(performance.now() - weighed);
  }
  t.comment(`judged in ${median(judged).toFixed(1)} ms, git alone ${median(ofGit).toFixed(1)} ms`);
  t.ok(median(judged) - median(ofGit) < 100);
});

t.test('a task begins within 10 ms', async t => {
  const world = await World.open(t);
  const took: number[] = [];
  for (let turn = 0; turn < 21; turn++) {
    const begun = performance.now();
    await world.link.ask({ kind: 'reclaim', path: world.bare }, 60_000).catch(() => {});
    took.push(performance.now() - begun);
  }
  t.comment(`there and back in ${median(took).toFixed(2)} ms`);
  t.ok(median(took) < 10);
});
