/**
 * Answers that are ready are those that would be given now, whatever has changed since they were put into
 * words.
 */

import t, { type Test } from 'tap';
import { mostRecent } from '../../src/gate/prepared-answers.ts';
import { assign, createGroup, editRule, unassign } from '../../src/policy/index.ts';
import type { ShareRecord } from '../../src/store/index.ts';
import { SetClock } from '../ledger/world.ts';
import { clientForms } from './lane-questions.ts';
import { compare, type Lanes, openLanes, sameDeeds, whole } from './lanes.ts';
import { openWorld, type World } from './world.ts';

t.setTimeout(240_000);

/** Requests that come in one piece. */
const atOnce = 100;

const GB = 1_000_000_000;
const app = '/srv/git/alice/app.git';
const queries = [
  'owner=alice&subject=size:repos:private',
  'owner=alice&subject=size:git:lfs&size=3000000000',
  `path=${app}&actor=bob`,
  `path=${app}/objects&subject=size:all`,
  'owner=newcomer&subject=size:all',
  'owner=nobody-yet&subject=size:all',
];

async function settle({ ledger, walk }: World): Promise<void> {
  walk(app, 'alice', 5 * GB);
  ledger.walks.recordSweep({ startedAt: 1, finishedAt: 2, units: 1 }, [], () => true);
}

/** Asks everything in words and in JSON, and has both lanes say the same. */
async function askAll(t: Test, lanes: Lanes): Promise<string> {
  const [inWords, inJson] = clientForms;
  const received: string[] = [];
  for (const query of queries) {
    received.push(await compare(t, lanes, whole(inJson(query))));
    // Another query, since a query's answer is ready in one form only.
    received.push(await compare(t, lanes, whole(inWords(`${query}&in=words`))));
  }
  return received.join('\n');
}

const share: ShareRecord = {
  ownerKey: 'alice',
  host: 'there',
  bytes: { 'size:git:lfs': GB },
  units: 1,
  largest: [],
  partial: true,
  measuredAt: 1000,
};

const group = (limitBytes: number) => ({
  name: 'paid',
  rules: [{ name: 'total', limitBytes, subjects: ['size:all' as const] }],
});

/** What can change an answer, one after the other. */
const steps: Readonly<Record<string, (world: World) => unknown>> = {
  'a unit grew': ({ walk }) => walk(app, 'alice', 6 * GB),
  'a unit was walked again and is the same': ({ walk }) => walk(app, 'alice', 6 * GB, { measuredAt: 5000 }),
  'a unit could not be read whole': ({ walk }) => walk(app, 'alice', 6 * GB, { partial: true }),
  'a unit was read whole': ({ walk }) => walk(app, 'alice', 6 * GB),
  'a delta was reported': ({ ledger }) => ledger.reports.addDelta('alice', 'size:git:lfs', GB),
  'a unit was reported': ({ ledger }) => ledger.reports.reportUnit('alice', 'size:assets:wiki', 'w', GB),
  'a threshold is higher': ({ ledger }) => {
    ledger.settings = { ...ledger.settings, warnAt: [95] };
  },
  'the size counts': ({ ledger }) => {
    ledger.settings = { ...ledger.settings, precise: true };
  },
  'another host stores something': ({ ledger }) => ledger.shares.takeShares('alice', [share], () => false),
  'other hosts are silent': ({ ledger }) => ledger.shares.shareWith({ isStale: () => true }),
  'other hosts are heard': ({ ledger }) => ledger.shares.shareWith({ isStale: () => false }),
  'a group came': ({ ledger }) =>
    ledger.documents.transact(transaction => {
      createGroup(transaction.changes, group(20 * GB));
      assign(transaction.changes, transaction.mustBeOwner('alice').id, 'paid');
    }),
  'its rule is another': ({ ledger }) =>
    ledger.documents.transact(({ changes }) => editRule(changes, 'total', { limitBytes: GB })),
  'the group went': ({ ledger }) =>
    ledger.documents.transact(transaction =>
      unassign(transaction.changes, transaction.mustBeOwner('alice').id, 'paid'),
    ),
  'refusals are only reported': ({ ledger }) => {
    ledger.settings = { ...ledger.settings, mode: 'report', totalBytes: 1 };
  },
  'quotas are off': ({ ledger }) => {
    ledger.settings = { ...ledger.settings, enabled: false };
  },
  'quotas are on': ({ ledger }) => {
    ledger.settings = { ...ledger.settings, enabled: true, mode: 'enforce', totalBytes: 10 * GB };
  },
  'a newcomer stores something': ({ walk }) => walk('/srv/git/new/app.git', 'Newcomer', 1),
  'a unit has another owner': ({ walk }) => walk(app, 'bob', 7 * GB),
  'a unit is of another kind': ({ walk }) => walk(app, 'bob', 7 * GB, { leaf: 'size:assets:wiki' }),
  'a unit lies in another': ({ walk }) => walk(`${app}/objects`, 'carol', 1),
  'the disk is full': ({ told }) => {
    told.fullDisk = { of: 'bytes', free: 1, size: 100, least: 5 };
  },
  'the disk has space again': ({ told }) => {
    told.fullDisk = null;
  },
  'an owner has another name': ({ ledger }) =>
    ledger.documents.transact(transaction => transaction.renameOwner('alice', 'ALICE', () => false)),
  'a sweep ended': ({ ledger }) =>
    ledger.walks.recordSweep({ startedAt: 3, finishedAt: 9000, units: 1 }, [], () => true),
};

t.test('after each change the next answer is the new one', async t => {
  const lanes = await openLanes(t, settle);
  let before = await askAll(t, lanes);
  for (const [what, step] of Object.entries(steps)) {
    for (const world of [lanes.fast, lanes.reference]) await step(world);
    const now = await askAll(t, lanes);
    t.not(now, before, what);
    before = now;
  }
  sameDeeds(t, lanes);
});

t.test('what was allowed is decided once, what was refused each time', async t => {
  const lanes = await openLanes(t, settle);
  const { ledger, told } = lanes.fast;
  const decide = ledger.decide.bind(ledger);
  let decided = 0;
  ledger.decide = (...question) => {
    decided += 1;
    return decide(...question);
  };
  const question = clientForms[0](`path=${app}`);
  for (let n = 0; n < 3; n++) t.match(await compare(t, lanes, whole(question)), /^HTTP\/1\.1 200 /);
  t.equal(decided, 1);
  t.strictSame(told.letThrough, [app, app, app], 'each is told');
  for (const world of [lanes.fast, lanes.reference]) world.walk(app, 'alice', 11 * GB);
  for (let n = 0; n < 3; n++) t.match(await compare(t, lanes, whole(question)), /^HTTP\/1\.1 413 /);
  t.equal(decided, 4);
  t.equal(told.refused.length, 3);
  for (const world of [lanes.fast, lanes.reference]) world.walk(app, 'alice', 1);
  // More than are kept: the first ones are forgotten, and decided again.
  const many = Array.from({ length: 2 * mostRecent }, (_, n) => clientForms[0](`path=${app}&actor=a${n}`));
  for (let at = 0; at < many.length; at += atOnce) {
    await compare(t, lanes, whole(many.slice(at, at + atOnce).join('')));
  }
  t.equal(decided, 4 + many.length);
  await compare(t, lanes, whole(many.at(-1) ?? ''));
  t.equal(decided, 4 + many.length);
  await compare(t, lanes, whole(many[0] ?? ''));
  t.equal(decided, 5 + many.length);
  sameDeeds(t, lanes);
});

t.test('what ends or grows old by itself is in the next answer', async t => {
  const clock = new SetClock();
  const { ask, askTrusted, walk } = await openWorld(t, {}, {}, clock);
  // A connection that has sent anything else stays with `node:http`.
  const alone = { headers: { connection: 'close' } };
  const check = async () => JSON.parse((await ask('/v1/check?owner=alice&subject=size:all', alone)).text);
  const line = { subject: 'size:assets:packages:all', owner: 'alice', unit: 'app', bytes: GB };
  const body = `${JSON.stringify(line)}\n`;
  await askTrusted('/v1/sources/registry?stale_after=60', { method: 'PUT', body });
  t.match(await check(), { used: GB, stale: false });
  t.match(await check(), { used: GB, stale: false });
  clock.pass(61_000);
  t.match(await check(), { used: GB, stale: true }, 'the source is silent');

  await askTrusted('/v1/sources/registry', { method: 'DELETE' });
  t.match(await check(), { used: 0, stale: false });
  walk(app, 'alice', GB);
  t.match(await check(), { used: GB });
  const asked = '/v1/reservations?owner=alice&subject=size:all&size=5000&seconds=60';
  t.equal((await ask(asked, { method: 'POST' })).status, 201);
  t.match(await check(), { used: GB + 5000, reserved: 5000 });
  t.match(await check(), { used: GB + 5000, reserved: 5000 });
  clock.pass(61_000);
  t.match(await check(), { used: GB }, 'the reservation lapsed');
});
