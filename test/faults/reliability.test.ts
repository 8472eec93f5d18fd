/**
 * Pushes and checks while one fault after the other befalls the daemon: each gets its decision in time, and
 * the right one.
 *
 * A check is the pre-receive hook itself, as it runs before an upload; a push is git's, with both hooks. What
 * a hook decides by the list that the daemon last published counts as answered where the daemon was away for
 * about as long as hooks wait, and not otherwise.
 */

import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import t from 'tap';
import { until } from '../e2e/ask.ts';
import { Clone, objectsIn } from '../e2e/clone.ts';
import { counted } from '../e2e/count.ts';
import { fleetHost } from '../e2e/fleet-hosts.ts';
import { plainEnvironment, run } from '../e2e/run.ts';
import type { Server } from '../e2e/server.ts';
import { isLong, lengthOf, some } from '../run-length.ts';
import { startSingle } from '../store/redis-servers.ts';
import { daemonFaults } from './daemon-faults.ts';
import { mountSmallData } from './small-disk.ts';

/** Source of a decision: the daemon, the list that it published before, or nobody who knew. */
type DecidedBy = 'daemon' | 'last' | 'nobody';

interface Outcome {
  readonly kind: 'push' | 'check';
  /** The owner is over the limit. */
  readonly isOver: boolean;
  readonly isRefused: boolean;
  readonly by: DecidedBy;
  /** From the start of git, or of the hook, to its end, in milliseconds. */
  readonly elapsedMs: number;
  /** Its end, by `performance.now()`. */
  readonly endedAt: number;
  /** Text that the person read. */
  readonly said: string;
}

/** One push for so many checks. */
const checksPerPush = 20;
/** And one of four of all by the owner who is over the limit. */
const overEach = 4;

class Pushers {
  readonly outcomes: Outcome[] = [];
  readonly #overPath: string;
  readonly #working: Promise<unknown>;
  #isOver = false;
  #fault: unknown = null;

  private constructor(overPath: string, paths: readonly string[], clones: readonly PushersClones[]) {
    this.#overPath = overPath;
    this.#working = Promise.all(clones.map((own, index) => this.#work(paths[index] ?? '', own))).catch(
      error => {
        this.#fault = error;
      },
    );
  }

  /**
   * Each of `names` is a repository of its own with somebody who pushes there; `overName` is the one of the
   * owner over the limit.
   */
  static async on(server: Server, names: readonly string[], overName: string): Promise<Pushers> {
    const overPath = server.path(overName);
    const clones = await Promise.all(
      names.map(async name => {
        const over = await Clone.of(server, overPath);
        await over.commit(1000);
        return { own: await Clone.of(server, server.path(name)), over };
      }),
    );
    return new Pushers(
      overPath,
      names.map(name => server.path(name)),
      clones,
    );
  }

  /** Resolves once there are so many outcomes. */
  async reach(count: number): Promise<void> {
    const isReached = () => this.outcomes.length >= count || this.#fault !== null || null;
    await until(isReached, () => `${this.outcomes.length} outcomes of ${count}`, mostWaitMs);
    if (this.#fault !== null) throw this.#fault;
  }

  /** Ends once all that is under way has its answer. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#working;
    if (this.#fault !== null) throw this.#fault;
  }

  async #work(path: string, { own, over }: PushersClones): Promise<void> {
    for (let round = 1; !this.#isOver; round += 1) {
      const isOver = round % overEach === 0;
      if (round % checksPerPush !== 0) await this.#check(isOver ? this.#overPath : path, isOver);
      else if (Math.floor(round / checksPerPush) % overEach === 0) await this.#push(over, true);
      else {
        await own.commit(500);
        await this.#push(own, false);
      }
    }
  }

  async #push(clone: Clone, isOver: boolean): Promise<void> {
    // A branch of its own: what others push there is not in this clone.
    const { code, said, elapsedMs, stderr } = await clone.push([
      `main:refs/heads/of-${basename(clone.folder)}`,
    ]);
    if (code !== 0 && said === '') throw new Error(`a push failed without a word of the hook: ${stderr}`);
    this.#record({ kind: 'push', isOver, isRefused: code !== 0, elapsedMs, said });
  }

  /**
   * Asks as `softquota receive-pack` does before an upload, and a hook before a push that brings something.
   */
  async #check(path: string, isOver: boolean): Promise<void> {
    const [none, some] = ['0', '1'].map(digit => digit.repeat(40));
    const { code, stderr, elapsedMs } = await run(join(path, 'hooks', 'pre-receive'), ['--early'], {
      cwd: path,
      env: plainEnvironment,
      input: `${none} ${some} refs/heads/main\n`,
    });
    this.#record({
      kind: 'check',
      isOver,
      isRefused: code !== 0,
      elapsedMs,
      said: stderr,
    });
  }

  #record(outcome: Omit<Outcome, 'by' | 'endedAt'>): void {
    this.outcomes.push({ ...outcome, by: decidedBy(outcome.said), endedAt: performance.now() });
  }
}

interface PushersClones {
  readonly own: Clone;
  readonly over: Clone;
}

function decidedBy(said: string): DecidedBy {
  if (/could not be checked(\. Last known: |, so this push is allowed\.)/.test(said)) return 'last';
  return /could not be checked|may not ask|cannot be run|takes too long/.test(said) ? 'nobody' : 'daemon';
}

const wanted = lengthOf(100, 10_000);
const atOnce = 6;
/** Hooks wait five seconds by a clock of whole ones. */
const longestWaitMs = 5000;
const shortestWaitMs = 4000;
/** Time that git, a shell and curl take to start besides, on a host with other work. */
const spareMs = 8000;
const mostUnanswered = wanted / 100_000;
/** Time that the outcomes between two faults may take. */
const mostWaitMs = 1_800_000;

t.setTimeout(isLong ? 14_400_000 : 600_000);

t.test(
  `of ${wanted} questions through every fault 99.999 % are answered in time, and all rightly`,
  async t => {
    const { address, servers } = await startSingle(t);
    const [redis] = servers;
    const server = await fleetHost(t, {
      address,
      host: 'one',
      ini: { 'quota.default': { TOTAL: '1G' }, scan: { SCHEDULE: '*/15 * * * *' } },
      started: false,
    });
    const data = join(server.folder, 'data');
    await mountSmallData(t, data, '16m');
    const names = Array.from({ length: atOnce }, (_, n) => `alice-${n}/app`);
    const overName = 'bob/app';
    for (const name of [...names, overName]) await server.repository(name);
    await server.installHooks();
    await server.start();
    const first = await Clone.of(server, server.path(overName));
    await first.commit(100_000);
    await first.push();
    await server.usageIs('bob', used => used > 100_000);
    const rules = [{ name: 'little', limit: 50_000, subjects: ['size:all'] }];
    await server.ask('admin', '/api/v1/admin/quota/groups', { body: { name: 'small', rules } });
    await server.ask('admin', '/api/v1/admin/users/bob/quota/groups', { body: { groups: ['small'] } });
    const overPath = server.path(overName);
    await until(async () => ((await published(server)).includes(`${overPath}\t`) ? true : null));
    const before = await objectsIn(overPath);

    const pushers = await Pushers.on(server, names, overName);
    const faults = some(daemonFaults(server, redis), 2);
    const absences: Absence[] = [];
    const each = Math.ceil(wanted / (faults.length + 1) / (isLong ? 6 : 1));
    for (let round = 0; pushers.outcomes.length < wanted || round < faults.length; round += 1) {
      const [name, happens] = faults[round % faults.length] ?? ['none', async () => {}];
      const from = performance.now();
      await happens();
      await server.ready();
      absences.push({ from, to: performance.now() });
      await pushers.reach(
        Math.min(pushers.outcomes.length + each, Math.max(wanted, pushers.outcomes.length)),
      );
      if (isLong) t.comment(`${pushers.outcomes.length} after ${name}`);
    }
    await pushers.end();

    const { outcomes } = pushers;
    const long = absences.filter(({ from, to }) => to - from >= shortestWaitMs);
    const unanswered = outcomes.filter(
      outcome =>
        outcome.by === 'nobody' ||
        outcome.elapsedMs > longestWaitMs + spareMs ||
        (outcome.by === 'last' && !long.some(absence => isBeside(outcome, absence))),
    );
    const wrong = outcomes.filter(({ isOver, isRefused }) => isRefused && !isOver);
    const letThrough = outcomes.filter(({ isOver, isRefused }) => isOver && !isRefused);
    t.ok(
      unanswered.length <= mostUnanswered,
      `unanswered: ${unanswered.length}\n${JSON.stringify(unanswered.slice(0, 5))}`,
    );
    t.strictSame(wrong.slice(0, 5), [], 'wrongly refused');
    t.strictSame(letThrough.slice(0, 5), [], 'over the limit and let through');
    t.ok(
      outcomes.some(({ by }) => by === 'last'),
      'the list decided while the daemon was away',
    );
    t.strictSame(await objectsIn(overPath), before, 'nothing of theirs was stored');

    const owners = [...names, overName].map(name => [name.split('/')[0] ?? '', server.path(name)] as const);
    for (const [owner, path] of owners) {
      const isCounted = async () => (await server.usage(owner)) === (await counted(path)) || null;
      t.ok(await until(isCounted).catch(() => false), `all of ${owner} is counted within a minute`);
    }
    // Behind their pushes hooks may still be telling what they decided alone: the record of that goes then.
    await until(async () => ((await worksIn(`${server.folder}/git/`)) ? null : true));
    t.equal((await server.scan()).state, 'done');
    for (const [owner, path] of owners)
      t.equal(await server.usage(owner), await counted(path), `drift of ${owner} after one walk`);
  },
);

/** Time in which the daemon may not have answered, by `performance.now()`. */
interface Absence {
  readonly from: number;
  readonly to: number;
}

function isBeside({ elapsedMs, endedAt }: Outcome, { from, to }: Absence): boolean {
  return endedAt >= from && endedAt - elapsedMs <= to;
}

/** Tells whether any program of the system runs in a directory below. */
async function worksIn(directory: string): Promise<boolean> {
  const processes = (await readdir('/proc')).filter(name => /^\d+$/.test(name));
  const folders = await Promise.all(processes.map(id => readlink(`/proc/${id}/cwd`).catch(() => '')));
  return folders.some(folder => folder.startsWith(directory));
}

/** List that hooks decide by when the daemon does not answer. */
function published(server: Server): Promise<string> {
  return readFile(join(server.folder, 'data', 'gate.refused'), 'utf8').catch(() => '');
}
