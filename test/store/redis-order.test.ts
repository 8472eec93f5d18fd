/**
 * A write that reaches Redis late, from a connection that broke or a daemon that ended, undoes nothing of
 * what was said since.
 */

import { Redis } from 'ioredis';
import t, { type Test } from 'tap';
import type { SharedStore } from '../../src/store/index.ts';
import { commit } from './commit.ts';
import { event, owner, share } from './records.ts';
import { placeIn } from './redis-places.ts';
import { comes, startSingle } from './redis-servers.ts';
import { opened, position, rule, type SharedPlace } from './shared-place.ts';

t.setTimeout(120_000);

interface World {
  readonly place: SharedPlace;
  /** Store as a daemon has it. */
  readonly store: SharedStore;
  readonly admin: Redis;
  /** Does it, and gives what brings the same commands over another connection later. */
  overheard(act: () => Promise<unknown>): Promise<() => Promise<void>>;
}

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

/** MONITOR writes a line break as \n, and so on. */
function unescaped(word: string): string {
  return word.replace(/\\(?:x([0-9a-f]{2})|(.))/g, (_, byte: string | undefined, character: string) =>
    byte === undefined ? (escapes[character] ?? character) : String.fromCharCode(Number.parseInt(byte, 16)),
  );
}

async function world(t: Test): Promise<World> {
  const { address } = await startSingle(t);
  const place = placeIn(address);
  const admin = new Redis(address);
  // Its first commands may not be heard: ioredis takes a line that comes too early for an answer.
  await admin.ping();
  const monitor = await admin.monitor();
  t.teardown(() => {
    admin.disconnect();
    monitor.disconnect();
  });
  const heard: string[][] = [];
  monitor.on('monitor', (_, command: string[], source: string) => {
    if (source !== 'lua') heard.push(command.map(unescaped));
  });
  const overheard = async (act: () => Promise<unknown>) => {
    const begun = heard.length;
    await act();
    const last = `last-${begun}`;
    await admin.echo(last);
    await comes('the commands', async () => heard.some(([, word]) => word === last));
    const commands = heard.slice(begun).filter(([name = '']) => /^eval/i.test(name));
    if (commands.length === 0) throw new Error('nothing was heard');
    return async () => {
      for (const [name = '', ...words] of commands) await admin.call(name, ...words);
    };
  };
  return { place, admin, overheard, store: await opened(t, place, { writer: 'one' }) };
}

const sized = (bytes: number) => share('a', 'one', { bytes: { 'size:git:lfs': bytes } });

t.test('an older share does not take the place of a newer one', async t => {
  const { store, overheard } = await world(t);
  const late = await overheard(() => store.write({ shares: [sized(2290)] }));
  await store.write({ shares: [sized(2300)] });
  await late();
  t.strictSame(await store.sharesOf(['a']), [sized(2300)]);
  await store.write({ shares: [sized(2310)] });
  t.strictSame(await store.sharesOf(['a']), [sized(2310)], 'and it goes on');
});

t.test('a share that went does not come back, nor does one go that came back', async t => {
  const { store, overheard } = await world(t);
  const there = await overheard(() => store.write({ shares: [sized(1), share('a', 'two')] }));
  const gone = await overheard(() =>
    store.write({ goneShares: ['one', 'two'].map(host => ({ ownerKey: 'a', host })) }),
  );
  await there();
  t.strictSame(await store.sharesOf(['a']), []);
  await store.write({ shares: [sized(2)] });
  await gone();
  t.strictSame(await store.sharesOf(['a']), [sized(2)]);
});

t.test('a host that was forgotten does not come back by what it said before', async t => {
  const { store, overheard } = await world(t);
  const late = await overheard(() => store.write({ shares: [sized(1)] }));
  await store.forgetHost('one');
  await late();
  t.strictSame((await store.load()).shares, []);
});

t.test('an owner who was deleted is not put on record by what was sent before', async t => {
  const { store, overheard } = await world(t);
  await store.replace({ owners: [], documents: [] }, null, position(1), []);
  const late = await overheard(() => store.enroll([owner('a')]));
  await commit(store, { goneOwners: ['a'] }, position(1), position(2));
  await late();
  t.strictSame((await store.policy()).policy.owners, []);
  await store.enroll([owner('a')]);
  t.strictSame((await store.policy()).policy.owners, [owner('a')], 'but by what is sent then');
});

t.test('an older count of an event, or an older level, does not take the place of a newer one', async t => {
  const { store, place, overheard } = await world(t);
  const said = (text: string) => ({ events: [event('e', 1, { text })], levels: [{ ownerId: 1, text }] });
  const late = await overheard(() => store.write(said('once')));
  await store.write(said('twice'));
  await late();
  t.strictSame(await store.events({ limit: 9 }), said('twice').events);
  t.strictSame(await store.levels(), said('twice').levels);
  const other = await opened(t, place, { writer: 'two' });
  await other.write({ events: [event('f', 2)] });
  await store.write(said('thrice'));
  t.strictSame(await store.levels(), said('thrice').levels, 'another writer is in nobody’s way');
});

t.test('a change of policy is made once, and one that came too late never', async t => {
  const { store, overheard } = await world(t);
  const begun = await overheard(() =>
    store.replace({ owners: [], documents: [rule('first')] }, null, position(1), []),
  );
  const changed = await overheard(() =>
    commit(store, { documents: [rule('second')], events: [event('e', 1)] }, position(1), position(2)),
  );
  await commit(store, { goneDocuments: [{ kind: 'rule', key: 'second' }] }, position(2), position(3));
  await begun();
  await changed();
  t.strictSame((await store.state()).position, position(3));
  t.strictSame((await store.policy()).policy.documents, [rule('first')]);
});

t.test('a daemon that was started anew keeps its name when the one before is heard of late', async t => {
  const { store, overheard } = await world(t);
  const claim = (life: string) =>
    store.claim({ host: 'one', token: 'its', life, version: '1', isHeld: true });
  const late = await overheard(() => claim('first'));
  const release = (life: string) => store.release({ host: 'one', token: 'its', life, version: '1' });
  await release('first');
  t.equal(await claim('second'), 'kept');
  await late();
  t.equal(await claim('second'), 'kept');
  await release('second');
  t.equal(await claim('third'), 'kept');
  await late();
  t.equal(await claim('third'), 'kept', 'also the one before that');
});

t.test('where numbers fell back, as with an older clock, what is said counts all the same', async t => {
  const { store, place, admin } = await world(t);
  const order = `{${place.prefix}}:order`;
  await admin.hset(order, 'last', '8000000000000000');
  const say = async (bytes: number) => {
    await store.write({ shares: [sized(bytes)], events: [event('e', bytes)] });
    await store.enroll([owner('a')]);
  };
  await say(1);
  await admin.hset(order, 'last', '1', 'departed', '8000000000000000');
  await say(2);
  t.strictSame(await store.sharesOf(['a']), [sized(2)]);
  t.strictSame(await store.events({ limit: 9 }), [event('e', 2)]);
});
