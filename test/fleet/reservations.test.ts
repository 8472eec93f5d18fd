/** What several hosts reserve of one limit, in one Redis. */

import t, { type Test } from 'tap';
import type { Action, Ledger } from '../../src/ledger/index.ts';
import { until } from '../e2e/ask.ts';
import { repos, walk } from '../ledger/world.ts';
import { startSingle } from '../store/redis-servers.ts';
import { type Member, member } from './world.ts';

const limitBytes = 10_000;

let pushes = 0;

function push(ledger: Ledger, bytes: number, id = `push ${++pushes}`) {
  const action: Action = {
    ownerName: 'alice',
    subject: repos,
    parts: [{ id, bytes }],
    end: 'landed',
    unit: '/srv/git/alice/app.git',
    seconds: 600,
  };
  return ledger.admissions.admit(action);
}

async function two(t: Test): Promise<{ readonly members: readonly [Member, Member]; stop(): Promise<void> }> {
  const servers = await startSingle(t);
  const members = [
    await member(t, { address: servers.address, host: 'one' }),
    await member(t, { address: servers.address, host: 'two' }),
  ] as const;
  for (const { ledger, fleet } of members) {
    ledger.settings = { ...ledger.settings, precise: true, totalBytes: limitBytes };
    walk(ledger, 'alice/app', 1000);
    fleet.start();
  }
  for (const each of members) await sees(each, 2000);
  return { members, stop: () => servers.servers[0].end() };
}

/** Resolves once a host knows that so much is used on all of them. */
function sees({ ledger, fleet }: Member, bytes: number): Promise<true> {
  const used = () => ledger.decide('alice', repos).decision.used;
  return until(
    async () => {
      await fleet.catchUp();
      return used() === bytes ? true : null;
    },
    () => `alice uses ${used()}, and not ${bytes}`,
  );
}

t.test('many pushes at once on two hosts have no more room together than there is', async t => {
  const { members } = await two(t);
  const admitted = await Promise.all(
    Array.from({ length: 50 }, (_, each) => push(members[each % 2 === 0 ? 0 : 1].ledger, 800)),
  );
  t.equal(admitted.filter(({ decision }) => decision.allowed).length, 10);
  const refused = admitted.filter(({ decision }) => !decision.allowed);
  t.ok(refused.every(({ decision }) => decision.by === 'rule' && decision.used + 800 > limitBytes));
});

t.test('a reservation is over for the others when they know the usage with its bytes', async t => {
  const { members } = await two(t);
  const [{ ledger: one }, { ledger: other }] = members;
  const { reservations } = await push(one, 8000);
  t.notOk((await push(other, 1)).decision.allowed);
  const [reservation] = reservations;
  if (reservation === undefined) throw new Error('nothing was reserved');
  one.reservations.landed(reservation, '/srv/git/alice/app.git', one.walks.nextSeq());
  walk(one, 'alice/app', 8000);
  t.strictSame(one.reservations.all, []);
  await sees(members[1], 9000);
  // The walk found a thousand bytes less than were reserved.
  await until(
    async () => ((await push(other, 1000, 'the same')).decision.allowed ? true : null),
    () => 'the room that was not used is not given back',
  );
  t.notOk((await push(other, 1)).decision.allowed);
});

t.test('a reservation that is released, and one whose push is tried again, count once', async t => {
  const { members } = await two(t);
  const [{ ledger: one }, { ledger: other }] = members;
  const first = await push(one, 8000, 'a');
  t.ok((await push(one, 8000, 'a')).decision.allowed, 'tried again');
  t.notOk((await push(other, 1)).decision.allowed);
  one.reservations.release(first.reservations);
  await until(
    async () => ((await push(other, 8000, 'b')).decision.allowed ? true : null),
    () => 'what was released is still reserved',
  );
});

t.test('while Redis is away each host decides alone, by what it knows', async t => {
  const { members, stop } = await two(t);
  const [{ ledger: one }, { ledger: other }] = members;
  t.ok((await push(one, 5000)).decision.allowed);
  await stop();
  t.notOk((await push(one, 5000)).decision.allowed, 'its own reservations count');
  t.ok((await push(other, 5000)).decision.allowed, 'what the other has reserved is not known');
  t.notOk((await push(other, 5000)).decision.allowed);
});

t.test('what no ref reaches on any host is forgiven once on all of them', async t => {
  const { members } = await two(t);
  const [{ ledger: one }, { ledger: other }] = members;
  for (const { ledger } of members) {
    ledger.settings = { ...ledger.settings, garbage: 'forgive', garbageMostBytes: 5000 };
    walk(ledger, 'alice/app', 8000);
  }
  await sees(members[0], 16_000);
  await sees(members[1], 16_000);
  const says = (ledger: Ledger, unreachableBytes: number) => {
    const found = { unreachableBytes, reachableBytes: 8000 - unreachableBytes };
    ledger.reach.measured('/srv/git/alice/app.git', found, ledger.reach.number);
  };
  says(one, 4000);
  await sees(members[1], 12_000);
  says(other, 4000);
  for (const each of members) await sees(each, 11_000);
  walk(one, 'alice/app', 4000);
  for (const each of members) await sees(each, 8000);
  t.match(other.decide('alice', repos).decision, {
    garbage: { stored: 12_000, unreachable: 4000, billed: 8000 },
  });
  const admitted = await Promise.all(
    Array.from({ length: 20 }, (_, each) => push(members[each % 2 === 0 ? 0 : 1].ledger, 500)),
  );
  t.equal(admitted.filter(({ decision }) => decision.allowed).length, 4);
  t.ok(
    admitted.every(
      ({ decision, owner }) => decision.allowed || owner.unreachable?.some(bytes => bytes === 4000),
    ),
  );
});
