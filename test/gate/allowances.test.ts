/** Allowances at the gate: in answers that are ready, in the list for hooks, in the words of a refusal. */

import t, { type Test } from 'tap';
import { createAllowance } from '../../src/policy/index.ts';
import { SetClock } from '../ledger/world.ts';
import { asText, openWorld, publishedBy, type World } from './world.ts';

const GB = 1_000_000_000;
const app = '/srv/git/alice/app.git';
const hour = 3_600_000;

async function open(t: Test, usedBytes: number) {
  const clock = new SetClock();
  const world = await openWorld(t, {}, {}, clock);
  world.walk(app, 'alice', usedBytes);
  world.ledger.walks.recordSweep({ startedAt: 1, finishedAt: 2, units: 1 }, [], () => true);
  return { clock, world };
}

function give({ ledger }: World, bytes: number, until: number): Promise<void> {
  return ledger.documents.transact(transaction => {
    const { id } = transaction.mustBeOwner('alice');
    createAllowance(transaction.changes, id, {
      bytes,
      until,
      why: 'a release',
      grantedBy: null,
      grantedAt: until - hour,
      request: null,
      automatic: false,
    });
  });
}

t.test(
  'an answer that is ready is given no more once an allowance has ended, though nothing is told',
  async t => {
    const { clock, world } = await open(t, 12 * GB);
    await give(world, 5 * GB, clock.wall() + hour);
    const question = `/v1/check?path=${app}`;
    const ends = new Date(clock.wall() + hour).toISOString();
    for (const time of ['first', 'again']) {
      const { status, text } = await world.ask(question);
      t.equal(status, 200, time);
      t.match(JSON.parse(text), {
        allowed: true,
        used: 12 * GB,
        limit: 15 * GB,
        allowance: { bytes: 5 * GB, count: 1, until: ends },
        message:
          'alice uses 12 GB of 15 GB (80 %). 5 GB of this limit are an allowance until 2026-11-21 10:00:00 UTC.',
        warning: /^Quota warning: alice uses 12 GB of 15 GB \(80 %\)\. 5 GB of this limit/,
      });
    }
    clock.pass(hour - 1);
    t.equal((await world.ask(question)).status, 200);
    clock.pass(1);
    const refused = await world.ask(question);
    t.equal(refused.status, 413);
    const answer: unknown = JSON.parse(refused.text);
    t.match(answer, {
      allowed: false,
      limit: 10 * GB,
      message: 'Quota exceeded: alice uses 12 GB of 10 GB (120 %).',
    });
    t.notMatch(answer, { allowance: {} });
  },
);

t.test('an owner without an allowance is decided for without a look at the clock', async t => {
  let looks = 0;
  class Counted extends SetClock {
    override wall(): number {
      looks += 1;
      return super.wall();
    }
  }
  const clock = new Counted();
  const { ledger, walk } = await openWorld(t, {}, {}, clock);
  walk(app, 'alice', GB);
  walk('/srv/git/bob/app.git', 'bob', GB);
  const before = looks;
  for (let at = 0; at < 100; at++) ledger.decide('bob', 'size:all');
  t.equal(looks, before, 'nobody has an allowance');
  await ledger.documents.transact(transaction => {
    createAllowance(transaction.changes, transaction.mustBeOwner('alice').id, {
      bytes: 1,
      until: clock.wallMs + hour,
      why: 'x',
      grantedBy: null,
      grantedAt: clock.wallMs,
      request: null,
      automatic: false,
    });
  });
  const given = looks;
  for (let at = 0; at < 100; at++) ledger.decide('bob', 'size:all');
  t.equal(looks, given, 'somebody else has one');
});

t.test('a refusal says which part of the limit is an allowance', async t => {
  const { clock, world } = await open(t, 16 * GB);
  await give(world, 5 * GB, clock.wall() + hour);
  world.told.contact = 'https://quota.example/mine';
  const { text } = await world.ask(`/v1/check?path=${app}`, asText);
  t.match(text, /^Quota exceeded: alice uses 16 GB of 15 GB \(106 %\)\. 5 GB of this limit are an allowance/);
  t.match(text.replaceAll('\n', ' '), /To ask for more space: https:\/\/quota\.example\/mine $/);
  const { text: usage } = await world.askTrusted('/v1/usage?owner=alice');
  t.match(JSON.parse(usage), { decisions: { 'size:all': { limit: 15 * GB, allowance: { bytes: 5 * GB } } } });
});

t.test('the list for hooks has an owner again when the allowance ends', async t => {
  const { clock, world } = await open(t, 12 * GB);
  const { refusals, lines } = publishedBy(t, world.ledger);
  refusals.start();
  const isListed = async () => (await lines()).some(line => line.startsWith(`path\t${app}\t`));
  t.equal(await isListed(), true);
  await give(world, 5 * GB, clock.wall() + hour);
  t.equal(await isListed(), false);
  const ended = new Promise<void>(resolve => {
    world.ledger.watch(() => resolve());
  });
  world.ledger.allowanceEnds.start();
  clock.pass(hour);
  world.ledger.allowanceEnds.reconsider();
  await ended;
  t.equal(await isListed(), true);
  await world.ledger.allowanceEnds.close();
});
