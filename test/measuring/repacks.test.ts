/**
 * No work of git in a repository raises or lowers what it counts, whenever it is walked.
 *
 * Random works, plain, stopped and killed, run beside random pushes, of which later hooks refuse some, and
 * walks: nothing ever counts more than was there with what pushes brought, nor less by more than one push, and
 * thirty seconds after all is quiet the figure is exact. Where a work is killed, or stopped for long without a
 * sign that it goes on, what it has left there twice counts. The steps come from a seed that is printed;
 * `SOFTQUOTA_SEED` plays the same ones again, but the moments are others each time.
 */

import t, { type Test } from 'tap';
import { numbersFrom, oneOf } from '../numbers.ts';
import { ownTime } from '../own-time.ts';
import { isLong, lengthOf, some } from '../run-length.ts';
import { PushWorld } from './push-world.ts';
import { cleanUp, Figures, type RepackMode, repacks, walking, work } from './repacks.ts';

t.setTimeout(isLong ? 3_600_000 : 300_000);

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

const rounds = lengthOf(1, 12);
/** Rounds at a time: what is stopped for two minutes leaves the processors to others. */
const lanes = isLong ? 12 : 1;
const worksEach = isLong ? 8 : 5;
const stoppedMs = isLong ? 120_000 : 500;
const seed = Number(process.env.SOFTQUOTA_SEED ?? Date.now() % 2 ** 31);
const modes: readonly RepackMode[] = ['plain', 'stop', 'kill'];

t.test(`over ${rounds} rounds no work of git is mistaken for a push, and no push for work`, async t => {
  t.comment(`SOFTQUOTA_SEED=${seed}`);
  const seeds = Array.from({ length: rounds }, (_, round) => seed + round);
  const lane = async (): Promise<void> => {
    for (let next = seeds.shift(); next !== undefined; next = seeds.shift()) await playRound(t, next);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
});

async function playRound(t: Test, seed: number): Promise<void> {
  const random = numbersFrom(seed);
  const world = await PushWorld.open(t);
  const push = async (to: Pick<Figures, 'push'>): Promise<void> => {
    await world.git('config', 'receive.unpackLimit', oneOf(['1', '100'], random));
    world.answer = () => oneOf(['go on', 'go on', 'go on', 'refuse', 'refuse later'] as const, random);
    await to.push(50_000 + random(400_000), `b${random(4)}`);
  };
  for (let more = 0; more < 5; more++) await world.push(400_000, `b${more}`);
  await world.settled();
  const figures = new Figures(world);
  const end = walking(world);
  const names: string[] = [];
  for (let each = 0; each < worksEach; each++) {
    const name = oneOf(Object.keys(repacks), random);
    const mode = oneOf(modes, random);
    names.push(`${name} (${mode})`);
    const working = work(world.repository, repacks[name] ?? [], {
      mode,
      stoppedMs,
      random,
      stopsLong: () => figures.worked(),
    }).then(() => figures.worked());
    for (let pushes = random(4); pushes > 0; pushes--) await push(figures);
    await working;
    figures.worked();
  }
  await end();
  const { above, below, figures: seen } = figures.end();
  const told = `after ${names.join(', ')} (SOFTQUOTA_SEED=${seed})`;
  t.equal(above, 0, `of ${seen} figures none is too high ${told}`);
  t.equal(below, 0, `and none more than a push too low ${told}`);
  cleanUp(world.repository);
  const taken = ownTime();
  await world.quiet();
  t.ok(taken() < 30_000, `it is exact within thirty seconds ${told}`);
  t.match(await world.sweep('verify'), { units: 0, bytes: 0 }, told);
  await world.measuring.close();
}
