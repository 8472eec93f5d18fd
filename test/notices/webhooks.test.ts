/** Webhooks: every event comes once, signed, whatever the receiver does, or is in the list of dead ones. */

import t from 'tap';
import { SoftquotaError } from '../../src/errors.ts';
import type { ReadPosition } from '../../src/notices/deliveries.ts';
import { readNotices } from '../../src/notices/reader.ts';
import { postWebhook } from '../../src/notices/webhook.ts';
import type { Event, EventOf } from '../../src/overview/index.ts';
import { assign, createGroup, createRule } from '../../src/policy/index.ts';
import { opensslSignature, Receiver } from './receiver.ts';
import { dayMs, hookAt, hooked, hourMs, minuteMs, secret, World } from './world.ts';

/** An event of an owner who came near the limit. */
function crossing(id: string, at: number): EventOf<'threshold'> {
  return {
    id,
    at: new Date(at).toISOString(),
    kind: 'threshold',
    owner: 'alice',
    direction: 'up',
    from: null,
    to: 80,
    subjects: [],
    used: 8500,
    limit: 10_000,
    group: null,
    rule: null,
  };
}

t.test('a crossing is posted once, and its signature is that of openssl', async t => {
  const receiver = await Receiver.open(t);
  const previous = 'whsec_cHJldmlvdXMgc2VjcmV0IG9mIHRoZSBob29r';
  const world = await World.open(t, { webhooks: [hookAt(receiver.url, { secrets: [secret, previous] })] });
  await world.pass();
  await world.store('alice', 8500);
  await world.store('alice', 11_000);
  await world.pass(minuteMs, 5);
  t.match(
    receiver.taken.map(({ json }) => json),
    [
      { type: 'threshold', data: { owner: 'alice', direction: 'up', to: 80, used: 8500, limit: 10_000 } },
      { type: 'threshold', data: { owner: 'alice', from: 80, to: 'limit', used: 11_000 } },
    ],
  );
  t.equal(receiver.taken[1]?.json.data.message, 'The limit is reached: alice uses 11 kB of 10 kB (110 %).');
  for (const received of receiver.taken) {
    const expected = [secret, previous].map(each => opensslSignature(received, each)).join(' ');
    t.equal(received.headers['webhook-signature'], expected);
    t.equal(received.headers['content-type'], 'application/json; charset=utf-8');
  }
  t.equal(
    receiver.taken[0]?.headers['webhook-timestamp'],
    String(Math.floor(world.clock.wallMs / 1000) - 302),
  );
  t.same(world.notices.deliveries(), [], 'nothing waits');
  await world.store('alice', 100);
  t.match(receiver.taken.at(-1)?.json, { data: { direction: 'down', from: 'limit', to: null } });
});

t.test('a restart repeats nothing, and what happened before the first start is no news', async t => {
  const receiver = await Receiver.open(t);
  const world = await World.open(t, {});
  await world.store('bob', 11_000);
  world.configure({ webhooks: [hookAt(receiver.url)] });
  await world.pass();
  t.same(receiver.types, [], 'bob was over before');
  await world.store('alice', 8500);
  await world.restart();
  await world.pass(11 * minuteMs, 3);
  t.equal(receiver.taken.length, 1);
  await world.store('alice', 9500);
  t.equal(receiver.taken.length, 2);
});

t.test('after a clock that was wrong is set right, notices go on', async t => {
  const { receiver, world } = await hooked(t);
  const right = world.clock.wallMs;
  world.clock.wallMs = right + 120 * 365 * dayMs;
  await world.store('alice', 8500);
  world.clock.wallMs = right;
  await world.pass();
  await world.store('alice', 11_000);
  t.strictSame(
    receiver.taken.map(({ json }) => json.data.to),
    [80, 'limit'],
    'and none comes twice',
  );
});

const now = Date.parse('2026-11-21T09:00:00Z');

/** A record with these events, newest first. */
function recordOf(events: readonly Event[]) {
  return {
    list: async ({ after = '0', limit = 0 }) => {
      const end = Number(after) + limit;
      return { events: events.slice(Number(after), end), next: end < events.length ? String(end) : null };
    },
  };
}

t.test('what happened just before an import of accounts is told at once', async t => {
  const before = { floor: now - dayMs, seen: [], digestAt: null };
  const account = (n: number, at: number): EventOf<'policy'> => ({
    id: `p-${n}`,
    change: `p-${n}`,
    at: new Date(at).toISOString(),
    kind: 'policy',
    action: 'created',
    what: 'owner',
    name: 'bob',
    owner: 'bob',
    by: null,
    before: null,
    after: null,
  });
  const accounts = Array.from({ length: 500 }, (_, n) => account(n, now - n));
  const record = recordOf([...accounts, crossing('t-1', now - 600), ...accounts]);
  const { notices } = await readNotices(record, before, { now, since: now - 1000 });
  t.match(notices, [{ id: 't-1' }]);
});

t.test('of more events than are remembered, none is told again', async t => {
  // Events of one moment are the oldest five, of which two could be remembered.
  const events = Array.from({ length: 10_003 }, (_, n) => crossing(`t-${n}`, now - 1 - Math.min(n, 9998)));
  const read = (before: ReadPosition) => readNotices(recordOf(events), before, { now, since: 0 });
  const first = await read({ floor: now - dayMs, seen: [], digestAt: null });
  t.equal(first.notices.length, events.length);
  const second = await read(first.position);
  t.strictSame(second.notices, []);
  events.unshift(crossing('t-new', now));
  const third = await read(second.position);
  t.strictSame(
    third.notices.map(({ id }) => id),
    ['t-new'],
  );
  t.strictSame((await read(third.position)).notices, []);
});

t.test('what a receiver does not take is sent again with growing waits, over restarts', async t => {
  const { receiver, world } = await hooked(t);
  receiver.answer = response => void response.writeHead(500).end('no');
  await world.store('alice', 8500);
  t.match(world.notices.deliveries(), [
    [/^t-/, { state: 'pending', attempts: 1, fault: `127.0.0.1:${receiver.port} answered 500` }],
  ]);
  await receiver.away();
  const waits: number[] = [];
  for (let tries = 1; tries < 6; tries++) {
    const [, delivery] = world.notices.deliveries()[0] ?? [];
    const wait = (delivery?.nextAt ?? 0) - world.clock.wallMs;
    waits.push(wait / 1000);
    await world.pass(wait - 1);
    t.equal(world.notices.deliveries()[0]?.[1].attempts, tries, 'not before its time');
    await world.pass(1);
    if (tries === 2) await world.restart();
  }
  t.same(waits, [2, 8, 32, 128, 512]);
  t.match(world.notices.deliveries()[0]?.[1].fault, /ECONNREFUSED/);
  await receiver.back();
  receiver.answer = response => void response.writeHead(200).end('thanks');
  await world.pass(2048 * 1000);
  t.equal(receiver.taken.length, 1);
  t.equal(new Set(receiver.came.map(({ id }) => id)).size, 1, 'each attempt has the same id');
  await world.pass(dayMs);
  t.equal(receiver.taken.length, 1);
  t.same(world.notices.deliveries(), []);
});

t.test('a receiver that is slow is given up after its time', async t => {
  const receiver = await Receiver.open(t);
  receiver.answer = () => {};
  const post = { id: '1', body: '{}', now: Date.now(), signal: new AbortController().signal };
  t.equal(await postWebhook(hookAt(receiver.url), post, 200), 'no answer within 0.2 s');
});

t.test('an address inside is refused, by number, by name and by redirect, unless it is allowed', async t => {
  const receiver = await Receiver.open(t);
  const { port } = receiver;
  const world = await World.open(t, {
    webhooks: [
      hookAt(receiver.url, { name: 'number', allowPrivate: [] }),
      hookAt(`http://localhost:${port}/`, { name: 'name', allowPrivate: ['10.0.0.0/8'] }),
      hookAt(`http://[::ffff:127.0.0.1]:${port}/`, { name: 'mapped', allowPrivate: [] }),
      hookAt(`http://0x7f000001:${port}/`, { name: 'odd', allowPrivate: [] }),
      hookAt(receiver.url, { name: 'redirect' }),
    ],
  });
  for (const [name, fault] of [
    [
      'number',
      /^127\.0\.0\.1: an address inside the own network, and not in \[webhook\.number\] ALLOW_PRIVATE$/,
    ],
    ['name', /^localhost, which is (127\.0\.0\.1|::1): an address inside/],
    ['mapped', /^::ffff:7f00:1: an address inside/],
    ['odd', /^127\.0\.0\.1: an address inside/],
  ] as const) {
    t.match(await world.notices.test(name), fault, name);
  }
  t.equal(receiver.came.length, 0, 'nobody was asked');
  for (const status of [302, 307, 308]) {
    for (const to of ['http://127.0.0.2/', 'http://169.254.169.254/latest/meta-data/', 'http://[fe80::1]/']) {
      receiver.answer = response => void response.writeHead(status, { location: to }).end();
      const { hostname } = new URL(to);
      t.match(
        await world.notices.test('redirect'),
        `127.0.0.1:${port} redirects to ${hostname.replace(/[[\]]/g, '')}: an address inside`,
      );
    }
  }
  const elsewhere = (status: number) => {
    let isFirst = true;
    receiver.answer = response => {
      response.writeHead(isFirst ? status : 200, { location: '/moved' }).end();
      isFirst = false;
    };
  };
  elsewhere(307);
  t.equal(await world.notices.test('redirect'), null, 'a redirect that keeps the request is followed');
  elsewhere(303);
  t.match(await world.notices.test('redirect'), /answered 303, which would lose the notice/);
  receiver.answer = response => void response.writeHead(307, { location: '/' }).end();
  t.equal(await world.notices.test('redirect'), 'more than 3 redirects');
  t.notMatch(world.logged.join(), 'hidden');
});

t.test('what cannot be delivered is in the list of dead ones, and can be sent again', async t => {
  const { receiver, world } = await hooked(t);
  receiver.answer = response => void response.writeHead(307, { location: 'http://192.168.0.1/' }).end();
  await world.store('alice', 8500);
  await world.pass(hourMs, 73);
  const [[id = '', delivery] = []] = world.notices.deliveries();
  t.match(delivery, { state: 'dead', fault: /redirects to 192\.168\.0\.1: an address inside/ });
  t.match(world.notices.places(), [
    { name: 'chat', via: 'webhook', pending: 0, dead: 1, sent: 0, last_fault: delivery?.fault },
  ]);
  t.match(world.logged.join('\n'), /could not be delivered: softquota notices send-again/);
  const before = receiver.came.length;
  await world.pass(dayMs);
  await world.restart();
  await world.pass();
  t.equal(receiver.came.length, before, 'it rests');
  await t.rejects(world.notices.sendAgain('nothing'), { code: 'not_found' });
  receiver.answer = response => void response.writeHead(200).end();
  t.equal(await world.notices.sendAgain(id), 1);
  await t.rejects(world.notices.sendAgain(id), { code: 'conflict' });
  receiver.answer = response => void response.writeHead(500).end();
  await world.pass();
  receiver.answer = response => void response.writeHead(200).end();
  await world.pass(10_000);
  t.equal(receiver.taken.length, 1, 'the pauses after faults begin anew');
  t.equal(await world.notices.sendAgain(null), 0);
  t.match(world.notices.places(), [{ pending: 0, dead: 0, sent: 1, last_fault: null }]);
});

t.test('what became dead while the store was away waits for the store, and is then sent again', async t => {
  const { receiver, world } = await hooked(t);
  receiver.answer = response => void response.writeHead(500).end();
  await world.store('alice', 8500);
  world.takesNothing = new SoftquotaError('store_away', 'the store is away');
  await world.pass(hourMs, 73);
  t.match(world.notices.deliveries(), [[/^t-/, { state: 'dead' }]]);
  await t.rejects(world.notices.sendAgain(null), { code: 'store_away' });
  world.takesNothing = null;
  receiver.answer = response => void response.writeHead(204).end();
  t.equal(await world.notices.sendAgain(null), 1);
  await world.pass();
  t.strictSame([receiver.taken.length, world.notices.deliveries()], [1, []]);
});

t.test('refusals are told at once and, if more came, once more when their hour is over', async t => {
  const { receiver, world } = await hooked(t, { events: ['refusal'] });
  await world.store('alice', 11_000);
  world.refuse('alice', 'bob');
  await world.pass();
  for (let times = 0; times < 9; times++) world.refuse('alice', 'bob');
  world.refuse('alice', 'carol');
  await world.pass();
  const told = () =>
    receiver.taken.map(({ json: { type, data } }) => [type, data.actor, data.count, data.is_final]);
  t.same(told(), [
    ['refusal', 'bob', 1, false],
    ['refusal', 'carol', 1, false],
  ]);
  t.equal(
    receiver.taken[0]?.json.data.message,
    '1 action by bob for private repositories of alice was refused: 11 kB of 10 kB are used (110 %).',
  );
  await world.pass(10 * minuteMs, 12);
  t.same(told().slice(2), [['refusal', 'bob', 10, true]]);
  t.equal(new Set(receiver.ids).size, 3);
});

t.test('a change of the policy is one notice, whatever it consists of', async t => {
  const { receiver, world } = await hooked(t);
  await world.ledger.documents.transact(({ changes }) => {
    for (let at = 0; at < 300; at++) {
      createRule(changes, { name: `r${at}`, limitBytes: at, subjects: ['size:all'] });
    }
    createGroup(changes, { name: 'free', rules: [{ name: 'r1' }] });
  });
  const alice = await world.user('alice', '');
  await world.pass();
  t.equal(receiver.taken.length, 1);
  const json = receiver.taken[0]?.json;
  t.match([json?.type, json?.data.count], ['policy', 301]);
  t.match(json?.data.changes, [{ action: 'created', what: /rule|group/ }]);
  t.match(json?.data.message, /^The policy was changed by softquota: created .* and 298 other things\.$/);
  t.ok(Buffer.byteLength(receiver.taken[0]?.body ?? '') < 65_536);

  await world.ledger.documents.transact(({ changes }) => assign(changes, alice, 'free'));
  await world.pass();
  const assigned = 'The policy was changed by softquota: edited the groups of alice.';
  t.match(receiver.taken[1]?.json?.data.message, assigned, 'also when they are the first ones');
});

t.test('a webhook gets only what it asks for', async t => {
  const { receiver, world } = await hooked(t, { events: ['policy', 'fault'] });
  await world.store('alice', 11_000);
  t.same(receiver.types, []);
});
