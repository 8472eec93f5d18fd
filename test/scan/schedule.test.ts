import t from 'tap';
import { isCovered } from '../../src/scan/run.ts';
import { startSchedule } from '../../src/scan/schedule.ts';
import { ManualClock } from '../measuring/manual-clock.ts';

const minute = 60_000;
const day = 24 * 60 * minute;

/** A clock that goes on by hand, and can be set meanwhile. */
class WallClock implements NonNullable<Parameters<typeof startSchedule>[2]> {
  readonly #passed = new ManualClock();
  #startedAt: number;

  constructor(at: string) {
    this.#startedAt = new Date(at).getTime();
  }

  now = (): number => this.#startedAt + this.#passed.time;

  after = this.#passed.after;

  set(milliseconds: number): void {
    this.#startedAt += milliseconds;
  }

  pass(milliseconds: number): void {
    this.#passed.goTo(this.#passed.time + milliseconds);
  }

  get isSilent(): boolean {
    return this.#passed.pending === 0;
  }
}

const quarterly = '*/15 * * * *';

function started(at: string, sweeps = quarterly) {
  const clock = new WallClock(at);
  const ticks: string[] = [];
  const schedule = startSchedule(
    sweeps,
    kind => {
      ticks.push(`${kind} ${new Date(clock.now()).toTimeString().slice(0, 5)}`);
    },
    clock,
  );
  return { clock, ticks, schedule };
}

t.test('sweeps begin at the times of their pattern, each once', async t => {
  const { clock, ticks } = started('2026-11-21T10:14:59.500');
  clock.pass(minute);
  t.same(ticks, ['sweep 10:15']);
  clock.pass(45 * minute);
  t.same(ticks, ['sweep 10:15', 'sweep 10:30', 'sweep 10:45', 'sweep 11:00']);
});

t.test('a verify comes before a sweep that is due at the same time', async t => {
  const { clock, ticks } = started('2026-11-22T02:59:00');
  clock.pass(2 * minute);
  t.same(ticks, ['verify 03:00', 'sweep 03:00']);
});

t.test('a clock that is set back by a day does not stop sweeps for a day', async t => {
  const { clock, ticks } = started('2026-11-21T10:16:00');
  clock.set(-day);
  clock.pass(15 * minute);
  t.same(ticks, ['sweep 10:30']);
});

t.test('a clock that is set forward brings one sweep, not all between', async t => {
  const { clock, ticks } = started('2026-11-23T10:16:00');
  clock.set(4 * day);
  clock.pass(minute);
  t.same(ticks, ['sweep 10:16']);
  clock.pass(15 * minute);
  t.same(ticks, ['sweep 10:16', 'sweep 10:30']);
});

t.test('a clock that is set right by some seconds brings no tick twice', async t => {
  const { clock, ticks } = started('2026-11-21T10:14:59');
  clock.pass(2000);
  clock.set(-2000);
  clock.pass(15 * minute + 2000);
  t.same(ticks, ['sweep 10:15', 'sweep 10:30']);
});

t.test('a sweep is late when three were missed and another is due, whatever the pauses are', async t => {
  const { schedule } = started('2026-11-21T10:16:00');
  t.equal(schedule.lateAfterMs(0), 59 * minute);
  t.equal(schedule.lateAfterMs(16 * minute), 60 * minute, 'from when it ended');
  const evening = started('2026-11-21T20:00:00', '*/15 8-18 * * *').schedule;
  t.equal(evening.lateAfterMs(74 * minute), (14 * 60 - 1) * minute, 'from 18:46 to 8:45');
});

t.test('a closed schedule is silent', async t => {
  const { clock, schedule, ticks } = started('2026-11-21T10:16:00');
  clock.pass(minute);
  schedule.close();
  t.ok(clock.isSilent);
  t.same(ticks, []);
});

t.test('a schedule may be closed by its own tick', async t => {
  const clock = new WallClock('2026-11-21T10:14:00');
  const schedule = startSchedule(quarterly, () => schedule.close(), clock);
  clock.pass(2 * minute);
  t.ok(clock.isSilent);
});

t.test('a tick is let go by while a run does all that it would do', async t => {
  const run = (
    kind: 'sweep' | 'verify',
    state: 'waiting' | 'running' | 'done',
    owners: string[] | null = null,
  ) => [{ kind, state, owners }];
  t.ok(isCovered('sweep', run('sweep', 'running')));
  t.ok(isCovered('sweep', run('verify', 'waiting')));
  t.ok(isCovered('verify', run('verify', 'running')));
  t.notOk(isCovered('verify', run('sweep', 'running')));
  t.notOk(isCovered('sweep', run('sweep', 'done')));
  t.notOk(isCovered('sweep', run('sweep', 'running', ['alice'])));
  t.notOk(isCovered('sweep', []));
});
