import t from 'tap';
import { FollowUps } from '../../src/measuring/follow-ups.ts';
import { ManualClock } from './manual-clock.ts';

const path = '/srv/git/alice/app.git';

function world({ mostPaths, isBusy = () => false }: { mostPaths?: number; isBusy?: () => boolean } = {}) {
  const clock = new ManualClock();
  const measured: { readonly path: string; readonly at: number }[] = [];
  const followUps = new FollowUps({
    measure: path => measured.push({ path, at: clock.time }),
    isBusy,
    clock,
    ...(mostPaths === undefined ? {} : { mostPaths }),
  });
  const timesOf = (wanted: string) => measured.filter(({ path }) => path === wanted).map(({ at }) => at);
  return { clock, measured, followUps, timesOf };
}

t.test('a unit is measured twice after the check, and then forgotten', async t => {
  const { clock, followUps, timesOf } = world();
  followUps.checked(path);
  clock.goTo(1_000_000);
  t.strictSame(timesOf(path), [1000, 30_000]);
  t.equal(clock.pending, 0);
});

t.test('a further check begins anew with the shortest distance', async t => {
  const { clock, followUps, timesOf } = world();
  followUps.checked(path);
  clock.goTo(20_000);
  followUps.checked(path);
  clock.goTo(1_000_000);
  t.strictSame(timesOf(path), [1000, 21_000, 50_000]);
});

t.test('who asks all the time puts nothing off, costs no alarm, and has no burst of walks', async t => {
  const { clock, followUps, timesOf } = world();
  let asked = 0;
  for (let time = 0; time < 10_000; time += 0.2) {
    clock.goTo(time);
    followUps.checked(path);
    asked += 1;
  }
  t.equal(asked, 50_000);
  const times = timesOf(path);
  t.ok(times.length >= 9 && times.length <= 10, `${times.length} walks in 10 s`);
  t.ok(times.every((time, index) => index === 0 || time - (times[index - 1] ?? 0) >= 999));
  t.ok(clock.alarms <= 2 * times.length + 2, `${clock.alarms} alarms`);
});

t.test('many units are measured in turn, and slowly while others wait for walkers', async t => {
  for (const [isBusy, restMs] of [
    [false, 5],
    [true, 250],
  ] as const) {
    const { clock, followUps, measured } = world({ isBusy: () => isBusy });
    for (let unit = 0; unit < 100; unit++) followUps.checked(`/srv/git/alice/${unit}.git`);
    clock.goTo(1000 + 49 * restMs);
    t.equal(measured.length, 50);
  }
});

t.test('of more units than are remembered the oldest is measured once more, and soon', async t => {
  const { clock, followUps, measured, timesOf } = world({ mostPaths: 10 });
  followUps.checked(path);
  for (let unit = 0; unit < 10_000; unit++) followUps.checked(`/srv/git/mallory/${unit}.git`);
  t.equal(clock.pending, 1);
  clock.goTo(1_000_000);
  t.strictSame(timesOf(path), [1000]);
  t.ok(measured.length <= 10 * 2, `${measured.length} walks`);
  t.ok(timesOf('/srv/git/mallory/9999.git').length > 0, 'and the last of a flood, too');
});

t.test('nothing is measured once it is closed', async t => {
  const { clock, followUps, measured } = world();
  for (const name of ['a', 'b', 'c']) followUps.checked(name);
  clock.goTo(1000);
  t.equal(measured.length, 1);
  followUps.close();
  clock.goTo(1_000_000);
  t.equal(measured.length, 1);
  t.equal(clock.pending, 0);
});
