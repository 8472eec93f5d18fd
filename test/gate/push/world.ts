/**
 * A gate that is asked about pushes, on a real ledger: quarantines, refs, the worker and the clock are the
 * test's.
 */

import { mock } from 'node:test';
import type { Test } from 'tap';
import type { Fields } from '../../../src/bounded/index.ts';
import type { PushServices, PushWorker } from '../../../src/gate/index.ts';
import type { Quarantine } from '../../../src/layout/index.ts';
import type { LedgerSettings } from '../../../src/ledger/index.ts';
import type { PushJudgement, WorkerTask } from '../../../src/wire/index.ts';
import { type Answer, ask, openWorld, type World } from '../world.ts';

export const MB = 1_000_000;
export const unit = '/srv/git/bob/app.git';
export const incoming = 'tmp_objdir-incoming-aB3xY9';

const zeros = '0'.repeat(40);
const one = '1'.repeat(40);
const two = '2'.repeat(40);

export const creates = (...names: string[]) => names.map(name => `${zeros} ${one} ${name}\n`).join('');
export const updates = (...names: string[]) => names.map(name => `${one} ${two} ${name}\n`).join('');
export const deletes = (...names: string[]) => names.map(name => `${one} ${zeros} ${name}\n`).join('');

/** A clock that is moved forward, with the alarms of it; the ledger's rest. */
export class SetTiming {
  #passedMs = 0;

  constructor(t: Test) {
    const { now } = performance;
    const clock = mock.method(performance, 'now', () => now.call(performance) + this.#passedMs);
    mock.timers.reset();
    mock.timers.enable({ apis: ['setTimeout'] });
    t.teardown(() => {
      mock.timers.reset();
      clock.mock.restore();
    });
  }

  pass(milliseconds: number): void {
    this.#passedMs += milliseconds;
    mock.timers.tick(milliseconds);
  }
}

export interface Question {
  readonly fields?: Readonly<Record<string, string>>;
  readonly lines?: string | Buffer;
}

export interface PushWorld extends Omit<World, 'services'> {
  readonly timing: SetTiming;
  /** By path of the unit and name. */
  readonly quarantines: Map<string, Quarantine | 'unreadable'>;
  /** The names that exist in the unit. */
  readonly names: Set<string>;
  readonly arrived: { readonly unit: string; readonly lines: string }[];
  readonly withdrawn: string[];
  /** The units in which refs may be written, as the worker is told. */
  readonly mayWrite: string[];
  readonly services: PushServices;
  worker(changes: Partial<World['told']['pushWorker']>): void;
  /**
   * Asks as git's hook does, over a connection of its own, in `unit` with a quarantine, unless said
   * otherwise.
   */
  push(question?: Question): Promise<Answer>;
  /** Asks as another process each time; gives the status of the answer. */
  status(lines: string): Promise<number>;
  /** Lets the repository's quarantine of this name bring so much. */
  brings(bytes: number, differing?: Partial<Quarantine>): void;
}

export function bodyOf(fields: Readonly<Record<string, string>>, lines: string | Buffer): Buffer {
  const all = Object.entries(fields).map(([name, value]) => `${name}=${value}\0`);
  return Buffer.concat([Buffer.from(`${all.join('')}\0`), Buffer.from(lines)]);
}

export const usualFields = {
  hook: 'pre-receive',
  script: 'hooks/pre-receive',
  directory: unit,
  process: '4711',
  GIT_QUARANTINE_PATH: `${unit}/./objects/${incoming}`,
} as const;

export async function openPushWorld(t: Test, changed: Partial<LedgerSettings> = {}): Promise<PushWorld> {
  const world = await openWorld(t, { totalBytes: 10 * MB, ...changed });
  const timing = new SetTiming(t);
  const { told, ledger } = world;
  const quarantines: PushWorld['quarantines'] = new Map();
  const names = new Set<string>();
  const arrived: { readonly unit: string; readonly lines: string }[] = [];
  const withdrawn: string[] = [];
  const mayWrite: string[] = [];
  const counted = new Map<string, number>();
  const addBytes = (path: string, bytes: number) => {
    const known = ledger.units.unit(path);
    if (known !== undefined) world.walk(path, known.owner, known.bytes + bytes, { leaf: known.leaf });
  };
  Object.assign(told.pushServices, {
    look: async (path, name) => {
      const found = quarantines.get(`${path} ${name}`);
      if (found === 'unreadable') return { is: 'unreadable' };
      return found === undefined ? { is: 'absent' } : { is: 'seen', quarantine: found };
    },
    begin: push => {
      const { unit, name, quarantine } = push;
      const { path } = unit;
      told.pushes.push(push);
      const key = `${path} ${name}`;
      addBytes(path, (quarantine?.bytes ?? 0) - (counted.get(key) ?? 0));
      counted.set(key, quarantine?.bytes ?? 0);
    },
    withdraw: (path, name) => {
      withdrawn.push(`${path} ${name}`);
      const at = told.pushes.findIndex(push => push.unit.path === path && push.name === name);
      if (at >= 0) told.pushes.splice(at, 1);
      addBytes(path, -(counted.get(`${path} ${name}`) ?? 0));
      counted.delete(`${path} ${name}`);
    },
    arrived: (path, lines) => arrived.push({ unit: path, lines }),
    existingNames: async (_path, wanted) => wanted.filter(name => names.has(name)),
  } satisfies Partial<PushServices>);
  Object.assign(told.pushWorker, {
    letThrough: path => mayWrite.push(path),
  } satisfies Partial<PushWorker>);
  const push: PushWorld['push'] = ({ fields = {}, lines = creates('refs/heads/main') } = {}) =>
    ask(world.sockets.gate, '/v1/push', {
      method: 'POST',
      body: bodyOf({ ...usualFields, ...fields }, lines),
    });
  let process = 0;
  const status = async (lines: string) =>
    (await push({ lines, fields: { process: String(process++) } })).status;
  const brings: PushWorld['brings'] = (bytes, differing = {}) => {
    const name = differing.name ?? incoming;
    quarantines.set(`${unit} ${name}`, {
      name,
      id: '1 2 3',
      bytes,
      sample: 'pack/pack-1.pack',
      ...differing,
    });
  };
  const worker: PushWorld['worker'] = changes => {
    Object.assign(told.pushWorker, changes);
  };
  world.walk(unit, 'bob', 8 * MB);
  ledger.walks.recordSweep({ startedAt: 1, finishedAt: 2, units: 1 }, [], () => true);
  brings(1000);
  const { pushServices: services } = told;
  return {
    ...world,
    timing,
    quarantines,
    names,
    arrived,
    withdrawn,
    mayWrite,
    services,
    worker,
    push,
    status,
    brings,
  };
}

/** A worker that judges when the test says so. */
export function pendingJudge() {
  const asked = Promise.withResolvers<WorkerTask>();
  const answered = Promise.withResolvers<PushJudgement>();
  const outcome = Promise.withResolvers<{ readonly kept: boolean }>();
  let calls = 0;
  let signal: AbortSignal | null = null;
  return {
    asked: asked.promise,
    answer: (smaller: boolean, words: string) => answered.resolve({ smaller, words, sample: null }),
    /** The push that was judged has ended. */
    end: () => outcome.resolve({ kept: true }),
    get calls() {
      return calls;
    },
    get signal() {
      return signal;
    },
    ask: (task: WorkerTask, _: number, end?: AbortSignal): Promise<Fields> => {
      if (task.kind === 'outcome') return outcome.promise;
      calls++;
      signal = end ?? null;
      asked.resolve(task);
      return answered.promise;
    },
  };
}
