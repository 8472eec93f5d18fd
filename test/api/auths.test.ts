import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { z } from 'zod';
import { savedSource, source } from '../../src/wire/index.ts';
import { groupsOf, messageOf, signInEvents, userOf } from './people.ts';
import { World } from './world.ts';

const secret = 'client-secret-that-nobody-may-see';

const company = {
  name: 'company',
  // Nothing listens there.
  openid_connect_auto_discovery_url: 'http://127.0.0.1:2/realms/git',
  client_id: 'softquota',
  client_secret: secret,
  quota_group_claim_name: 'groups',
  quota_group_map: { staff: ['gold', 'silver'], guests: ['bronze'], ['__proto__']: ['gold'] },
  quota_group_map_removal: true,
};

async function openWorld(t: Test, settings = {}): Promise<World> {
  const world = await World.open(t, { settings });
  for (const name of ['gold', 'silver', 'bronze', 'manual']) {
    await world.post('/admin/quota/groups', { name, rules: [] });
  }
  return world;
}

async function saved(world: World, body: object = company): Promise<z.infer<typeof savedSource>> {
  return savedSource.parse(await world.post('/admin/auths', body));
}

t.test('a source is made with three fields, and says what all others are', async t => {
  const world = await openWorld(t);
  const { name, openid_connect_auto_discovery_url, client_id } = company;
  const made = await saved(world, { name, openid_connect_auto_discovery_url, client_id });
  t.match(made, {
    client_secret_state: 'none',
    username_claim: 'preferred_username',
    trust_usernames: false,
    quota_group_claim_name: '',
    quota_group_map: {},
    quota_group_map_removal: false,
    missing_claim: 'remove',
    sign_out_at_provider: false,
    is_active: true,
    redirect_uri: `${world.url}sign-in/oauth2/${made.id}/callback`,
    post_logout_redirect_uri: `${world.url}sign-in`,
  });
  t.match(
    made.warning,
    /^at the moment nobody can sign in with this source: the provider cannot be used/,
    'a provider that is away is a warning',
  );
  await world.must(409, 'POST', '/admin/auths', { body: company });
  await world.post('/admin/auths', { ...company, name: 'the same issuer' });
  t.same(
    z
      .array(source)
      .parse(await world.get('/admin/auths'))
      .map(one => one.name),
    ['company', 'the same issuer'],
  );
  const offered = await world.must(200, 'GET', '/sign-in/sources', { as: 'nobody' });
  t.match(offered.json, [{ id: String(made.id), name: 'company' }, { name: 'the same issuer' }]);
});

t.test('a source is changed field by field, and goes', async t => {
  const world = await openWorld(t);
  const { id } = await saved(world);
  const path = `/admin/auths/${id}`;
  const edit = (body: object) => world.must(200, 'PATCH', path, { body });
  t.match(
    (await edit({ is_active: false, quota_group_map: '{"a,b":["gold","nope"]}', scopes: 'openid groups' }))
      .json,
    {
      is_active: false,
      scopes: ['openid', 'groups'],
      quota_group_map: { 'a,b': ['gold', 'nope'] },
      unknown_quota_groups: ['nope'],
      quota_group_claim_name: 'groups',
      client_secret_state: 'set',
      warning: null,
    },
  );
  t.match(await world.get('/sign-in/sources'), []);
  t.match((await edit({ client_secret: '', quota_group_claim_name: '' })).json, {
    client_secret_state: 'none',
    quota_group_claim_name: '',
  });
  await world.remove(path);
  for (const [method, body] of [['GET'], ['DELETE'], ['PATCH', {}]] as const) {
    await world.must(404, method, path, body === undefined ? {} : { body });
  }
});

t.test('a client secret is nowhere in clear, and is not sent to another provider', async t => {
  const world = await openWorld(t);
  const { id } = await saved(world);
  const elsewhere = { openid_connect_auto_discovery_url: 'https://evil.example' };
  const refused = await world.must(422, 'PATCH', `/admin/auths/${id}`, { body: elsewhere });
  t.match(messageOf(refused), /client_secret: it has to be given again/);
  await world.patch(`/admin/auths/${id}`, { name: 'renamed' });
  const told = await Promise.all(
    ['/admin/auths', `/admin/auths/${id}`, '/admin/quota/events', '/admin/backup'].map(path =>
      world.must(200, 'GET', path),
    ),
  );
  for (const { text } of told) t.notOk(text.includes(secret));
  await world.close();
  t.notOk(world.log.join().includes(secret));
  const data = join(world.directory, 'data');
  const files = readdirSync(data, { withFileTypes: true }).filter(file => file.isFile());
  t.ok(files.some(file => file.name === 'softquota.db'));
  for (const { name } of files) t.notOk(readFileSync(join(data, name)).includes(secret), name);
});

t.test('a new key reads what the old one encrypted, and a lost key loses only the secrets', async t => {
  const world = await openWorld(t);
  const { id } = await saved(world);
  const stateOf = async () => source.parse(await world.get(`/admin/auths/${id}`)).client_secret_state;
  const file = join(world.directory, 'data/secret.key');
  const first = readFileSync(file, 'utf8').trim();
  const rotated = `${'n'.repeat(40)},${first}`;
  writeFileSync(file, `${'l'.repeat(40)}\n`);
  await world.restart();
  t.equal(await stateOf(), 'unreadable');
  const edited = await world.must(200, 'PATCH', `/admin/auths/${id}`, { body: { is_active: true } });
  t.match(savedSource.parse(edited.json).warning, /SECRET_KEY/);
  const findings = await world.must(200, 'GET', '/admin/quota/findings');
  t.match(findings.text, /secret_lost/);
  await world.restart({ security: { SECRET_KEY: rotated } });
  t.equal(await stateOf(), 'set', 'saving it meanwhile has not harmed it');
  await world.patch(`/admin/auths/${id}`, { is_active: true });
  await world.restart({ security: { SECRET_KEY: 'n'.repeat(40) } });
  t.equal(await stateOf(), 'set', 'saving it has encrypted it with the newest key');
});

t.test('"Try it" shows what claims would change, and changes nothing', async t => {
  const world = await openWorld(t);
  const { id } = await saved(world);
  await world.put('/admin/quota/groups/bronze/users/bob');
  const claims = { groups: 'staff, __proto__', preferred_username: 'bob' };
  const expected = {
    outcome: 'synchronized',
    is_known: true,
    groups: ['gold', 'silver'],
    added: ['gold', 'silver'],
    removed: ['bronze'],
    administration: 'unchanged',
  };
  t.match(await world.post(`/admin/auths/${id}/try`, { claims }), expected);
  const draft = { ...company, name: 'not saved', admin_group_claim_name: 'groups', admin_group: 'staff' };
  const tried = await world.must(200, 'POST', '/admin/auths/try', {
    body: { source: draft, user: 'bob', claims },
  });
  t.match(tried.json, { ...expected, administration: 'given' });
  const nobody = await world.must(200, 'POST', `/admin/auths/${id}/try`, {
    body: { user: 'nobody', claims: { groups: ['guests', {}] } },
  });
  t.match(nobody.json, { is_known: false, groups: ['bronze'], ignored: [/number 2/] });
  await world.put(`/admin/auths/${id}/links/bob`, { subject: 'sub-bob' });
  const bySubject = await world.must(200, 'POST', '/admin/auths/try', {
    body: { source: company, claims: { ...claims, sub: 'sub-bob', preferred_username: 'robert' } },
  });
  t.match(bySubject.json, { is_known: true, removed: ['bronze'] }, 'whom a sign-in would find');
  t.same(await groupsOf(world, 'bob'), ['bronze']);
  t.same(await signInEvents(world), []);
  await world.must(404, 'POST', '/admin/auths/1/try', { body: { claims } });
  await world.must(422, 'POST', `/admin/auths/${id}/try`, { body: { claims: ['staff'] } });
});

t.test('claims that a program tells are on record as such, and only where something changes', async t => {
  const world = await openWorld(t, { users: { AUTO_CREATE: 'true' } });
  const { id } = await saved(world);
  const tell = (body: object) => world.must(200, 'POST', `/admin/auths/${id}/claims`, { body });
  t.match((await tell({ user: 'bob', claims: { groups: ['staff'] } })).json, { added: ['gold', 'silver'] });
  await tell({ user: 'bob', claims: { groups: ['staff'] } });
  await tell({ user: 'newcomer', claims: { groups: 'guests' } });
  t.same(await groupsOf(world, 'newcomer'), ['bronze']);
  const events = await signInEvents(world);
  t.match(events, [
    { owner: 'bob', source: { id, name: 'company' }, via: 'program', by: { name: 'admin1' } },
    { owner: 'newcomer', changes: [{ what: 'owner', action: 'created' }, { what: 'assignment' }] },
  ]);
  t.equal(events.length, 2);
  await world.must(409, 'POST', `/admin/auths/${id}/claims`, { body: { user: 'acme', claims: {} } });
});

t.test('an administrator says who somebody is at a provider, and takes it back', async t => {
  const world = await openWorld(t);
  const { id } = await saved(world);
  const links = `/admin/auths/${id}/links`;
  const link = (status: number, user: string, subject: string) =>
    world.must(status, 'PUT', `${links}/${user}`, { body: { subject } });
  await link(204, 'bob', 'sub-1');
  await link(204, 'bob', 'sub-1');
  t.match(messageOf(await link(409, 'alice', 'sub-1')), /another user/);
  t.match(messageOf(await link(409, 'bob', 'sub-2')), /another subject/);
  await link(422, 'acme', 'sub-3');
  await link(422, 'alice', '');
  await link(404, 'nobody', 'sub-3');
  t.match(await world.get(links), [{ user: 'bob', subject: 'sub-1', gives_administration: false }]);
  await link(204, 'alice', 'sub-2');
  await link(204, 'carol', 'sub-3');
  const page = await world.must(200, 'GET', `${links}?page=2&limit=1`);
  t.match(page.json, [{ user: 'alice', subject: 'sub-2' }]);
  t.match(page.headers, { 'x-total-count': '3', link: /page=3&limit=1>; rel="next"/ });
  await world.must(404, 'GET', '/admin/auths/1/links');
  for (const user of ['alice', 'bob', 'carol']) await world.remove(`${links}/${user}`);
  await world.must(404, 'DELETE', `${links}/bob`);
  await link(204, 'alice', 'sub-1');
  await link(204, 'carol', 'sub-2');
  await world.remove('/admin/users/carol');
  await link(204, 'bob', 'sub-2');
  t.notOk((await userOf(world, 'bob')).is_admin);
});
