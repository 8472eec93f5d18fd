/**
 * A write that reaches Redis late, from a connection that broke or a daemon that ended, undoes nothing of
 * what was said since.
 */

import { Redis } from 'ioredis';
import t, { type Test } from 'tap';
import { event, share } from './records.ts';
import { isBack, placeIn } from './redis-places.ts';
import { comes, startSingle } from './redis-servers.ts';
import { commit, opened, position, rule, sharesOf, tell } from './shared-place.ts';

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

/** MONITOR writes a line break as \n, and so on. */
function unescaped(word: string): string {
  return word.replace(/\\(?:x([0-9a-f]{2})|(.))/g, (_, byte: string | undefined, character: string) =>
    byte === undefined ? (escapes[character] ?? character) : String.fromCharCode(Number.parseInt(byte, 16)),
  );
}

/** A store as a daemon has it, and what does something and gives what brings its commands late. */
async function world(t: Test) {
  const { address, servers } = await startSingle(t);
  const place = placeIn(address);
  const store = await opened(t, place, { writer: 'one' });
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
    // The connection breaks, and the store goes on over another one.
    const list = await servers[0].cli('client', 'list');
    for (const [, id = ''] of list.matchAll(/^id=(\d+)(?=.* name=softquota )/gm)) {
      await servers[0].cli('client', 'kill', 'id', id);
    }
    await isBack(store);
    return async () => {
      for (const [name = '', ...words] of commands) await servers[0].cli(name, ...words);
    };
  };
  return { place, store, overheard };
}

const sized = (bytes: number) => share('a', 'one', { bytes: { 'size:git:lfs': bytes } });

t.test('an older usage does not take the place of a newer one', async t => {
  const { store, overheard } = await world(t);
  const late = await overheard(() => tell(store, 'one', [sized(1)]));
  await tell(store, 'one', [sized(2)]);
  await late();
  t.strictSame(await sharesOf(store, 'one'), [sized(2)]);
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

t.test('a session that has ended does not come back', async t => {
  const { store, overheard } = await world(t);
  const session = { kind: 'session', key: 'a', text: '{}' };
  const late = await overheard(() => store.writeVolatile({ documents: [session] }));
  await store.writeVolatile({ goneDocuments: [session] });
  await late();
  t.strictSame(await store.volatile(), []);
});

t.test('a change of policy is made once, and one that came too late never', async t => {
  const { store, overheard } = await world(t);
  const begun = await overheard(() =>
    store.replace({ owners: [], documents: [rule('first')] }, null, [position(1)], []),
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
