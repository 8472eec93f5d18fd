import { mock } from 'node:test';
import t, { type Test } from 'tap';
import { FreeSpace } from '../../src/measuring/free-space.ts';
import type { WatchedDisk } from '../../src/scan/index.ts';

const path = '/srv/git';
const megabyte = 1_000_000;

/** A disk of 1000 MB of which 100 MB have to stay free, and each look at it. */
function world(t: Test, freeMegabytes: number) {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const disk = {
    ...{ path, roots: [path], leaves: ['size:repos:private'], sizeBytes: 1000 * megabyte },
    ...{ freeBytes: freeMegabytes * megabyte, sizeFiles: null, freeFiles: null },
  } satisfies WatchedDisk;
  let answer: () => Promise<WatchedDisk> = async () => disk;
  let looks = 0;
  let changes = 0;
  const logged: string[] = [];
  const objects = new Map<string, string>();
  const log = (_: object, message: string) => void logged.push(message);
  const space = new FreeSpace({
    settings: { minFree: { percent: 10 } },
    disks: async () => {
      looks += 1;
      return [await answer()];
    },
    objectsOf: path => objects.get(path) ?? path,
    log: { error: log, warn: log, info: log },
    onFullChanged: () => {
      changes += 1;
    },
  });
  t.teardown(() => space.close());
  return {
    disk,
    space,
    objects,
    logged,
    answers: (next: () => Promise<WatchedDisk>) => {
      answer = next;
    },
    isFull: () => space.fullFor(`${path}/alice/app.git`, 'size:repos:private') !== null,
    /** Number of looks in the next second. */
    looksInSecond: async () => {
      looks = 0;
      for (let passed = 0; passed < 1000; passed += 50) {
        mock.timers.tick(50);
        await new Promise(setImmediate);
      }
      return looks;
    },
    takeChanges: () => {
      const seen = changes;
      changes = 0;
      return seen;
    },
  };
}

t.test('a disk is looked at each second, and ten times as often below twice MIN_FREE', async t => {
  const { space, disk, looksInSecond, answers } = world(t, 900);
  await space.look();
  t.equal(await looksInSecond(), 1);
  disk.freeBytes = 150 * megabyte;
  await looksInSecond();
  t.equal(await looksInSecond(), 10);
  disk.freeBytes = 900 * megabyte;
  await looksInSecond();
  t.equal(await looksInSecond(), 1);
  answers(async () => ({ ...disk, sizeBytes: null, freeBytes: null }));
  t.equal(await looksInSecond(), 1, 'one that does not answer is asked no more often');
  space.reconfigure({ minFree: null });
  await looksInSecond();
  t.equal(await looksInSecond(), 0, 'and none is without MIN_FREE');
});

t.test('a repository grows on the disk on which its objects lie', async t => {
  const { space, isFull, objects } = world(t, 300);
  await space.look();
  objects.set(`${path}/alice/app.git`, '/disk2/objects').set('/disk1/bob/app.git', `${path}/objects`);
  space.took(`${path}/alice/app.git`, 250 * megabyte);
  t.notOk(isFull(), 'those went elsewhere');
  space.took('/disk1/bob/app.git', 250 * megabyte);
  t.notOk(isFull());
  t.ok(space.fullFor('/disk1/bob/app.git', 'size:repos:private'));
  t.notOk(space.fullFor('/disk1/bob/app.git', 'size:git:lfs'), 'others lie in the repository itself');
});

t.test('pushes that were allowed since the last look are taken off what was free', async t => {
  const { space, disk, isFull, answers, logged, takeChanges } = world(t, 300);
  await space.look();
  space.took(`${path}/alice/app.git`, 150 * megabyte);
  t.notOk(isFull());
  t.match(logged.splice(0), [/150 MB of 1 GB are free, and 200 MB/], 'below twice MIN_FREE it is told');
  space.took('/elsewhere', 150 * megabyte);
  t.notOk(isFull());
  t.equal(takeChanges(), 0);
  space.took(`${path}/alice/app.git`, 100 * megabyte);
  t.ok(isFull(), 'before any look');
  t.equal(takeChanges(), 1);
  t.match(logged.splice(0), [/50 MB of 1 GB are free, .*; what grows there is refused$/]);

  // A push that is allowed while the disk is asked may be in its answer, or not.
  const asked = Promise.withResolvers<WatchedDisk>();
  answers(() => asked.promise);
  const looking = space.look();
  space.took(`${path}/bob/app.git`, 20 * megabyte);
  asked.resolve({ ...disk, freeBytes: 130 * megabyte });
  await looking;
  t.match(space.short, [{ state: 'low', disk: { free: 110 * megabyte } }], 'it counts until the next look');
  answers(async () => disk);
  await space.look();
  t.strictSame(space.short, []);
  t.equal(takeChanges(), 1);
});

t.test('a disk that only allowed pushes made full is not full once a look finds MIN_FREE there', async t => {
  const { space, disk, isFull } = world(t, 120);
  await space.look();
  space.took(`${path}/alice/app.git`, 30 * megabyte);
  t.ok(isFull());
  disk.freeBytes = 102 * megabyte;
  await space.look();
  t.notOk(isFull(), 'the push took less than was feared');
  disk.freeBytes = 90 * megabyte;
  await space.look();
  disk.freeBytes = 102 * megabyte;
  await space.look();
  t.ok(isFull(), 'while one that was seen full needs some more');
});
