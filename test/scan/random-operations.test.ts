/**
 * Random operations of git, with sweeps by signature between them, by several walkers. Whatever a
 * sweep leaves wrong was done by an operation that no signature can see, as the table of operations says, and
 * nothing is wrong after a verify.
 *
 * The steps come from a seed that is printed; `SOFTQUOTA_SEED` plays the same ones again, but git's names and
 * the order in which threads get on are others each time.
 */

import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type Numbers, numbersFrom, oneOf } from '../numbers.ts';
import { isLong } from '../run-length.ts';
import { type Ground, makeGround } from './git-ground.ts';
import { type Catcher, operations } from './git-operations.ts';
import { passTick } from './late.ts';
import { type Book, fill, independentCount, scanning, storage, temporary } from './world.ts';

const rounds = isLong ? 400 : 8;
const stepsEach = 4;
/** Rounds of which the last one ends with a verify. */
const roundsPerVerify = 4;
const seed = Number(process.env.SOFTQUOTA_SEED ?? Date.now() % 2 ** 31);

t.setTimeout(isLong ? 3_600_000 : 300_000);

/** These take away what others of the table need later. */
const destructive: ReadonlySet<string> = new Set(['hash-object -w into a new directory']);

interface Place {
  readonly unit: string;
  /** A unit inside that an operation may reach into. */
  readonly inner?: Place;
  bytes(): number;
}

interface Step {
  readonly name: string;
  readonly by: Catcher;
  run(): void;
}

/** Steps of a table's operation. The preparation may be of either kind, so nothing is said of it. */
function gitStep(ground: Ground, random: Numbers): readonly Step[] {
  const names = Object.keys(operations).filter(name => !destructive.has(name));
  const name = oneOf(names, random);
  const operation = operations[name];
  if (operation === undefined) throw new Error(`there is no ${name}`);
  const { prepare, by, run } = operation;
  return [
    { name: `before ${name}`, by: 'VERIFY', run: () => prepare(ground) },
    { name, by, run: () => run(ground) },
  ];
}

interface World {
  readonly book: Book;
  readonly places: readonly Place[];
  /** The next operation: of which place, and its steps. */
  next(): { readonly place: Place; readonly steps: readonly Step[] };
  sweep(kind: 'sweep' | 'verify'): Promise<{ readonly units: number; readonly bytes: number } | null>;
  measure(place: Place): Promise<unknown>;
}

function makeWorld(t: Test, random: Numbers): World {
  const grounds = [1, 2, 3].map(() => makeGround(t));
  const roots = grounds.map(({ repository }) => join(repository, '../..'));
  const storages = [
    storage('repos', ...roots.map(root => `${root}/{owner}/{repo}.git`)),
    storage('lfs', ...roots.map(root => `${root}/{owner}/{repo}.git/lfs`)),
  ];
  const { scanner, book } = scanning(t, storages, {
    workers: 3,
    walkerCode: new URL('late-walker.ts', import.meta.url),
  });
  const repositories = grounds.map(ground => {
    const lfs = ground.path('lfs');
    fill(join(lfs, 'first'), 10);
    const inner = { unit: lfs, bytes: () => independentCount(lfs).bytes };
    const bytes = () => independentCount(ground.repository, '-path', lfs, '-prune', '-o').bytes;
    return { ground, place: { unit: ground.repository, inner, bytes } };
  });
  return {
    book,
    places: repositories.flatMap(({ place }) => [place, place.inner]),
    next: () => {
      const { ground, place } = oneOf(repositories, random);
      return { place, steps: gitStep(ground, random) };
    },
    sweep: async kind => {
      const run = scanner.sweep({ kind });
      await run.done;
      if (run.state !== 'done') throw new Error(`the sweep ended ${run.state}: ${run.error}`);
      return run.drift;
    },
    measure: ({ unit }) => scanner.measureSoon(unit),
  };
}

t.test(`over ${rounds} rounds only what the table names is wrong, and after a verify nothing`, async t => {
  t.comment(`SOFTQUOTA_SEED=${seed}`);
  const random = numbersFrom(seed);
  const ticks = temporary(t);
  process.env.SOFTQUOTA_TEST_READ = join(temporary(t), 'read');
  const { book, places, next, sweep, measure } = makeWorld(t, random);
  const known = new Map(places.map(place => [place, place.bytes()]));
  const isExact = (place: Place): boolean => book.bytes(place.unit) === place.bytes();
  /** The operations since the last walk that no signature need have seen, and which may have changed bytes. */
  const unseen = new Map<Place, string[]>();
  let done = 0;
  let failed = 0;
  let drifted = 0;

  const take = (place: Place, { name, by, run }: Step, seen: Set<Place>): void => {
    try {
      run();
      done += 1;
    } catch {
      // The operation lacks what it needs; what it did all the same is found below.
      failed += 1;
    }
    // An operation may reach into the LFS store that lies in its repository.
    for (const each of [place, ...(place.inner === undefined ? [] : [place.inner])]) {
      const before = known.get(each);
      const after = each.bytes();
      if (before === after) continue;
      known.set(each, after);
      t.not(by, 'nothing', `${name} changes no bytes`);
      if (by === 'signature') seen.add(each);
      else unseen.set(each, [...(unseen.get(each) ?? []), name]);
    }
  };

  await sweep('verify');
  for (let round = 1; round <= rounds; round++) {
    passTick(ticks);
    const seen = new Set<Place>();
    const names: string[] = [];
    for (let step = 0; step < stepsEach; step++) {
      const { place, steps } = next();
      for (const each of steps) {
        take(place, each, seen);
        names.push(each.name);
      }
    }
    passTick(ticks);
    const told = `after ${names.join(', ')} (SOFTQUOTA_SEED=${seed})`;
    await sweep('sweep');
    for (const place of places) {
      if (isExact(place)) continue;
      drifted += 1;
      t.notOk(seen.has(place), `${place.unit} was read, so it is exact ${told}`);
      t.ok(unseen.has(place), `${place.unit} has changed without a trace ${told}`);
    }
    if (random(3) === 0) {
      const place = oneOf(places, random);
      await measure(place);
      t.ok(isExact(place), `the walk of one unit is exact ${told}`);
    }
    if (round % roundsPerVerify !== 0) continue;
    const wrong = places.map(place => Math.abs((book.bytes(place.unit) ?? 0) - place.bytes()));
    const drift = await sweep('verify');
    t.match(drift, {
      units: wrong.filter(bytes => bytes > 0).length,
      bytes: wrong.reduce((sum, bytes) => sum + bytes, 0),
    });
    for (const place of places) t.ok(isExact(place), `${place.unit} is exact after a verify ${told}`);
    unseen.clear();
  }
  t.comment(
    `${done} operations, ${failed} that could not be done, ${drifted} figures that a sweep left wrong`,
  );
  t.ok(done > failed, 'most operations were done');
});
