/**
 * An administrator is answered within two seconds, however the shared store fails, and what became of a
 * change that had no answer shows in its log.
 *
 * The time is taken where the question is asked, within this process, less the longest time for which the
 * process itself was held up: how busy the host is says nothing of what is promised.
 */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import t, { type Test } from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import { Passage } from '../e2e/passage.ts';
import { comes, startServer, startSingle } from '../store/redis-servers.ts';
import { knowsRule, type Member, type MemberOptions, makeRule, member } from './world.ts';

const promisedMs = 2000;

/** Outcome of a change, and its time. */
async function asked(by: Member, name: string): Promise<{ readonly said: string; readonly ms: number }> {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const begun = performance.now();
  const said = await makeRule(by, name).then(
    () => 'made',
    (error: unknown) => {
      if (error instanceof SoftquotaError && error.code === 'store_away') return error.message;
      throw error;
    },
  );
  const ms = performance.now() - begun;
  delay.disable();
  return { said, ms: ms - delay.max / 1e6 };
}

interface Fault {
  readonly begin: () => unknown;
  readonly end: () => unknown;
  /** Outcomes that a change may have; by default made, not known, or nothing changed. */
  readonly said?: RegExp;
}

let count = 0;

/** Several ask at once, and again; then all come to know the same, and who asks again is answered rightly. */
async function answersInTime(
  t: Test,
  what: string,
  [one, two]: readonly [Member, Member],
  fault: Fault,
): Promise<void> {
  const { begin, end, said = /not known|cannot be used|nothing was changed|^made$/ } = fault;
  const names = Array.from({ length: 6 }, () => `rule-${++count}`);
  await begin();
  const answers = new Map<string, string>();
  for (const some of [names.slice(0, 3), names.slice(3, 4), names.slice(4)]) {
    const all = await Promise.all(some.map(async name => ({ name, ...(await asked(one, name)) })));
    for (const answer of all) {
      t.ok(answer.ms < promisedMs, `${what}: it is answered after ${answer.ms.toFixed(0)} ms`);
      t.match(answer.said, said, what);
      answers.set(answer.name, answer.said);
    }
  }
  await end();
  for (const each of [one, two]) {
    await comes(`${what}: the store`, () =>
      each.fleet.catchUp().then(
        () => true,
        () => false,
      ),
    );
  }
  for (const [name, said] of answers) {
    if (said === 'made') t.ok(knowsRule(two, name), `${what}: ${name} was acknowledged, and is there`);
    if (/nothing was changed/.test(said)) t.notOk(knowsRule(two, name), `${what}: ${name} was not made`);
    const again = await makeRule(one, name).then(
      () => 'made',
      (error: unknown) => error instanceof SoftquotaError && error.code,
    );
    t.ok(again === 'made' || again === 'conflict', `${what}: ${name} again: ${again}`);
  }
  await two.fleet.catchUp();
  for (const name of names)
    t.ok(knowsRule(one, name) && knowsRule(two, name), `${what}: ${name} is there once`);
}

const both = async (t: Test, options: Omit<MemberOptions, 'host'>) =>
  [await member(t, { ...options, host: 'one' }), await member(t, { ...options, host: 'two' })] as const;

t.test('a Redis that is stopped, gone, or a replica', async t => {
  const { address, servers } = await startSingle(t);
  const [redis] = servers;
  const members = await both(t, { address });
  await answersInTime(t, 'stopped', members, { begin: () => redis.halt(), end: () => redis.go() });
  await answersInTime(t, 'gone', members, {
    begin: () => redis.end('SIGKILL'),
    end: () => redis.start(),
    said: /cannot be used|nothing was changed/,
  });
  await answersInTime(t, 'a replica', members, {
    begin: () => redis.cli('replicaof', '127.0.0.1', '1'),
    end: () => redis.cli('replicaof', 'no', 'one'),
  });
});

t.test('a way to Redis on which each answer comes late', async t => {
  const { servers } = await startSingle(t);
  const passage = await Passage.to(t, servers[0].port);
  const members = await both(t, { address: `redis://127.0.0.1:${passage.port}/0` });
  for (const ms of [375, 500, 750]) {
    await answersInTime(t, `${2 * ms} ms`, members, {
      begin: () => passage.become({ does: 'delays', ms }),
      end: () => passage.become({ does: 'passes' }),
    });
  }
  await answersInTime(t, 'swallowed', members, {
    begin: () => passage.become({ does: 'swallows' }),
    end: () => passage.become({ does: 'passes' }),
  });
});

t.test('replicas that have to acknowledge, and are not there', async t => {
  const { address, servers } = await startSingle(t);
  const [redis] = servers;
  const startReplica = async () => {
    const settings = ['--replicaof', '127.0.0.1', String(redis.port), '--repl-diskless-sync-delay', '0'];
    const replica = await startServer(t, { directory: redis.directory, settings });
    await comes('the replica', async () => (await redis.cli('info', 'replication')).includes('state=online'));
    return replica;
  };
  const replica = await startReplica();
  const members = await both(t, { address, waitReplicas: 1 });
  await answersInTime(t, 'a replica that is stopped', members, {
    begin: () => replica.halt(),
    end: () => replica.go(),
  });
  await answersInTime(t, 'no replica', members, { begin: () => replica.end('SIGKILL'), end: startReplica });
});
