/** Time that events are kept for, and finding them again. */

import { mock } from 'node:test';
import t, { type Test } from 'tap';
import { createRule, deleteRule } from '../../src/policy/index.ts';
import type { EventRecord } from '../../src/store/index.ts';
import { walk } from '../ledger/world.ts';
import { dayMs, hourMs, World, type WorldOptions } from './world.ts';

const nothing = { totalBytes: 0 } as const;

async function kinds(world: World): Promise<readonly string[]> {
  await world.events.kept();
  return (await world.events.list({ limit: 1000 })).events.map(({ kind }) => kind);
}

/** A refusal, a threshold and a change of policy. */
async function oneOfEach(world: World): Promise<void> {
  walk(world.ledger, 'alice/app', 10_001);
  world.refuse('alice');
  await world.events.kept();
  await world.ledger.documents.transact(({ changes }) =>
    createRule(changes, { name: 'r', limitBytes: 1, subjects: [] }),
  );
}

/** Opens a world; `clean` has the hourly cleaning done. */
async function openCleaned(t: Test, options: WorldOptions) {
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  return { world: await World.open(t, options), clean: () => mock.timers.tick(hourMs) };
}

t.test('events of all kinds go in the hour after a start once they are older than KEEP', async t => {
  const { world, clean } = await openCleaned(t, { keepMs: 10 * dayMs });
  await oneOfEach(world);
  world.clock.pass(9 * dayMs);
  await world.restart();
  world.clock.pass(dayMs);
  clean();
  t.equal((await kinds(world)).length, 3);
  world.clock.pass(1);
  await world.restart();
  t.equal((await kinds(world)).length, 3, 'not at once, for the clock may be wrong at the start');
  world.clock.pass(hourMs);
  clean();
  t.strictSame(await kinds(world), []);
});

t.test('a daemon that goes on running lets them go every hour', async t => {
  const { world, clean } = await openCleaned(t, { keepMs: 10 * dayMs });
  await oneOfEach(world);
  world.clock.pass(10 * dayMs + 1);
  await world.ledger.documents.transact(({ changes }) => deleteRule(changes, 'r'));
  t.equal((await kinds(world)).length, 4);
  clean();
  t.strictSame(await kinds(world), ['policy'], 'the younger one stays');
});

t.test('a clock that is ahead for less than an hour deletes no event', async t => {
  const { world, clean } = await openCleaned(t, { keepMs: 10 * dayMs });
  await oneOfEach(world);
  world.clock.pass(dayMs);
  world.clock.wallMs += 365 * dayMs;
  clean();
  t.equal((await kinds(world)).length, 3);
  world.clock.pass(hourMs - 120_000);
  world.events.reconfigure({ keepMs: 9 * dayMs });
  clean();
  t.equal((await kinds(world)).length, 3);
  world.clock.wallMs -= 365 * dayMs;
  clean();
  world.clock.pass(hourMs);
  clean();
  t.equal((await kinds(world)).length, 3);
});

t.test('another KEEP holds within an hour of the reload', async t => {
  const { world, clean } = await openCleaned(t, {});
  await oneOfEach(world);
  world.clock.pass(dayMs);
  world.events.reconfigure({ keepMs: 2 * dayMs });
  clean();
  t.equal((await kinds(world)).length, 3);
  world.events.reconfigure({ keepMs: hourMs });
  t.equal((await kinds(world)).length, 3, 'not at once, for the clock may be wrong just now');
  clean();
  t.strictSame(await kinds(world), []);
});

t.test('refusals of an hour that goes on are not forgotten, however short the time', async t => {
  const { world, clean } = await openCleaned(t, { settings: nothing, keepMs: 1000 });
  world.clock.pass(hourMs);
  world.refuse('alice');
  await world.events.kept();
  world.clock.pass(2000);
  clean();
  t.strictSame(await kinds(world), []);
  world.refuse('alice');
  t.match(await world.told('refusal'), [{ count: 2, at: '2026-11-21T10:00:00.000Z' }]);
});

t.test('the newest come first, and pages of any size tell each once', async t => {
  const world = await World.open(t, { settings: nothing });
  await world.ledger.documents.transact(transaction => transaction.createOwner('alice'));
  for (let turn = 0; turn < 23; turn++) {
    // Several of the same time.
    if (turn % 4 === 0) world.clock.pass(1000);
    world.refuse(turn % 2 === 0 ? 'alice' : 'bob', { actor: `actor${turn}` });
    await world.ledger.documents.transact(({ changes }) =>
      createRule(changes, { name: `rule${turn}`, limitBytes: 1, subjects: [] }),
    );
  }
  await world.events.kept();
  for (const filter of [
    {},
    { kind: 'refusal' },
    { owner: 'Alice' },
    { kind: 'refusal', owner: 'bob' },
  ] as const) {
    const { events: all, next } = await world.events.list({ ...filter, limit: 1000 });
    t.equal(next, null);
    t.strictSame(
      all.map(({ at }) => at),
      all
        .map(({ at }) => at)
        .sort()
        .reverse(),
    );
    for (const limit of [1, 3, all.length]) {
      const paged: unknown[] = [];
      let after: string | undefined;
      do {
        const page = await world.events.list({ ...filter, limit, ...(after === undefined ? {} : { after }) });
        t.ok(page.events.length > 0 && page.events.length <= limit);
        paged.push(...page.events);
        after = page.next ?? undefined;
      } while (after !== undefined);
      t.strictSame(paged, all);
    }
  }
});

t.test('what happens while pages are read moves nothing', async t => {
  const world = await World.open(t, { settings: nothing });
  for (const actor of ['a', 'b', 'c', 'd']) {
    world.refuse('alice', { actor });
    world.clock.pass(1000);
  }
  await world.events.kept();
  const first = await world.events.list({ limit: 2 });
  world.refuse('alice', { actor: 'e' });
  await world.events.kept();
  const second = await world.events.list({ limit: 2, after: first.next ?? '' });
  t.match(
    [...first.events, ...second.events],
    ['d', 'c', 'b', 'a'].map(actor => ({ actor })),
  );
  t.equal(second.next, null);
});

t.test('a place that no page gave is refused', async t => {
  const world = await World.open(t);
  for (const after of ['', 'x', '1', '1.', '.a', '1.A', '1.a b', '1e9.a', `1.${'a'.repeat(101)}`, '1.a\n']) {
    await t.rejects(world.events.list({ limit: 1, after }), { code: 'invalid', message: /^after: / }, after);
  }
});

t.test('an event that cannot be read is no reason to show a wrong one', async t => {
  const world = await World.open(t);
  const damaged: EventRecord = {
    id: 'x-1',
    kind: 'refusal',
    at: 0,
    ownerId: null,
    ownerKey: null,
    text: '{"count":0}',
  };
  world.ledger.eventLog.enqueue({ events: [damaged] });
  await world.ledger.kept();
  await t.rejects(world.events.list({ limit: 1 }), {
    code: 'store_refused',
    message: /its event x-1 cannot be read/,
  });
});

t.test('an event has the names of the API, whatever they are in the store', async t => {
  const world = await World.open(t);
  const by = { ownerId: 7, name: 'admin1', tokenId: '12' };
  const changed = { what: 'rule', name: 'total', owner: null, before: null, after: { limit: 5 } };
  const event = (id: string, kind: string, content: object): EventRecord => ({
    id,
    kind,
    at: 0,
    ownerId: null,
    ownerKey: null,
    text: JSON.stringify(content),
  });
  const policy = { change: 'p-1', by, action: 'created', ...changed };
  world.ledger.eventLog.enqueue({
    events: [event('p-1-0', 'policy', policy), event('p-2-0', 'policy', { ...policy, by: null })],
  });
  await world.ledger.kept();
  const asked = t.capture(world.ledger.eventLog, 'events', world.ledger.eventLog.events);
  await world.events.list({ limit: 1 });
  t.equal(asked().length, 1, 'Redis would read all events for each kind');
  t.match((await world.events.list({ limit: 2, kind: 'policy' })).events, [
    { id: 'p-2-0', by: null },
    { id: 'p-1-0', by: { owner_id: 7, name: 'admin1', token_id: '12' }, after: { limit: 5 } },
  ]);
  world.ledger.eventLog.enqueue({ events: [event('p-3-0', 'policy', { ...policy, by: {} })] });
  await world.ledger.kept();
  await t.rejects(world.events.list({ limit: 3, kind: 'policy' }), { code: 'store_refused' });
});
