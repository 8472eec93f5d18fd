/** Graces where several hosts share the quota: one of them begins and ends them, all know them. */

import { readFile } from 'node:fs/promises';
import t from 'tap';
import type { Ledger } from '../../src/ledger/index.ts';
import { Events } from '../../src/overview/index.ts';
import { assign, createGroup, graceKind, poolGraceKind } from '../../src/policy/index.ts';
import { until as comes } from '../e2e/ask.ts';
import { settings, silentLog, walk } from '../ledger/world.ts';
import { longestTurn } from '../own-time.ts';
import { startSingle } from '../store/redis-servers.ts';
import { type Member, makeRule, member, prefix, sharedStore } from './world.ts';

const week = { ...settings, graceMs: 604_800_000, graceMost: { percent: 10 } } as const;

const begunOn = ({ documents }: Ledger) =>
  documents.snapshot.get(graceKind, String(documents.owners.named('alice')?.id));

const levelText = JSON.stringify({ 'size:repos:private': 80, 'size:git:lfs': 80 });

/** Each host has measured all that it has: before, nobody is taken to be below a limit. */
function swept({ ledger }: Member): void {
  ledger.walks.recordSweep({ startedAt: 1, finishedAt: 2, units: 1 }, [], () => true);
}

/** Has the hosts tell each other until it is so. */
async function until(hosts: readonly Member[], isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    for (const { ledger, fleet } of hosts) {
      await fleet.catchUp();
      await ledger.graces.settled();
    }
  }
}

t.test('a grace is the same on every host, also on one that comes later, and ends for all', async t => {
  const { address } = await startSingle(t);
  const one = await member(t, { address, host: 'one' });
  const two = await member(t, { address, host: 'two' });
  const hosts = [one, two];
  for (const { ledger, fleet } of hosts) {
    ledger.settings = week;
    ledger.graces.start({ pauseMs: 0, isTurn: () => fleet === one.fleet });
    fleet.start();
  }
  walk(one.ledger, 'alice/app', 6000);
  walk(two.ledger, 'alice/lib', 4500);
  for (const host of [one, two]) swept(host);
  await until(hosts, () => hosts.every(({ ledger }) => begunOn(ledger) !== undefined));
  const [begun] = begunOn(one.ledger) ?? [];
  t.match(begun, { rule: null, isReported: false });
  t.strictSame(begunOn(two.ledger), begunOn(one.ledger));
  const three = await member(t, { address, host: 'three' });
  three.ledger.settings = week;
  three.fleet.start();
  await until([three], () => begunOn(three.ledger) !== undefined);
  for (const { ledger } of [...hosts, three]) {
    const end = (begun?.since ?? 0) + week.graceMs;
    t.match(ledger.decide('alice', 'size:all').decision, {
      allowed: true,
      used: 10_500,
      grace: { until: end },
    });
  }
  walk(two.ledger, 'alice/lib', 3000);
  await until([...hosts, three], () =>
    [...hosts, three].every(({ ledger }) => begunOn(ledger) === undefined),
  );
});

t.test('members on several hosts have one grace together, and one event of it', async t => {
  const { address } = await startSingle(t);
  const one = await member(t, { address, host: 'one' });
  const two = await member(t, { address, host: 'two' });
  const hosts = [one, two];
  for (const { ledger, fleet } of hosts) {
    ledger.settings = { ...week, totalBytes: -1 };
    ledger.graces.start({ pauseMs: 0, isTurn: () => fleet === one.fleet });
    fleet.start();
  }
  await one.ledger.documents.transact(transaction => {
    const { changes } = transaction;
    const together = { name: 'together', limitBytes: 1000, subjects: ['size:all' as const] };
    createGroup(changes, { name: 'lab', rules: [{ ...together, per: 'group' }] });
    for (const name of ['alice', 'bob']) assign(changes, transaction.createOwner(name).id, 'lab');
  });
  const recorded = await Promise.all(
    hosts.map(async ({ ledger, fleet }) => {
      const turn = { isTelling: fleet === one.fleet };
      const common = { ledger, log: silentLog, now: Date.now, pauseMs: 0, keepMs: 1e9 };
      const events = await Events.open({ ...common, host: 'any', turn });
      t.teardown(() => events.close());
      events.start();
      return events;
    }),
  );
  walk(one.ledger, 'alice/app', 450);
  walk(two.ledger, 'bob/lib', 600);
  for (const host of hosts) swept(host);
  const begunIn = ({ documents }: Ledger) => documents.snapshot.get(poolGraceKind, 'lab');
  // The grace may come to a host before the bytes that began it.
  const used = ({ pools }: Ledger) => pools.of('lab', null).usage.reduce((sum, bytes) => sum + bytes, 0);
  await until(hosts, () =>
    hosts.every(({ ledger }) => begunIn(ledger) !== undefined && used(ledger) === 1050),
  );
  t.strictSame(begunIn(two.ledger), begunIn(one.ledger));
  const grace = { until: (begunIn(one.ledger)?.[0]?.since ?? 0) + week.graceMs, below: 1100 };
  for (const { ledger } of hosts) {
    for (const name of ['alice', 'bob']) {
      const { decision } = ledger.decide(name, 'size:all');
      t.match(decision, { allowed: true, near: [{ per: 'group', used: 1050, grace }] });
    }
  }
  for (const events of recorded) await events.kept();
  const page = await recorded[1]?.list({ kind: 'threshold', limit: 10 });
  t.match(page?.events, [{ owner: null, group: 'lab', to: 'limit', used: 1050 }]);
  walk(two.ledger, 'bob/lib', 100);
  await until(hosts, () => hosts.every(({ ledger }) => begunIn(ledger) === undefined));
});

t.test('the levels of very many owners keep no check waiting when a host goes on with them', async t => {
  const { address } = await startSingle(t);
  const one = await member(t, { address, host: 'one' });
  const store = await sharedStore(t, address);
  const levels = Array.from({ length: 60_000 }, (_, at) => ({ ownerId: at + 1, text: levelText }));
  for (let at = 0; at < levels.length; at += 5000) await store.write({ levels: levels.slice(at, at + 5000) });
  const common = { ledger: one.ledger, log: silentLog, now: Date.now, pauseMs: 0, keepMs: 1e9 };
  const longest = await longestTurn(50, async () => {
    const events = await Events.open({ ...common, host: 'any', turn: { isTelling: false } });
    await events.close();
  });
  t.ok(longest < 50, `${Math.round(longest)} ms at once`);
  t.equal((await store.levels()).length, levels.length);
});

t.test('a host that only measures leaves graces to those that may write them', async t => {
  const { address, servers } = await startSingle(t);
  const two = await member(t, { address, host: 'two', isLive: true });
  const acl = await readFile(new URL('../../share/redis/measuring.acl', import.meta.url), 'utf8');
  const rights = acl.trim().split(' ').slice(3).join(' ').replaceAll('softquota:', `${prefix}:`);
  await servers[0].cli('acl', 'setuser', 'measures', 'on', '>x', ...rights.split(' '));
  const measuring = address.replace('redis://', 'redis://measures:x@');
  const one = await member(t, { address: measuring, host: 'one', isLive: true });
  for (const { ledger, fleet } of [one, two]) {
    ledger.settings = week;
    fleet.start({ turned: () => ledger.graces.takeTurn() });
    await fleet.catchUp();
    ledger.graces.start({ pauseMs: 0, isTurn: () => fleet.isTelling });
  }
  t.equal(await one.fleet.takeLease('notices'), false);
  walk(one.ledger, 'alice/app', 10_500);
  for (const host of [one, two]) swept(host);
  await comes(() => (begunOn(two.ledger) === undefined ? null : true));
  await comes(() => (begunOn(one.ledger) === undefined ? null : true));
});

t.test('a host whose policy has diverged leaves the turn to others', async t => {
  const { address, servers } = await startSingle(t);
  const one = await member(t, { address, host: 'one' });
  await makeRule(one, 'known');
  await one.close();
  await servers[0].cli('flushall');
  const stranger = await member(t, { address, host: 'stranger', isLive: true });
  await makeRule(stranger, 'strange');
  const again = await member(t, { address, host: 'one', directory: one.directory, isLive: true });
  again.fleet.start();
  t.match(again.fleet.state.divergence, { why: 'another' });
  t.equal(await again.fleet.takeLease('notices'), false);
  stranger.fleet.start();
  await comes(() => stranger.fleet.isTelling || null);
  t.equal(again.fleet.isTelling, false);
});

t.test('while usage elsewhere may be unknown, nobody is taken to be below a limit', async t => {
  const { address } = await startSingle(t);
  const one = await member(t, { address, host: 'one' });
  const two = await member(t, { address, host: 'two' });
  for (const { ledger, fleet } of [one, two]) {
    ledger.settings = week;
    fleet.start();
  }
  walk(one.ledger, 'alice/app', 6000);
  walk(two.ledger, 'alice/lib', 4500);
  for (const host of [one, two]) swept(host);
  one.ledger.graces.start({ pauseMs: 0 });
  await until([one, two], () => begunOn(one.ledger) !== undefined);
  const begun = begunOn(one.ledger);
  const elsewhere = await sharedStore(t, address);
  one.ledger.shares.shareWith({ isStale: () => true, countApart: () => 2, elsewhere });
  walk(one.ledger, 'alice/app', 1000);
  await one.ledger.graces.settled();
  t.strictSame(begunOn(one.ledger), begun);
  one.ledger.shares.shareWith({ isStale: () => false, countApart: () => 2, elsewhere });
  one.ledger.graces.takeTurn();
  await until([one], () => begunOn(one.ledger) === undefined);
});
