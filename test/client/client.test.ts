/** The client for programs: what it asks, what it makes of answers, and what it does without one. */

import { mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import {
  createClient,
  QuotaExceededError,
  type QuotaLeaf,
  QuotaRequestError,
  type QuotaSubject,
  QuotaUnavailableError,
} from '../../src/client/index.ts';
import type { Leaf, Subject } from '../../src/quota/index.ts';
import { decision, type GateStub, open, packages, plain, question } from './gate.ts';

const reserved = plain(201, { id: 'r/1', expires_at: '2026-11-23T05:10:00.000Z' });

t.test('the client knows the subjects of the gate', async t => {
  // A change of one of the types without the other does not compile.
  const same: [QuotaLeaf, QuotaSubject] extends [Leaf, Subject]
    ? [Leaf, Subject] extends [QuotaLeaf, QuotaSubject]
      ? true
      : false
    : false = true;
  t.ok(same);
});

t.test('a question is asked with all that it has, over a connection that stays', async t => {
  const { gate, client } = await open(t);
  gate.answer = decision(true, { measured_at: '2026-11-21T09:14:03.000Z', partial: true, warning: 'nearly' });
  t.match(await client.check(question), {
    allowed: true,
    owner: 'jürgen & co',
    subject: packages,
    used: 1,
    limit: 2,
    group: null,
    measuredAt: new Date('2026-11-21T09:14:03.000Z'),
    partial: true,
    warning: 'nearly',
    error: null,
  });
  gate.answer = decision(false);
  const refused = await client.check({ path: '/srv/git/alice/app.git' });
  t.match(refused, { allowed: false, message: 'Quota exceeded: alice uses 3 MB of 2 MB (150 %).' });
  t.strictSame(gate.heard, [
    { method: 'GET', path: '/v1/check', parameters: { ...question, size: '1000' } },
    { method: 'GET', path: '/v1/check', parameters: { path: '/srv/git/alice/app.git' } },
  ]);
  t.equal(gate.connections, 1);
});

t.test('a question that the daemon does not take is a mistake of the program, with any onError', async t => {
  for (const onError of ['allow', 'deny', 'throw'] as const) {
    const { gate, client, faults } = await open(t, { onError });
    gate.answer = plain(404, { code: 'unknown_path', message: '/x is under no template' });
    const { status, code, message } = await fault(client.check({ path: '/x' }), QuotaRequestError);
    t.strictSame([status, code, message], [404, 'unknown_path', '/x is under no template']);
    await t.rejects(client.check({ ...question, size: 1.5 }), TypeError);
    await t.rejects(client.check({ ...question, size: -1 }), TypeError);
    t.equal(gate.heard.length, 1, 'and what is no size is not even asked');
    t.strictSame(faults, []);
  }
});

/** The error that a promise rejects with, of this class. */
async function fault<Kind extends Error>(
  promise: Promise<unknown>,
  kind: new (...args: never[]) => Kind,
): Promise<Kind> {
  const error = await promise.then(
    () => null,
    (error: unknown) => error,
  );
  if (error instanceof kind) return error;
  throw new Error(`expected ${kind.name}, not ${String(error)}`);
}

/** Answers that decide nothing. */
const useless: Readonly<Record<string, GateStub['answer']>> = {
  'a 503': plain(503, { code: 'not_ready', message: 'not yet' }),
  'a 500 without JSON': response => response.writeHead(500).end('?'),
  'a 200 without the header': plain(200, { allowed: true }),
  'a refusal without the header': (response, heard) =>
    plain(503, { ...heard, message: 'proxy' })(response, heard, response.req),
  'too much': response => {
    response.writeHead(200, { 'X-Softquota-Decision': 'allowed' });
    response.end(Buffer.alloc(5 * 1024 * 1024, ' '));
  },
};

for (const [name, answer] of Object.entries(useless)) {
  t.test(`onError decides after ${name}`, async t => {
    for (const [onError, allowed] of [
      ['allow', true],
      ['deny', false],
    ] as const) {
      const { gate, client, faults } = await open(t, { onError });
      gate.answer = answer;
      const answered = await client.check(question);
      t.match(answered, { allowed, owner: question.owner, subject: packages, used: null, limit: null });
      t.match(
        answered.message,
        allowed ? /could not be checked, so this is allowed/ : /is refused\. Try again/,
      );
      t.equal(answered.error, faults[0]);
      t.equal(gate.heard.length, 1, 'an answer is not asked for again');
    }
    const { gate, client, faults } = await open(t, { onError: 'throw' });
    gate.answer = answer;
    await fault(client.check(question), QuotaUnavailableError);
    t.equal(faults.length, 1);
  });
}

t.test('a connection that is lost is tried again, until there is an answer', async t => {
  const { gate, client, faults } = await open(t);
  await client.check(question);
  const answer = gate.answer;
  let lost = 0;
  gate.answer = (response, heard, request) => {
    lost += 1;
    if (lost > 3) answer(response, heard, request);
    else response.destroy();
  };
  t.match(await client.check(question), { allowed: true, error: null });
  t.equal(gate.heard.length, 5);

  await gate.close();
  const waiting = client.check(question);
  await gate.listen();
  t.match(await waiting, { allowed: true, error: null }, 'also while there is no socket');
  t.strictSame(faults, []);
});

t.test('the time-out bounds a call with all its tries', async t => {
  const { gate, client, faults } = await open(t, { timeoutMs: 300 });
  gate.answer = () => {};
  t.match(await client.check(question), { allowed: true, error: /did not answer within 300 ms/ });
  gate.answer = response => void response.writeHead(200, { 'X-Softquota-Decision': 'allowed' }).write('{');
  t.match(await client.check(question), { error: /within 300 ms/ }, 'an answer that never ends');
  gate.answer = response => void response.destroy();
  t.match(
    await client.check(question),
    { error: /does not answer|did not answer within 300 ms/ },
    'a daemon that hangs up',
  );
  await gate.close();
  t.match(
    await client.check(question),
    { error: /does not answer|did not answer within 300 ms/ },
    'no daemon',
  );
  t.equal(faults.length, 4);
});

t.test('many calls at once share a bounded number of connections', async t => {
  const { gate, client } = await open(t);
  const calls = {
    check: [() => client.check(question), decision(true)],
    reserve: [() => client.reserve({ owner: 'alice', subject: packages, size: 1 }), reserved],
  } as const;
  for (const [name, [call, answer]] of Object.entries(calls)) {
    const held: (() => void)[] = [];
    gate.answer = (...asked) => void held.push(() => answer(...asked));
    const all = Promise.all(Array.from({ length: 500 }, () => call()));
    while (held.length < 64) await turn();
    // Other questions would have come within these turns of the loop.
    for (let turns = 0; turns < 200; turns++) await turn();
    t.equal(held.length, 64, name);
    gate.answer = answer;
    for (const release of held) release();
    t.ok((await all).every(({ allowed }) => allowed));
  }
});

t.test('a report is sent once, unless nobody can have taken it', async t => {
  const { gate, client } = await open(t, { trusted: true });
  gate.answer = plain(202, {});
  await client.changed({ path: '/srv/lfs/alice' });
  await client.changed({ owner: 'alice', subject: packages, delta: -5, reservation: 'r1' });
  t.strictSame(gate.heard, [
    { method: 'POST', path: '/v1/changed', parameters: { path: '/srv/lfs/alice' } },
    {
      method: 'POST',
      path: '/v1/changed',
      parameters: { owner: 'alice', subject: packages, delta: '-5', reservation: 'r1' },
    },
  ]);
  gate.heard.length = 0;
  gate.answer = response => void response.destroy();
  const change = { owner: 'alice', subject: packages, delta: 5 } as const;
  await fault(client.changed(change), QuotaUnavailableError);
  t.equal(gate.heard.length, 1, 'bytes might count twice');

  await gate.close();
  const waiting = client.changed(change);
  gate.answer = plain(202, {});
  await gate.listen();
  await waiting;
  t.equal(gate.heard.length, 2, 'a daemon that was not there has taken nothing');
});

t.test('what only trusted programs may do is not tried otherwise', async t => {
  const { gate, client } = await open(t);
  await t.rejects(client.usage('alice'), TypeError);
  await t.rejects(client.changed({ owner: 'alice', subject: packages, delta: 1 }), /TRUSTED_SOCKET/);
  t.strictSame(gate.heard, []);
});

t.test('room is reserved and released', async t => {
  const { gate, client } = await open(t);
  gate.answer = reserved;
  const asked = await client.reserve({ owner: 'alice', subject: packages, size: 5, seconds: 60 });
  if (!asked.allowed) throw new Error('refused');
  t.match(asked.reservation, { id: 'r/1', expiresAt: new Date('2026-11-23T05:10:00.000Z'), error: null });
  gate.answer = plain(200, { id: 'r/1', expires_at: '2026-11-23T06:00:00.000Z' });
  t.strictSame(await asked.reservation.renew(3600), new Date('2026-11-23T06:00:00.000Z'));
  gate.answer = response => response.writeHead(204).end();
  await asked.reservation.release();
  gate.answer = plain(404, { code: 'not_found', message: 'no such reservation' });
  await asked.reservation.release();
  t.strictSame(gate.heard.slice(0, 3), [
    {
      method: 'POST',
      path: '/v1/reservations',
      parameters: { owner: 'alice', subject: packages, size: '5', seconds: '60' },
    },
    { method: 'PUT', path: '/v1/reservations/r%2F1', parameters: { seconds: '3600' } },
    { method: 'DELETE', path: '/v1/reservations/r%2F1', parameters: {} },
  ]);
  gate.answer = decision(false);
  const refused = await client.reserve({ owner: 'alice', subject: packages, size: 5 });
  t.match(refused, { allowed: false, answer: { allowed: false, message: /^Quota exceeded/ } });
  gate.answer = decision(true, { would_refuse: true });
  const reported = await client.reserve({ owner: 'alice', subject: packages, size: 5 });
  if (!reported.allowed) throw new Error('refused');
  t.match(reported.reservation, { id: null, error: null }, 'report mode reserves nothing');
  await reported.reservation.release();
  t.equal(await reported.reservation.renew(), null);
  gate.answer = plain(201, {});
  t.match(await client.reserve({ owner: 'alice', subject: packages, size: 5 }), {
    allowed: true,
    reservation: { id: null, error: /without an id/ },
  });
});

t.test('withQuota runs the upload in reserved room, and reports what came', async t => {
  const { gate, client } = await open(t, { trusted: true });
  const sent = () =>
    gate.heard.map(({ method, path, parameters }) => [`${method} ${path}`, parameters.delta]);
  gate.answer = (response, heard, request) =>
    (heard.path === '/v1/changed' ? plain(202, {}) : reserved)(response, heard, request);
  t.equal(await client.withQuota('alice', packages, 100, () => 'done'), 'done');
  await client.withQuota('alice', packages, 100, async upload => upload.stored(7));
  t.strictSame(sent(), [
    ['POST /v1/reservations', undefined],
    ['POST /v1/changed', '100'],
    ['POST /v1/reservations', undefined],
    ['POST /v1/changed', '7'],
  ]);
  t.equal(gate.heard[1]?.parameters.reservation, 'r/1', 'the report ends the reservation');

  gate.heard.length = 0;
  gate.answer = (response, heard, request) =>
    heard.method === 'DELETE' ? response.writeHead(204).end() : reserved(response, heard, request);
  const failing = client.withQuota('alice', packages, 100, () => Promise.reject(new Error('disk full')));
  await t.rejects(failing, { message: 'disk full' });
  t.strictSame(
    sent().at(-1),
    ['DELETE /v1/reservations/r%2F1', undefined],
    'an upload that failed counts nothing',
  );

  gate.answer = decision(false);
  let ran = false;
  const refused = client.withQuota('alice', packages, 100, () => {
    ran = true;
  });
  t.equal(
    (await fault(refused, QuotaExceededError)).message,
    'Quota exceeded: alice uses 3 MB of 2 MB (150 %).',
  );
  t.notOk(ran);
});

t.test('room is renewed for as long as an upload takes', async t => {
  const { gate, client, faults } = await open(t);
  mock.timers.enable({ apis: ['setInterval'] });
  t.teardown(() => mock.timers.reset());
  const renewed = new Promise<void>(resolve => {
    gate.answer = (response, heard, request) => {
      if (heard.method === 'DELETE') response.writeHead(204).end();
      else (heard.method === 'PUT' ? plain(200, { id: 'r/1' }) : reserved)(response, heard, request);
      if (heard.method === 'PUT') response.on('close', resolve);
    };
  });
  await client.withQuota('alice', packages, 100, async () => {
    mock.timers.tick(300_000);
    await renewed;
  });
  mock.timers.tick(3_000_000);
  t.strictSame(
    gate.heard.map(({ method }) => method),
    ['POST', 'PUT', 'DELETE'],
  );
  t.strictSame(faults, []);
});

t.test('an upload that is done stays done when the daemon is away before its report', async t => {
  const { gate, client, faults } = await open(t, { timeoutMs: 300 });
  gate.answer = reserved;
  t.equal(await client.withQuota('alice', packages, 100, () => gate.close().then(() => 'done')), 'done');
  t.equal(faults.length, 1);

  t.equal(await client.withQuota('alice', packages, 100, () => 'done'), 'done', 'onError allows it');
  const strict = createClient({ socket: gate.socket, timeoutMs: 300, onError: 'deny' });
  const denied = strict.withQuota('alice', packages, 100, () => 'done');
  t.match((await fault(denied, QuotaExceededError)).message, /could not be checked/);
});

t.test('usage is read whole', async t => {
  const { gate, client } = await open(t, { trusted: true });
  const until = '2026-11-28T09:00:00.000Z';
  const standing = { allowed: false, used: 5, limit: 3, group: 'free', rule: 'total' };
  gate.answer = plain(200, {
    owner: 'alice',
    used: { size: { git: { LFS: 5 }, assets: { attachments: { issues: 1 } } } },
    measured_at: null,
    partial: false,
    stale: true,
    groups: [{ name: 'free', rules: [{ name: 'total', limit: 3, subjects: ['size:all'] }] }],
    decisions: { 'size:git:lfs': { ...standing, grace: { until, below: 4 } }, 'size:all': standing },
  });
  t.strictSame(await client.usage('alice'), {
    owner: 'alice',
    used: { size: { git: { LFS: 5 }, assets: { attachments: { issues: 1 } } } },
    measuredAt: null,
    partial: false,
    stale: true,
    groups: [{ name: 'free', rules: [{ name: 'total', limit: 3, subjects: ['size:all'] }] }],
    decisions: {
      'size:git:lfs': { ...standing, grace: { until: new Date(until), below: 4 }, reported: null },
      'size:all': { ...standing, grace: null, reported: null },
    },
  });
});

t.test('options that make no client are named', async t => {
  for (const [options, words] of [
    [{ socket: 'gate.sock' }, 'socket: expected an absolute path, not "gate.sock"'],
    [{ timeoutMs: 5 }, 'timeoutMs: expected 100 to 60000, not 5'],
    [{ timeoutMs: Number.NaN }, 'timeoutMs: expected 100 to 60000, not NaN'],
    // Programs without types may write it.
    [{ onError: 'last' as 'deny' }, 'onError: expected allow, deny or throw, not "last"'],
  ] as const) {
    t.throws(() => createClient(options), new TypeError(words));
  }
});

t.test('a closed client fails at once, and keeps no program running', async t => {
  const { gate, client } = await open(t, { onError: 'throw' });
  await client.check(question);
  gate.answer = () => {};
  const waiting = fault(client.check(question), QuotaUnavailableError);
  client.close();
  t.match((await waiting).message, /closed|hang up/);
  t.match((await fault(client.check(question), QuotaUnavailableError)).message, 'the client is closed');
});

t.test('in report mode it says what would be refused', async t => {
  const { gate, client } = await open(t);
  gate.answer = decision(true, { would_refuse: true });
  t.match(await client.check(question), { allowed: true, wouldRefuse: true, reported: null });
  const ruling = { used: 5, limit: 4, group: 'free', rule: 'tried' };
  const reported = { ...ruling, message: 'Quota exceeded: alice uses 5 B of 4 B (125 %).' };
  gate.answer = decision(true, { would_refuse: true, reported });
  t.match(await client.check(question), { allowed: true, wouldRefuse: true, reported });
});

t.test('a grace is until when and how far a limit may be passed', async t => {
  const { gate, client } = await open(t);
  const until = '2026-11-28T09:00:00.000Z';
  for (const isAllowed of [true, false]) {
    gate.answer = decision(isAllowed, { grace: { until, below: 1100 } });
    t.match(await client.check(question), {
      allowed: isAllowed,
      grace: { until: new Date(until), below: 1100 },
      wouldRefuse: false,
    });
  }
  for (const grace of [null, {}, 'soon', { until }]) {
    gate.answer = decision(true, { grace });
    t.equal((await client.check(question)).grace, null);
  }
  gate.answer = decision(true, { grace: { until: 'soon', below: 1100 } });
  t.strictSame((await client.check(question)).grace, { until: null, below: 1100 });
});
