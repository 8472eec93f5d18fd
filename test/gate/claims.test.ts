/**
 * `/v1/claims`, asked of a whole daemon: what a program tells of somebody has the results of the shared
 * cases.
 */

import { Agent } from 'node:http';
import t, { type Test } from 'tap';
import { savedSource } from '../../src/wire/index.ts';
import { type Answer, answerIn, send } from '../api/http.ts';
import { oddKeys } from '../api/keys.ts';
import { groupsOf } from '../api/people.ts';
import { World } from '../api/world.ts';
import { vectors } from '../identity/oauth/vectors.ts';

interface Asking {
  readonly world: World;
  /** Asks a socket. */
  tell(body: object | string, socket?: 'gate' | 'trusted', type?: string): Promise<Answer>;
}

async function open(t: Test, settings = {}): Promise<Asking> {
  const world = await World.open(t, { settings });
  for (const name of vectors.existingGroups) {
    await world.must(201, 'POST', '/admin/quota/groups', { body: { name, rules: [] } });
  }
  const agent = new Agent({ keepAlive: true });
  t.teardown(() => agent.destroy());
  const tell: Asking['tell'] = async (body, socket = 'trusted', type = 'application/json') => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return answerIn(
      await send({
        agent,
        to: { socketPath: world.sockets[socket] },
        method: 'POST',
        path: '/v1/claims',
        headers: { 'Content-Type': type, 'Content-Length': String(Buffer.byteLength(text)) },
        body: text,
      }),
    );
  };
  return { world, tell };
}

const company = {
  name: 'company',
  openid_connect_auto_discovery_url: 'http://127.0.0.1:2',
  client_id: 'softquota',
  quota_group_claim_name: 'groups',
  quota_group_map: { staff: ['gold', 'silver'] },
  quota_group_map_removal: true,
};

async function addSource(world: World): Promise<string> {
  const { json } = await world.must(201, 'POST', '/admin/auths', { body: company });
  return `/admin/auths/${savedSource.parse(json).id}`;
}

t.test('every shared case has its result, and what is refused when saved changes nothing', async t => {
  const { world, tell } = await open(t);
  const path = await addSource(world);
  for (const one of vectors.cases) {
    const body = {
      quota_group_claim_name: one.claimName,
      quota_group_map: one.mapping,
      quota_group_map_removal: one.removal,
    };
    const saved = await world.call('PATCH', path, { body });
    t.equal(saved.status, one.refusedWhenSaved === true ? 422 : 200, one.note);
    if (one.refusedWhenSaved === true) {
      t.match(saved.text, /quota_group_map/);
      continue;
    }
    await world.must(204, 'POST', '/admin/users/bob/quota/groups', { body: { groups: one.current } });
    const asked = { user: 'bob', source: 'company', claims: one.claims };
    const tried = await tell({ ...asked, try: true });
    t.same((await groupsOf(world, 'bob')).sort(), one.current.toSorted(), 'a trial changes nothing');
    const done = await tell(asked);
    t.same(done.json, tried.json, 'and tells what would be');
    t.same(oddKeys(done.json), [], 'in snake_case, as all of the gate');
    t.match(done.json, { groups: one.result }, `${one.note}: ${JSON.stringify(one)}`);
    t.same((await groupsOf(world, 'bob')).sort(), one.result);
  }
});

t.test('only trusted programs tell claims, and only of whom and what there is', async t => {
  const { world, tell } = await open(t);
  const path = await addSource(world);
  const asked = { user: 'bob', source: 'company', claims: { groups: 'staff' } };
  t.match(await tell(asked, 'gate'), { status: 403, text: /TRUSTED_SOCKET/ });
  t.same(await groupsOf(world, 'bob'), []);
  t.match(await tell({ ...asked, user: 'nobody' }), { status: 404 });
  t.match(await tell({ ...asked, source: 'another' }), { status: 404, text: /there is no source another/ });
  t.match(await tell({ ...asked, user: 'acme' }), { status: 409 });
  for (const bad of [
    { ...asked, claims: ['staff'] },
    { ...asked, claims: 'staff' },
    { ...asked, claims: null },
    { ...asked, user: '' },
    { ...asked, try: 'maybe' },
    { source: 'company', claims: {} },
  ]) {
    t.equal((await tell(bad)).status, 400, JSON.stringify(bad));
  }
  await world.must(200, 'PATCH', path, { body: { is_active: false } });
  t.match(await tell(asked), { status: 409, text: /not active/ });
});

t.test('a form has the claims as their JSON text, and numbers are their text', async t => {
  const { world, tell } = await open(t);
  const path = await addSource(world);
  await world.must(200, 'PATCH', path, { body: { quota_group_map: { 7: ['gold'], true: ['silver'] } } });
  const form = new URLSearchParams({ user: 'bob', source: 'company', claims: '{"groups":[7,true]}' });
  const done = await tell(form.toString(), 'trusted', 'application/x-www-form-urlencoded');
  t.match(done.json, { groups: ['gold', 'silver'] });
  t.match((await tell({ user: 'bob', source: 'company', claims: { groups: 7 } })).json, { groups: ['gold'] });
});

t.test('ten thousand groups are taken, and no program makes anybody an administrator', async t => {
  const { world, tell } = await open(t, { users: { AUTO_CREATE: 'true' } });
  const path = await addSource(world);
  await world.must(200, 'PATCH', path, { body: { admin_group_claim_name: 'groups', admin_group: 'root' } });
  const groups = [
    ...Array.from({ length: 10_000 }, (_, index) => `a group of some length ${index}`),
    'staff',
    'root',
  ];
  const tried = await tell({ user: 'newcomer', source: 'company', claims: { groups }, try: true });
  t.match(tried, { status: 200, json: { added: ['gold', 'silver'] } });
  await world.must(404, 'GET', '/admin/users/newcomer');
  t.match(await tell({ user: 'newcomer', source: 'company', claims: { groups } }), { status: 200 });
  t.match((await world.must(200, 'GET', '/admin/users/newcomer')).json, { is_admin: false });
  t.same(await groupsOf(world, 'newcomer'), ['gold', 'silver']);
  const events = await world.must(200, 'GET', '/admin/quota/events?kind=sign-in&owner=newcomer');
  t.match(events.json, [{ via: 'program', by: null, source: { name: 'company' } }]);
});
