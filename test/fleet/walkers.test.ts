/** The walker of what several hosts mount, as the hosts agree upon it. */

import t, { type Test } from 'tap';
import { ChangeHints } from '../../src/fleet/change-hints.ts';
import type { Mounted } from '../../src/fleet/index.ts';
import type { SharedStore } from '../../src/store/index.ts';
import { until } from '../e2e/ask.ts';
import { lfs, repos, walk } from '../ledger/world.ts';
import { startSingle } from '../store/redis-servers.ts';
import { sharesOf } from '../store/shared-place.ts';
import { type Member, type MemberOptions, member, sharedStore } from './world.ts';

t.setTimeout(120_000);

const mounted: Mounted = new Map([['nas', new Set([repos])]]);

const mounting = (t: Test, options: Pick<MemberOptions, 'address' | 'host' | 'directory' | 'through'>) =>
  member(t, { ...options, mounted });

const walksIt = ({ fleet }: Member) => fleet.walkers.isOwn('nas');

/** Resolves once the host has found that it walks it. */
async function takes(one: Member): Promise<void> {
  await until(async () => {
    await one.fleet.catchUp();
    return walksIt(one) || null;
  });
}

/** Ends it after all that it has to say is said. */
async function said(one: Member): Promise<void> {
  one.fleet.start();
  await one.close();
}

t.test('of hosts that start at once one walks it, and all of them know which', async t => {
  const { address } = await startSingle(t);
  const hosts = ['a', 'b', 'c', 'd'];
  const members = await Promise.all(hosts.map(host => mounting(t, { address, host })));
  const walking = members.filter(walksIt);
  t.equal(walking.length, 1);
  const [walker = ''] = hosts.filter((_, at) => members[at] === walking[0]);
  for (const one of members) {
    t.strictSame(one.fleet.walkers.elsewhere, one === walking[0] ? [] : [{ name: 'nas', walker }]);
    t.strictSame([...(await one.fleet.walkers.byHost())], [[walker, ['nas']]]);
  }
});

t.test('who was forgotten and comes back drops what another walks, before anything is told', async t => {
  const { address } = await startSingle(t);
  const store = await sharedStore(t, address);
  const a = await mounting(t, { address, host: 'a' });
  const b = await mounting(t, { address, host: 'b' });
  walk(a.ledger, 'alice/shared', 100);
  walk(a.ledger, 'alice/own', 7, { leaf: lfs });
  await said(a);
  await b.fleet.catchUp();
  t.equal(walksIt(b), false, 'as long as it is not forgotten');
  await store.forgetHost('a');
  await takes(b);
  walk(b.ledger, 'alice/shared', 100);

  const back = await mounting(t, { address, host: 'a', directory: a.directory });
  t.equal(walksIt(back), false);
  t.match(back.ledger.units.unitsOf('alice'), [{ leaf: lfs, bytes: 7 }], 'what is its own stays');
  await said(b);
  await said(back);
  const told = await sharesOf(store, 'a', 'b');
  t.strictSame(told.map(({ host, bytes }) => [host, bytes]).sort(), [
    ['a', { [lfs]: 7 }],
    ['b', { [repos]: 100 }],
  ]);
});

t.test('who runs on while another took it drops it, and a walk under way brings nothing back', async t => {
  const { address } = await startSingle(t);
  const store = await sharedStore(t, address);
  const a = await mounting(t, { address, host: 'a' });
  await mounting(t, { address, host: 'b' });
  const seq = a.ledger.walks.nextSeq();
  walk(a.ledger, 'alice/shared', 100);
  let changes = 0;
  a.fleet.walkers.start({ changed: () => changes++, heard: () => {} });
  await store.leaveWalk('nas', 'a');
  t.equal(await store.takeWalk('nas', 'b'), 'b');
  await a.fleet.catchUp();
  t.equal(walksIt(a), false);
  t.equal(changes, 1);
  t.strictSame(a.ledger.units.unitsOf('alice'), []);
  walk(a.ledger, 'alice/shared', 100, { seq });
  t.strictSame(a.ledger.units.unitsOf('alice'), []);
});

t.test('nothing is told before it is known who walks', async t => {
  const { address } = await startSingle(t);
  const store = await sharedStore(t, address);
  const told: string[] = [];
  const through = (store: SharedStore): SharedStore => ({
    ...store,
    tellUsage: (host, usage) => {
      told.push(...usage.usage.keys());
      return store.tellUsage(host, usage);
    },
  });
  const a = await mounting(t, { address, host: 'a', through });
  await mounting(t, { address, host: 'b' });
  walk(a.ledger, 'alice/shared', 100);
  await store.leaveWalk('nas', 'a');
  await store.takeWalk('nas', 'b');
  a.fleet.start();
  await a.fleet.swept();
  t.strictSame(told, []);
  t.equal(walksIt(a), false);
});

t.test('in a store that was emptied nobody takes what a host that has ended walked', async t => {
  const { address, servers } = await startSingle(t);
  const a = await mounting(t, { address, host: 'a' });
  walk(a.ledger, 'alice/shared', 100);
  const b = await mounting(t, { address, host: 'b' });
  await said(a);
  await b.fleet.catchUp();
  await b.close();
  await servers[0].cli('flushall');
  const back = await mounting(t, { address, host: 'b', directory: b.directory });
  t.equal(walksIt(back), false);
  t.strictSame(back.fleet.walkers.elsewhere, [{ name: 'nas', walker: null }]);
  t.equal(back.fleet.state.divergence, null, 'the policy is put back');
  t.equal(walksIt(back), false, 'what it said counts still');
  await back.fleet.forgetHost('a');
  await takes(back);
});

t.test('while the store is away, whoever has units of it goes on', async t => {
  const { address, servers } = await startSingle(t);
  const a = await mounting(t, { address, host: 'a' });
  walk(a.ledger, 'alice/shared', 100);
  const b = await mounting(t, { address, host: 'b' });
  walk(b.ledger, 'alice/own', 7, { leaf: lfs });
  await said(a);
  await b.close();
  await servers[0].end();
  const again = (host: string, { directory }: Member) => mounting(t, { address, host, directory });
  t.equal(walksIt(await again('a', a)), true);
  t.equal(walksIt(await again('b', b)), false);
});

t.test('what is no longer configured is left to others, and what now is has to be asked for', async t => {
  const { address } = await startSingle(t);
  const a = await mounting(t, { address, host: 'a' });
  const b = await mounting(t, { address, host: 'b' });
  a.fleet.walkers.configure(new Map());
  await a.fleet.swept();
  t.equal((await b.fleet.walkers.byHost()).size, 0);
  await takes(b);
  walk(a.ledger, 'alice/shared', 100);
  a.fleet.walkers.configure(mounted);
  t.equal(walksIt(a), true, 'what counted for itself goes on until it is known');
  await a.fleet.catchUp();
  t.equal(walksIt(a), false);
  t.strictSame(a.ledger.units.unitsOf('alice'), []);
});

t.test('of what is said only paths below a directory are heard, by the host that they are for', async t => {
  let tell: (text: string) => void = () => {};
  const heard: string[] = [];
  const changeHints = new ChangeHints({
    store: {
      say: async () => {},
      listen: hear => {
        tell = hear;
        return () => {};
      },
    },
    isFor: name => name === 'nas',
    heard: (name, path) => heard.push(`${name}: ${path}`),
  });
  changeHints.start();
  const say = (differing: object) =>
    tell(JSON.stringify({ is: 'changed', name: 'nas', path: 'a', ...differing }));
  const paths = ['alice/app.git', 'a..b/...', 'odd\udc80\n'];
  for (const path of paths) say({ path });
  for (const path of ['/etc', 'a/../b', '..', '.', 'a/./b', 'a//b', 'a/', '', 'a\0b', 7]) say({ path });
  say({ path: 'x'.repeat(40_000) });
  say({ name: 'other' });
  say({ is: 'another' });
  say({ more: 1 });
  for (const text of ['', 'null', '{', '[]', '"nas"']) tell(text);
  t.strictSame(
    heard,
    paths.map(path => `nas: ${path}`),
  );
});

t.test('the same path is said once while others are on their way, and no more than can be', async t => {
  const saying: string[] = [];
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const changeHints = new ChangeHints({
    store: {
      say: async text => {
        saying.push(JSON.parse(text).path);
        await gate;
        if (saying.length === 1001) end();
        throw new Error('nobody hears it');
      },
      listen: () => () => {},
    },
    isFor: () => true,
    heard: () => {},
  });
  changeHints.passOn('nas', 'first');
  for (let round = 0; round < 3; round++) {
    for (let at = 0; at < 2000; at++) changeHints.passOn('nas', `${at}`);
  }
  t.strictSame(saying, ['first']);
  open();
  await ended;
  t.equal(new Set(saying).size, 1001);
});
