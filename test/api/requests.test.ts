/** Asking for more, over the API: who may, who answers, what an answer gives, and what is written down. */

import t, { type Test } from 'tap';
import { z } from 'zod';
import { allowance, explanation, ownReport, spaceRequest } from '../../src/wire/index.ts';
import { ask as askGate, asText } from '../gate/world.ts';
import { type Person, World } from './world.ts';

const day = 86_400_000;
const inDays = (days: number) => new Date(Math.floor(Date.now() / 1000) * 1000 + days * day).toISOString();
const asked = { bytes: 500, until: inDays(10), why: 'the release needs it' };

async function open(t: Test, requests: Readonly<Record<string, string>> = {}): Promise<World> {
  const world = await World.open(t, { settings: { 'quota.default': { TOTAL: '1000' }, requests } });
  await world.report('alice', 'size:git:lfs', 1200);
  await world.report('acme', 'size:git:lfs', 1200);
  return world;
}

async function ask(world: World, as: Person = 'alice', body: object = asked, whose = '/user') {
  const json = await world.post(`${whose}/quota/requests`, body, { as });
  return spaceRequest.parse(json);
}

async function isAllowed(world: World, as: Person, whose = '/user'): Promise<unknown> {
  return await world.get(`${whose}/quota/check?subject=size:git:lfs`, { as });
}

async function eventsOf(world: World, kind: string): Promise<readonly Record<string, unknown>[]> {
  return z
    .array(z.record(z.string(), z.unknown()))
    .parse(await world.get(`/admin/quota/events?kind=${kind}`));
}

t.test('an owner asks for more, an administrator grants it, and all agree on the new limit', async t => {
  const world = await open(t);
  t.equal(await isAllowed(world, 'alice'), false);
  const request = await ask(world);
  t.match(request, { owner: 'alice', asked_by: 'alice', state: 'open', answer: null, ...asked });
  const open1 = await world.get('/admin/quota/requests?state=open');
  t.strictSame(open1, [request]);
  const json = await world.post(`/admin/quota/requests/${request.id}/grant`, { words: 'until the release' });
  const granted = spaceRequest.parse(json);
  t.match(granted, {
    state: 'granted',
    answer: {
      by: 'admin1',
      automatic: false,
      words: 'until the release',
      granted: { bytes: 500, until: asked.until },
    },
  });
  t.strictSame(await world.get('/user/quota/requests', { as: 'alice' }), [granted]);
  t.equal(await isAllowed(world, 'alice'), true);

  const added = { bytes: 500, count: 1, until: asked.until };
  const id = granted.answer?.granted?.allowance ?? '';
  const quota = await world.get('/user/quota', { as: 'alice' });
  t.match(quota, {
    groups: [],
    allowances: [{ id, bytes: 500, until: asked.until, granted_by: 'admin1' }],
  });
  const report = ownReport.parse(await world.get('/user/quota/report', { as: 'alice' }));
  t.match(report, { limit: 1500, percent: 80, allowed: true, allowance: added, may_ask: true });
  t.match(report.decisions['size:git:lfs'], { limit: 1500, allowance: added });
  t.match(report.allowances, [{ id, request: request.id }]);
  const [row] = z.array(z.unknown()).parse(await world.get('/admin/quota/usage?q=alice'));
  t.match(row, { limit: 1500, percent: 80, allowance: added });
  const explained = explanation.parse(
    await world.get('/admin/quota/explain?user=alice&subject=size:git:lfs'),
  );
  t.match(explained.decision, { limit: 1500, allowance: added });
  t.match(explained.steps.at(-1)?.groups[0]?.rules, [{ limit: 1500, headroom: 300, allowance: added }]);

  const steps = await eventsOf(world, 'request');
  t.match(steps, [
    { action: 'granted', owner: 'alice', request: request.id, allowance: id, by: { name: 'admin1' } },
    { action: 'asked', owner: 'alice', request: request.id, words: asked.why, by: { name: 'alice' } },
  ]);
  t.match(steps[0], { changes: [{ what: 'allowance' }, { what: 'request' }] });
});

t.test('an administrator may grant otherwise than was asked for, or decline with words', async t => {
  const world = await open(t);
  const { id } = await ask(world);
  const until = inDays(3);
  const json = await world.post(`/admin/quota/requests/${id}/grant`, { bytes: 250, until });
  t.match(json, { bytes: 500, answer: { granted: { bytes: 250, until } } });
  await world.must(409, 'POST', `/admin/quota/requests/${id}/grant`, { body: {} });
  await world.must(409, 'POST', `/admin/quota/requests/${id}/decline`, { body: { words: 'no' } });
  const second = await ask(world);
  const path = `/admin/quota/requests/${second.id}/decline`;
  t.match((await world.call('POST', path, { body: {} })).json, { code: 'invalid', message: /words/ });
  await world.post(path, { words: 'delete the old builds first' });
  t.match(await world.get('/user/quota/requests', { as: 'alice' }), [
    { state: 'declined', answer: { by: 'admin1', words: 'delete the old builds first', granted: null } },
    { state: 'granted' },
  ]);
  t.match(await eventsOf(world, 'request'), [{ action: 'declined' }, { action: 'asked' }, {}, {}]);
  await world.must(404, 'POST', '/admin/quota/requests/nothing/grant', { body: {} });
});

t.test('a request without an end needs one in the grant', async t => {
  const world = await open(t);
  const { id, until } = await ask(world, 'alice', { bytes: 1, why: 'x' });
  t.equal(until, null);
  const path = `/admin/quota/requests/${id}/grant`;
  t.match((await world.call('POST', path, { body: {} })).json, { code: 'invalid', message: /^until:/ });
  await world.post(path, { until: inDays(1) });
});

t.test('nobody grants themselves: no user, no administrator, no owner of an organization', async t => {
  const world = await open(t);
  const mine = await ask(world, 'admin1');
  const themselves = {
    status: 403,
    json: { code: 'not_permitted', message: /nobody gives more space to themselves/ },
  };
  t.match(await world.call('POST', `/admin/quota/requests/${mine.id}/grant`, { body: {} }), themselves);
  const body = { bytes: 500, until: inDays(1), why: 'because' };
  t.match(await world.call('POST', '/admin/users/admin1/quota/allowances', { body }), themselves);
  t.match(await world.call('POST', '/admin/users/ADMIN1/quota/allowances', { body }), themselves);
  t.match(await world.call('POST', `/admin/quota/requests/${mine.id}/grant`, { as: 'alice', body: {} }), {
    status: 403,
  });
  // An administrator who owns the organization would give to themselves.
  await world.put('/admin/orgs/acme/members/admin1', { role: 'owner' });
  t.match(await world.call('POST', '/admin/users/acme/quota/allowances', { body }), themselves);
  const ours = await ask(world, 'alice', asked, '/orgs/acme');
  t.match(await world.call('POST', `/admin/quota/requests/${ours.id}/grant`, { body: {} }), themselves);
  t.same(await eventsOf(world, 'allowance'), []);
  // Another one may, and so may the administrator of the host.
  await world.patch('/admin/users/bob', { is_admin: true });
  await world.post(`/admin/quota/requests/${mine.id}/grant`, {}, { as: 'bob' });
  const json = await world.post(`/admin/quota/requests/${ours.id}/grant`, {}, { as: 'host' });
  t.match(json, { answer: { by: null } });
  t.equal(await isAllowed(world, 'alice', '/orgs/acme'), true);
});

t.test('owners of an organization ask for it, members and strangers do not', async t => {
  const world = await open(t);
  const path = '/orgs/acme/quota/requests';
  await world.must(403, 'POST', path, { as: 'carol', body: asked });
  await world.must(404, 'POST', path, { as: 'bob', body: asked });
  t.match((await world.call('POST', path, { as: 'admin1', body: asked })).json, {
    code: 'not_permitted',
    message: /only owners of the organization ask for it/,
  });
  const request = await ask(world, 'alice', asked, '/orgs/acme');
  t.match(request, { owner: 'acme', asked_by: 'alice' });
  t.strictSame(await world.get(path, { as: 'alice' }), [request]);
  t.same(await world.get('/user/quota/requests', { as: 'alice' }), []);
  await world.must(403, 'GET', path, { as: 'carol' });
  await world.must(404, 'DELETE', `/user/quota/requests/${request.id}`, { as: 'alice' });
  await world.remove(`${path}/${request.id}`, { as: 'alice' });
  t.match(await world.get(path, { as: 'alice' }), [{ state: 'withdrawn' }]);
  t.match(await eventsOf(world, 'request'), [{ action: 'withdrawn', by: { name: 'alice' } }, {}]);
  await world.must(404, 'POST', '/user/quota/requests', { as: 'host', body: asked });
  const readOnly = await world.newToken('alice', ['read:user']);
  await world.must(403, 'POST', '/user/quota/requests', { token: readOnly, body: asked });
});

t.test('requests are bounded: one that is open, and five a day', async t => {
  const world = await open(t);
  for (let at = 0; at < 5; at++) {
    const { id } = await ask(world);
    t.match((await world.call('POST', '/user/quota/requests', { as: 'alice', body: asked })).json, {
      code: 'conflict',
      message: new RegExp(id),
    });
    await world.remove(`/user/quota/requests/${id}`, { as: 'alice' });
  }
  t.match((await world.call('POST', '/user/quota/requests', { as: 'alice', body: asked })).json, {
    code: 'too_often',
  });
  await ask(world, 'bob');
  const { headers, json } = await world.must(200, 'GET', '/admin/quota/requests?limit=2');
  t.equal(headers['x-total-count'], '6');
  t.match(json, [{ owner: 'bob' }, { owner: 'alice' }]);
});

t.test('[requests] ENABLED = false: nobody asks, and answers say so', async t => {
  const world = await open(t, { ENABLED: 'false' });
  t.match((await world.call('POST', '/user/quota/requests', { as: 'alice', body: asked })).json, {
    code: 'not_permitted',
    message: /\[requests\] ENABLED/,
  });
  t.match(await world.get('/user/quota/report', { as: 'alice' }), { may_ask: false });
  world.reload({ requests: { ENABLED: 'true' } });
  await ask(world);
});

t.test('[requests] AUTO_GRANT grants what is small and short, once in its time', async t => {
  const world = await open(t, { AUTO_GRANT: '500 for 30d, once in 90d' });
  const large = await ask(world, 'alice', { ...asked, bytes: 501 });
  t.equal(large.state, 'open', 'too much');
  await world.remove(`/user/quota/requests/${large.id}`, { as: 'alice' });
  const long = await ask(world, 'alice', { ...asked, until: inDays(32) });
  t.equal(long.state, 'open', 'for too long');
  await world.remove(`/user/quota/requests/${long.id}`, { as: 'alice' });
  const before = Date.now();
  const granted = await ask(world, 'alice', { bytes: 500, why: 'the release' });
  t.match(granted, {
    state: 'granted',
    until: null,
    answer: { by: null, automatic: true, granted: { bytes: 500 } },
  });
  const lasts = Date.parse(granted.answer?.granted?.until ?? '') - before;
  t.ok(Math.abs(lasts - 30 * day) < 60_000);
  t.equal(await isAllowed(world, 'alice'), true);
  t.match((await eventsOf(world, 'request'))[0], {
    action: 'granted',
    automatic: true,
    by: { name: 'alice' },
  });
  const again = await ask(world, 'alice', { bytes: 1, why: 'more' });
  t.equal(again.state, 'open', 'not again within 90 days');
  // To the end of the thirtieth day.
  const theirs = await ask(world, 'admin1', { bytes: 500, until: inDays(30.5), why: 'me, too' });
  t.match(theirs, { state: 'granted' });
  t.ok(Date.parse(theirs.answer?.granted?.until ?? '') <= Date.now() + 30 * day);
  t.match(await world.get('/user/quota/report', { as: 'alice' }), {
    auto_grant: { bytes: 500, seconds: 30 * 86_400, every_seconds: 90 * 86_400 },
  });
  t.match(await ask(world, 'alice', { bytes: 500, why: 'for all' }, '/orgs/acme'), { state: 'granted' });
});

t.test('what AUTO_GRANT covers waits while the owner has as many allowances as there can be', async t => {
  const world = await open(t, { AUTO_GRANT: '500 for 30d, once in 90d' });
  const path = '/admin/users/alice/quota/allowances';
  const given: string[] = [];
  while (given.length < 50) given.push(allowance.parse(await world.post(path, asked)).id);
  const waiting = await ask(world);
  t.equal(waiting.state, 'open');
  t.match(await world.get('/admin/quota/requests?state=open'), [{ id: waiting.id }]);
  await world.must(409, 'POST', `/admin/quota/requests/${waiting.id}/grant`, { body: {} });
  await world.remove(`${path}/${given[0]}`);
  await world.post(`/admin/quota/requests/${waiting.id}/grant`, {});
});

t.test('administrators give and end allowances without a request', async t => {
  const world = await open(t);
  const path = '/admin/users/alice/quota/allowances';
  const body = { bytes: 500, until: inDays(1), why: 'a migration' };
  const json = await world.post(path, body);
  const given = allowance.parse(json);
  t.match(given, { ...body, granted_by: 'admin1', request: null, automatic: false });
  t.strictSame(await world.get(path), [given]);
  t.equal(await isAllowed(world, 'alice'), true);
  await world.must(404, 'POST', '/admin/users/nobody/quota/allowances', { body });
  await world.remove(`${path}/${given.id}`);
  await world.must(404, 'DELETE', `${path}/${given.id}`);
  t.equal(await isAllowed(world, 'alice'), false);
  const quota = await world.get('/user/quota', { as: 'alice' });
  t.strictSame(Object.keys(z.object({}).loose().parse(quota)).sort(), ['groups', 'used']);
  t.match(await eventsOf(world, 'allowance'), [
    { action: 'ended', owner: 'alice', allowance: given.id, by: { name: 'admin1' } },
    { action: 'granted', owner: 'alice', bytes: 500, why: 'a migration' },
  ]);
});

t.test('requests and allowances survive a restart and a rename, and go with their owner', async t => {
  const world = await open(t);
  const { id } = await ask(world);
  await world.post(`/admin/quota/requests/${id}/grant`, {});
  await ask(world);
  await world.restart();
  t.equal(await isAllowed(world, 'alice'), true);
  await world.patch('/admin/users/bob', { username: 'robert' });
  await ask(world, 'bob');
  t.match(await world.get('/admin/quota/requests?state=open'), [
    { owner: 'robert', asked_by: 'robert' },
    { owner: 'alice' },
  ]);
  const body = { bytes: 1, until: inDays(1), why: 'x' };
  await world.post('/admin/users/robert/quota/allowances', body);
  await world.remove('/admin/users/robert');
  t.match(await world.get('/admin/quota/requests'), [{ owner: 'alice' }, { owner: 'alice' }]);
  const { text } = await world.must(200, 'GET', '/admin/backup');
  t.equal(text.match(/"kind":"allowance","key"/g)?.length, 1, 'only that of alice is left');
  await world.post('/admin/users', { username: 'robert' });
  t.strictSame(await world.get('/admin/users/robert/quota/allowances'), []);
});

t.test('a refusal leads to the page to ask on if its address is known and nobody else is named', async t => {
  const world = await open(t);
  const question = '/v1/check?owner=alice&subject=size:git:lfs';
  // Lines are wrapped.
  const refused = async () =>
    (await askGate(world.sockets.gate, question, asText)).text.replaceAll('\n', ' ').trim();
  t.notMatch(await refused(), /To ask for more space/, 'nobody said where the page is');
  await world.restart({ server: { ROOT_URL: 'https://git.example/quota' } });
  t.ok((await refused()).endsWith('To ask for more space: https://git.example/quota/mine'));
  world.reload({ server: { ROOT_URL: 'https://git.example/quota' }, requests: { ENABLED: 'false' } });
  t.notMatch(await refused(), /To ask for more space/);
  world.reload({
    server: { ROOT_URL: 'https://git.example/quota' },
    hooks: { CONTACT: 'Ask Ann' },
  });
  t.ok((await refused()).endsWith('Ask Ann'));
});

t.test('a draft policy is tried with the allowances that there are', async t => {
  const world = await open(t);
  const body = { bytes: 500, until: inDays(1), why: 'x' };
  await world.post('/admin/users/alice/quota/allowances', body);
  const trial = async (total: number) => await world.post('/admin/quota/simulate', { settings: { total } });
  t.match(await trial(800), { refused: { count: 0 } });
  t.match(await trial(600), { refused: { count: 1, first: [{ user: 'alice' }] } });
});
