/** No work of git in a repository raises or lowers what it counts, whenever it is walked. */

import t from 'tap';
import { numbersFrom } from '../numbers.ts';
import { isLong, some } from '../run-length.ts';
import { PushWorld } from './push-world.ts';
import { Figures, repacks, walking, work } from './repacks.ts';

t.setTimeout(isLong ? 1_800_000 : 300_000);

t.test('gc, repack and maintenance change nobody, beside pushes and walks without a pause', async t => {
  const world = await PushWorld.open(t);
  const random = numbersFrom(1);
  for (let more = 0; more < 6; more++) {
    await world.git('config', 'receive.unpackLimit', more % 2 === 0 ? '1' : '100');
    await world.push(400_000, `b${more}`);
  }
  await world.settled();
  const figures = new Figures(world);
  const end = walking(world);
  for (const name of some(Object.keys(repacks), 1)) {
    await Promise.all([
      work(world.repository, repacks[name] ?? [], { mode: 'plain', stoppedMs: 0, random }),
      figures.push(100_000, 'main'),
    ]);
  }
  await end();
  const { above, below, figures: seen } = figures.end();
  t.equal(above, 0, `of ${seen} figures none is too high`);
  t.equal(below, 0, 'and none more than a push too low');
  await world.quiet();
  t.match(await world.sweep('verify'), { units: 0, bytes: 0 });
});
