/** Graces, report mode and allowances at the gate: in answers and on record. */

import t, { type Test } from 'tap';
import { createAllowance } from '../../src/policy/index.ts';
import type { Rule } from '../../src/quota/index.ts';
import { SetClock } from '../ledger/world.ts';
import { grouped } from '../quota/grouped.ts';
import { asText, openWorld, type World } from './world.ts';

const GB = 1_000_000_000;
const day = 86_400_000;
const app = '/srv/git/alice/app.git';
const question = `/v1/check?path=${app}`;

async function open(t: Test, usedBytes: number, graceMs: number | null = 7 * day) {
  const clock = new SetClock();
  const world = await openWorld(t, { graceMs, graceMost: { percent: 10 } }, {}, clock);
  world.walk(app, 'alice', usedBytes);
  world.ledger.walks.recordSweep({ startedAt: 1, finishedAt: 2, units: 1 }, [], () => true);
  world.ledger.graces.start({ pauseMs: 0 });
  await world.ledger.graces.settled();
  return { clock, world };
}

/** alice is in a group with these rules. */
async function rule({ ledger }: World, rules: readonly Rule[]) {
  await grouped(ledger, ['alice'], rules, 'free');
  await ledger.graces.settled();
}

t.test('a rule in report mode refuses nothing: it is shown, counted and on record', async t => {
  const { world } = await open(t, 5 * GB, null);
  await rule(world, [
    { name: 'total', limitBytes: 10 * GB, subjects: ['size:all'] },
    { name: 'tried', limitBytes: 4 * GB, subjects: ['size:git:all'], mode: 'report' },
  ]);
  world.told.refused.length = 0;
  for (const times of [1, 2]) {
    const { status, text } = await world.ask(`${question}&actor=bob`);
    t.equal(status, 200);
    t.match(JSON.parse(text), {
      allowed: true,
      would_refuse: true,
      rule: 'total',
      mode: 'enforce',
      message: 'alice uses 5 GB of 10 GB (50 %).',
      warning: null,
      reported: {
        rule: 'tried',
        group: 'free',
        used: 5 * GB,
        limit: 4 * GB,
        message: "Quota exceeded: alice's repositories and LFS objects use 5 GB of 4 GB (125 %).",
      },
    });
    t.equal(world.told.refused.length, times, 'each time');
  }
  t.match(world.told.refused[0], {
    owner: 'alice',
    actor: 'bob',
    mode: 'report',
    decision: { allowed: false, rule: 'tried', limit: 4 * GB },
  });
  t.equal((await world.ask(question, asText)).text, '', 'nobody who pushes is spoken to');
});

t.test('answers and refusals say which part of the limit is an allowance, until it ends', async t => {
  const { clock, world } = await open(t, 12 * GB, null);
  const until = clock.wall() + day;
  await world.ledger.documents.transact(transaction => {
    const { id } = transaction.mustBeOwner('alice');
    const given = { why: 'a release', grantedBy: null, request: null, automatic: false };
    createAllowance(transaction.changes, id, { bytes: 5 * GB, until, grantedAt: until - day, ...given });
  });
  const words = 'alice uses 12 GB of 15 GB (80 %). 5 GB of this limit are an allowance until';
  const { status, text } = await world.ask(question);
  t.equal(status, 200);
  t.match(JSON.parse(text), {
    limit: 15 * GB,
    allowance: { bytes: 5 * GB, count: 1, until: new Date(until).toISOString() },
    message: `${words} 2026-11-22 09:00:00 UTC.`,
  });
  const { text: usage } = await world.askTrusted('/v1/usage?owner=alice');
  t.match(JSON.parse(usage), { decisions: { 'size:all': { allowance: { bytes: 5 * GB } } } });
  world.walk(app, 'alice', 16 * GB);
  const refused = await world.ask(question, asText);
  t.match(refused.text, /\(106 %\)\. 5 GB of this limit are an allowance/);
  world.walk(app, 'alice', 12 * GB);
  clock.pass(day);
  const over = await world.ask(question);
  t.equal(over.status, 413, 'though nothing was told');
  t.notMatch(JSON.parse(over.text), { allowance: {} });
});

t.test('whoever passes a limit that only warns is told, and let through', async t => {
  const { world } = await open(t, 2 * GB, null);
  await rule(world, [
    { name: 'total', limitBytes: 10 * GB, subjects: ['size:all'] },
    { name: 'soft', limitBytes: GB, subjects: ['size:all'], mode: 'warn' },
  ]);
  const words = 'Quota warning: alice uses 2 GB of 1 GB (200 %); this limit refuses nothing.';
  t.match(await world.ask(question, asText), { status: 200, text: `${words}\n` });
  t.match(JSON.parse((await world.ask(question)).text), {
    allowed: true,
    limit: 10 * GB,
    warned: { used: 2 * GB, limit: GB, group: 'free', rule: 'soft' },
    warning: words,
  });
  t.same(world.told.refused, []);
});
