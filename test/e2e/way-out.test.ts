/**
 * Everybody who is refused gets on by the words of the refusal alone: whoever collects garbage, whatever of it
 * is forgiven, and without a worker as well.
 *
 * A pusher here knows nothing but these words. At "from 14:20 UTC on" the worker's clock is set to that time;
 * at "Ask the administrator" an administrator collects by hand. The ordinary run has every second of the
 * settings.
 */

import { mock } from 'node:test';
import t, { type Test } from 'tap';
import { DiskQueues } from '../../src/git/worker/disk-queues.ts';
import { some } from '../run-length.ts';
import { until } from './ask.ts';
import type { Clone } from './clone.ts';
import { must } from './run.ts';
import { Server } from './server.ts';
import { withWorker } from './with-worker.ts';

t.setTimeout(600_000);

const hourMs = 3_600_000;

/** The clocks of the worker, which is in this process, and of nobody else. */
class WorkerClock {
  #aheadMs = 0;
  readonly #works = new Set<Promise<unknown>>();

  constructor(t: Test) {
    const [monotonic, wall] = [performance.now.bind(performance), Date.now];
    const run = DiskQueues.prototype.run;
    const works = this.#works;
    const mocks = [
      mock.method(performance, 'now', () => monotonic() + this.#aheadMs),
      mock.method(Date, 'now', () => wall() + this.#aheadMs),
      mock.method(DiskQueues.prototype, 'run', function (this: DiskQueues, ...given: Parameters<typeof run>) {
        const work = run.apply(this, given).finally(() => works.delete(work));
        works.add(work);
        return work;
      }),
    ];
    t.teardown(() => {
      for (const { mock } of mocks) mock.restore();
    });
  }

  /**
   * Sets them to the next time at which it is so late, `14:20`, while the worker measures nothing: it would
   * rest for four times as long as the measurement seemed to take.
   */
  async set(clock: string): Promise<void> {
    while (this.#works.size > 0) await Promise.allSettled(this.#works);
    const now = Date.now();
    const today = Date.parse(`${new Date(now).toISOString().slice(0, 10)}T${clock}:00Z`);
    this.#aheadMs += (today < now ? today + 24 * hourMs : today) - now;
  }
}

interface Setting {
  readonly garbage: 'bill' | 'forgive';
  /** `[reclaim] RUN` of a worker; null: there is none. */
  readonly run: 'never' | 'measure' | 'gc' | null;
}

interface Pushing extends Setting {
  readonly server: Server;
  readonly clone: Clone;
  readonly clock: WorkerClock;
  /** Branches that can be spared. */
  readonly spare: string[];
}

/** Resolves once the worker has measured her repository: something in it is unreachable, or not. */
async function measured(server: Server, isGarbage: boolean): Promise<void> {
  await until(async () => {
    const { repositories } = await server.admin('/admin/quota/space?user=alice');
    const bytes = repositories[0]?.unreachable_bytes ?? null;
    return bytes !== null && bytes > 0 === isGarbage ? true : null;
  });
}

/** The words of a refusal in one line. */
function words(said: string): string {
  return said.replaceAll('\n', ' ');
}

function minutesBetween(from: string, to: string): number {
  const [a, b] = [from, to].map(time => Date.parse(`1970-01-01T${time}:00Z`) / 60_000);
  return ((b ?? 0) - (a ?? 0) + 24 * 60) % (24 * 60);
}

/** Pushes until it passes, and does each time what the words say. Gives what was done. */
async function pushByAdvice(
  { server, clone, clock, spare, garbage, run }: Pushing,
  ...refs: readonly string[]
): Promise<readonly string[]> {
  const done: string[] = [];
  let told = '';
  const passes = async () => {
    const { code, said } = await clone.push(['--force', ...refs]);
    told = words(said);
    return code === 0;
  };
  const toldTime = () => /from (\d\d:\d\d) UTC on/.exec(told)?.[1];
  /** False: the words name another time, more than half an hour later. */
  const passesAt = async (time: string) => {
    await clock.set(time);
    return until(
      async () => {
        if (await passes()) return true;
        const later = toldTime();
        return later !== undefined && minutesBetween(time, later) > 30 ? false : null;
      },
      () => told,
    );
  };
  while (!(await passes())) {
    if (done.length > 6) throw new Error(`there is no end: ${done.join(', ')}\n${told}`);
    const from = toldTime();
    const canDelete = told.includes('You can still delete branches and tags') && spare.length > 0;
    const passesLater = told.includes('Pushes pass again from');
    if (canDelete && !passesLater) {
      const branch = spare.shift() ?? '';
      await clone.git('push', '-q', 'origin', `:${branch}`);
      done.push('deleted');
      if (told.includes('does not count')) {
        await until(
          async () => ((await passes()) ? true : null),
          () => told,
        );
        return [...done, 'passed at once'];
      }
    }
    if (from !== undefined) {
      await measured(server, true);
      // Data of the last push may be measured only then: all waits for it once more.
      if (!(await passesAt(from)) && !(await passesAt(toldTime() ?? from))) throw new Error(told);
      return [...done, 'waited'];
    }
    if (told.includes('Ask the administrator when that is.')) {
      await must('git', ['gc', '--quiet', '--prune=now'], { cwd: server.path('alice/one') });
      await server.scan();
      done.push('asked');
      // The worker measures anew.
      if (run !== null && garbage === 'forgive')
        await until(
          async () => ((await passes()) ? true : null),
          () => told,
        );
      continue;
    }
    if (!canDelete) throw new Error(`it does not say how to get on: ${told}`);
  }
  return [...done, 'passed'];
}

async function open(t: Test, { garbage, run }: Setting): Promise<Pushing> {
  const server = await Server.open(t, {
    ini: {
      quota: { GARBAGE: garbage },
      'quota.default': { TOTAL: '3M' },
      reclaim: { RUN: run ?? 'measure' },
    },
    repositories: ['alice/one'],
  });
  const clone = await server.filled('alice/one', 2000);
  for (const branch of ['first', 'second']) {
    await clone.git('checkout', '-q', '-b', branch, 'main');
    await clone.commit(1_700_000);
    await clone.git('push', '-q', 'origin', branch);
    await server.usageIs('alice', bytes => bytes > 1_700_000);
  }
  await server.usageIs('alice', bytes => bytes > 3_000_000);
  const clock = new WorkerClock(t);
  if (run === 'never') await withWorker(t, server, null);
  else if (run !== null) {
    await withWorker(t, server, { run });
    await measured(server, false);
  }
  await clone.git('checkout', '-q', 'main');
  await clone.commit(1000);
  return { server, clone, clock, spare: ['first', 'second'], garbage, run };
}

const settings = [
  ['bill', null, ['deleted', 'asked', 'passed']],
  ['bill', 'never', ['deleted', 'asked', 'passed']],
  ['bill', 'measure', ['deleted', 'asked', 'passed']],
  ['bill', 'gc', ['deleted', 'waited']],
  ['forgive', null, ['deleted', 'asked', 'passed']],
  ['forgive', 'never', ['deleted', 'asked', 'passed']],
  ['forgive', 'measure', ['deleted', 'passed at once']],
  ['forgive', 'gc', ['deleted', 'passed at once']],
] as const;

for (const [garbage, run, first] of some(settings, 2)) {
  const worker = run === null ? 'no worker' : `a worker with RUN = ${run}`;
  t.test(`GARBAGE = ${garbage}, ${worker}: a refused push passes by its own advice`, async t => {
    t.same(await pushByAdvice(await open(t, { garbage, run }), 'main'), first);
  });
}

const ends = [
  ['gc', ['waited']],
  ['measure', ['asked', 'passed']],
] as const;

for (const [run, end] of some(ends, 2))
  t.test(
    `with one branch, all forgiven and RUN = ${run}, smaller histories pass while there is room`,
    async t => {
      const pushing = await open(t, { garbage: 'forgive', run });
      const { server, clone } = pushing;
      for (const branch of pushing.spare.splice(0)) t.equal((await clone.push([`:${branch}`])).code, 0);
      await measured(server, true);
      /** Puts one file in place of all that is there. */
      const replaced = async (bytes: number) => {
        await clone.git('checkout', '-q', '--orphan', `with-${bytes}`);
        await clone.commit({ film: bytes });
        return until(async () => {
          const pushed = await clone.push(['--force', 'HEAD:main']);
          return words(pushed.said).includes('try again when it has ended') ? null : pushed;
        });
      };
      t.equal((await replaced(1_000_000)).code, 0);
      // The disk has room for the limit, what is forgiven, and the limit once more.
      let bytes = 950_000;
      let refused = '';
      for (; refused === ''; bytes -= 10_000) {
        const { code, said } = await replaced(bytes);
        if (code !== 0) refused = words(said);
      }
      t.match(refused, /You can still delete branches and tags, in a push of their own/);
      await server.scan();
      const { garbage } = await server.json('usage alice');
      t.ok(garbage.stored > 7_000_000 && garbage.stored < 9_000_000, `${garbage.stored}`);
      t.same(await pushByAdvice(pushing, 'HEAD:main'), end);
    },
  );
