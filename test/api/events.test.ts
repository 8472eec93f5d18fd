/** The record of events over HTTP: who changed what, before and after; refusals; thresholds. */

import { createHash } from 'node:crypto';
import t from 'tap';
import { z } from 'zod';
import { type Event, type EventKind, event } from '../../src/overview/index.ts';
import { until } from '../e2e/ask.ts';
import { messageOf } from './people.ts';
import { type Answer, World } from './world.ts';

const path = '/admin/quota/events';
const small: Readonly<Record<string, Record<string, string>>> = { 'quota.default': { TOTAL: '1000' } };

/** Newest first. */
async function events<Kind extends EventKind>(
  world: World,
  kind: Kind,
  query = '',
): Promise<readonly Extract<Event, { kind: Kind }>[]> {
  const found = z.array(event).parse(await world.get(`${path}?kind=${kind}&limit=1000${query}`));
  return found.filter((each): each is Extract<Event, { kind: Kind }> => each.kind === kind);
}

/** Changes since then, oldest first, in short. */
async function changesSince(world: World, count: number) {
  const all = (await events(world, 'policy')).toReversed();
  return all.slice(count).map(({ action, what, name, before, after }) => [action, what, name, before, after]);
}

/** Resolves once there are so many of a kind. */
function happened<Kind extends EventKind>(world: World, kind: Kind, count: number, query = '') {
  return until(async () => {
    const found = await events(world, kind, query);
    return found.length >= count ? found : null;
  });
}

t.test('each change of policy is there at once, with who asked for it, and before and after', async t => {
  const world = await World.open(t);
  const count = (await events(world, 'policy')).length;
  const total = { limit: 5, subjects: ['size:all'] };
  await world.must(201, 'POST', '/admin/quota/rules', { body: { name: 'total', ...total } });
  await world.must(200, 'PATCH', '/admin/quota/rules/total', { body: { limit: 9 } });
  await world.must(201, 'POST', '/admin/quota/groups', {
    body: { name: 'free', rules: [{ name: 'total' }] },
  });
  await world.must(204, 'PUT', '/admin/quota/groups/free/users/alice');
  await world.must(204, 'POST', '/admin/users/alice/quota/groups', { body: { groups: [] } });
  await world.must(204, 'DELETE', '/admin/quota/groups/free', { as: 'host' });
  t.strictSame(await changesSince(world, count), [
    ['created', 'rule', 'total', null, total],
    ['edited', 'rule', 'total', total, { ...total, limit: 9 }],
    ['created', 'group', 'free', null, { rules: ['total'] }],
    ['created', 'assignment', 'alice', null, { groups: ['free'] }],
    ['deleted', 'assignment', 'alice', { groups: ['free'] }, null],
    ['deleted', 'group', 'free', { rules: ['total'] }, null],
  ]);
  const [last, ...others] = await events(world, 'policy');
  const admin = z.object({ id: z.number() }).parse((await world.call('GET', '/admin/users/admin1')).json);
  const tokens = await world.must(200, 'GET', '/users/admin1/tokens');
  const [token] = z.array(z.object({ id: z.number() })).parse(tokens.json);
  t.strictSame(last?.by, { owner_id: null, name: null, token_id: null }, "this host's administrator");
  t.strictSame(others[0]?.by, { owner_id: admin.id, name: 'admin1', token_id: String(token?.id) });
  t.equal(others[0]?.owner, 'alice');
});

t.test('what came into force together has the same change, and what failed is no event', async t => {
  const world = await World.open(t);
  const count = (await events(world, 'policy')).length;
  const rules = [
    { name: 'git', limit: 1, subjects: ['size:git:all'] },
    { name: 'rest', limit: 2, subjects: ['size:assets:all'] },
  ];
  await world.must(201, 'POST', '/admin/quota/groups', { body: { name: 'free', rules } });
  await world.must(409, 'POST', '/admin/quota/groups', { body: { name: 'free', rules } });
  await world.must(422, 'POST', '/admin/quota/rules', { body: { name: 'x', limit: -2 } });
  await world.must(404, 'PATCH', '/admin/quota/rules/gone', { body: { limit: 1 } });
  const policies = (await events(world, 'policy')).toReversed().slice(count);
  t.match(
    policies.map(({ what, name }) => [what, name]),
    [
      ['rule', 'git'],
      ['rule', 'rest'],
      ['group', 'free'],
    ],
  );
  t.equal(new Set(policies.map(({ change }) => change)).size, 1);
  t.ok(new Set(policies.map(({ id }) => id)).size === 3, 'each with an id of its own');
});

t.test('users, members and tokens are on record, without any secret', async t => {
  const world = await World.open(t);
  const count = (await events(world, 'policy')).length;
  const body = { username: 'dave', email: 'dave@git.example' };
  await world.must(201, 'POST', '/admin/users', { body });
  await world.must(200, 'PATCH', '/admin/users/dave', { body: { username: 'david' } });
  await world.must(204, 'PUT', '/admin/orgs/acme/members/david', { body: { role: 'member' } });
  const made = await world.must(201, 'POST', '/users/david/tokens', {
    body: { name: 'ci', scopes: ['read:user'] },
  });
  const { sha1, id } = z.object({ sha1: z.string(), id: z.number() }).parse(made.json);
  await world.must(200, 'GET', '/user/quota', { token: sha1 });
  await world.must(204, 'DELETE', `/users/david/tokens/${id}`);
  await world.must(204, 'DELETE', '/admin/users/david');
  // Ending writes when tokens were last used, which is no change of anything that is ruled.
  await world.restart();
  const short = (await changesSince(world, count)).map(([action, what, name]) => `${action} ${what} ${name}`);
  t.strictSame(short, [
    'created owner dave',
    'created profile dave',
    'edited owner david',
    'edited members acme',
    'created token ci',
    'deleted token ci',
    'deleted owner david',
    'edited members acme',
    'deleted profile david',
  ]);
  const { text } = await world.must(200, 'GET', `${path}?limit=1000`);
  for (const secret of [sha1, createHash('sha256').update(sha1).digest('hex')])
    t.notOk(text.includes(secret));
});

t.test('refusals of the gate are added up per owner and actor, within about a second', async t => {
  const world = await World.open(t, { settings: small });
  await world.report('alice', 'size:git:lfs', 1001);
  const refused = async (actor: string) => {
    const asked = `/v1/check?owner=ALICE&subject=size:git:lfs&actor=${actor}`;
    t.equal((await world.gate('GET', asked)).status, 413);
  };
  for (const actor of ['bob', 'bob', 'carol', 'bob']) await refused(actor);
  await world.gate('GET', '/v1/check?owner=bob&subject=size:git:lfs');
  const all = await until(async () => {
    const found = await events(world, 'refusal');
    return found.reduce((sum, each) => sum + each.count, 0) === 4 ? found : null;
  });
  const common = {
    owner: 'alice',
    subject: 'size:git:lfs',
    used: 1001,
    limit: 1000,
    group: null,
    rule: null,
  };
  t.match(
    // An hour may have ended in the midst of it.
    all.filter(({ actor }) => actor === 'carol'),
    [{ ...common, count: 1, mode: 'enforce', others: false }],
  );
  t.equal((await events(world, 'refusal', '&owner=bob')).length, 0);
  t.strictSame(await events(world, 'refusal', '&owner=Alice'), all);
  await world.restart();
  t.strictSame(await events(world, 'refusal'), all);
});

t.test('coming to a threshold and to the limit is told, and falling below', async t => {
  const world = await World.open(t, { settings: small });
  await world.report('alice', 'size:git:lfs', 850);
  await happened(world, 'threshold', 1);
  await world.report('alice', 'size:git:lfs', 1001);
  await happened(world, 'threshold', 2);
  await world.report('alice', 'size:git:lfs', 0);
  const told = await happened(world, 'threshold', 3, '&owner=alice');
  t.match(
    told.map(({ direction, from, to, used, limit }) => ({ direction, from, to, used, limit })),
    [
      { direction: 'down', from: 'limit', to: null, used: 0, limit: 1000 },
      { direction: 'up', from: 80, to: 'limit', used: 1001, limit: 1000 },
      { direction: 'up', from: null, to: 80, used: 850, limit: 1000 },
    ],
  );
});

t.test('events of an owner who is gone are found by the name, those of one renamed by both', async t => {
  const world = await World.open(t);
  await world.must(201, 'POST', '/admin/users', { body: { username: 'dave' } });
  await world.must(200, 'PATCH', '/admin/users/dave', { body: { username: 'erin' } });
  const of = async (owner: string) =>
    (await events(world, 'policy', `&owner=${owner}`)).map(
      ({ action, what, name }) => `${action} ${what} ${name}`,
    );
  const whole = ['edited owner erin', 'created profile dave', 'created owner dave'];
  t.strictSame(await of('erin'), whole);
  t.strictSame(await of('dave'), whole, 'the change of name was told under the old one');
  await world.must(204, 'DELETE', '/admin/users/erin');
  const gone = ['deleted profile erin', 'deleted owner erin'];
  t.strictSame(await of('erin'), gone, 'nobody has the name: what was told under it');
  t.strictSame(await of('dave'), whole);
  await world.must(201, 'POST', '/admin/users', { body: { username: 'erin' } });
  t.strictSame(await of('erin'), ['created profile erin', 'created owner erin', ...gone]);
  t.strictSame(await of('never-heard-of'), []);
});

async function linked(world: World, answer: Answer): Promise<string | null> {
  const [, address] = /^<([^>]+)>; rel="next"$/.exec(String(answer.headers.link ?? '')) ?? [];
  if (address === undefined) return null;
  t.equal(new URL(address).origin, world.url.origin);
  return address.slice(address.indexOf('/api/v1') + '/api/v1'.length);
}

t.test('pages lead on by Link, each event is on one of them, and the filter goes along', async t => {
  const world = await World.open(t);
  for (let at = 0; at < 5; at++) {
    await world.must(201, 'POST', '/admin/quota/rules', { body: { name: `r${at}`, limit: at } });
  }
  const all = await events(world, 'policy');
  const paged: unknown[] = [];
  let next: string | null = `${path}?kind=policy&limit=4`;
  while (next !== null) {
    const page: Answer = await world.must(200, 'GET', next);
    const found = z.array(event).parse(page.json);
    paged.push(...found);
    next = await linked(world, page);
    t.equal(found.length, Math.min(4, all.length - (paged.length - found.length)));
    if (next !== null) t.match(next, /kind=policy&.*limit=4.*after=/);
  }
  t.strictSame(paged, all);
  t.equal((await world.must(200, 'GET', path)).headers.link, undefined, '50 unless it is said');
});

t.test('Link begins with ROOT_URL', async t => {
  const world = await World.open(t, { settings: { server: { ROOT_URL: 'https://git.example/quota/' } } });
  const { headers } = await world.must(200, 'GET', `${path}?limit=1`);
  t.match(headers.link, /^<https:\/\/git\.example\/quota\/api\/v1\/admin\/quota\/events\?/);
});

t.test('what cannot be asked for is refused, with every fault', async t => {
  const world = await World.open(t);
  for (const [query, fault] of [
    ['kind=refusals', /^kind: /],
    ['kind=', /^kind: /],
    ['owner=', /^owner: /],
    ['limit=0', /^limit: /],
    ['limit=1001', /^limit: /],
    ['limit=1.5', /^limit: /],
    ['limit=x', /^limit: /],
    ['limit=', /^limit: /],
    ['after=x', /^after: /],
    ['after=', /^after: /],
    ['page=2', /there is no page/],
    ['kind=x&limit=0', /^kind: .*; limit: /],
  ] as const) {
    t.match(messageOf(await world.must(422, 'GET', `${path}?${query}`)), fault, query);
  }
});

t.test('what is older than KEEP goes', async t => {
  const world = await World.open(t);
  t.ok((await events(world, 'policy')).length > 0);
  await until(async () => {
    world.reload({ events: { KEEP: '1s' } });
    return (await events(world, 'policy')).length === 0 ? true : null;
  });
});

t.test('what is said of users, tokens and sources has the names and forms of the API', async t => {
  const world = await World.open(t);
  const count = (await events(world, 'policy')).length;
  const profile = { email: 'dave@git.example', full_name: 'Dave', is_admin: false };
  await world.must(201, 'POST', '/admin/users', { body: { username: 'dave', ...profile } });
  const token = { name: 'ci', scopes: ['read:user'], expires_at: '2099-01-31T00:00:00.000Z' };
  const { json: made } = await world.must(201, 'POST', '/users/admin1/tokens', { body: token });
  const { id: tokenId } = z.object({ id: z.number() }).parse(made);
  const company = {
    name: 'company',
    openid_connect_auto_discovery_url: 'http://127.0.0.1:2',
    client_id: 'softquota',
    quota_group_map: { staff: ['free'] },
  };
  const { json: added } = await world.must(201, 'POST', '/admin/auths', { body: company });
  const { id: sourceId } = z.object({ id: z.number() }).parse(added);
  const { json } = await world.must(200, 'GET', `/admin/auths/${sourceId}`);
  const afters = new Map((await changesSince(world, count)).map(([, what, , , after]) => [what, after]));
  t.strictSame(afters.get('profile'), profile);
  t.strictSame(afters.get('token'), { id: tokenId, ...token });
  const fields = z.record(z.string(), z.unknown());
  const { client_secret_at: secretAt, ...told } = fields.parse(afters.get('source'));
  t.equal(secretAt, null);
  t.strictSame({ ...fields.parse(json), ...told }, json);
});

t.test('events are found by time, by who acted and by their words, further and further back', async t => {
  const world = await World.open(t, { settings: small });
  const begun = new Date().toISOString();
  const total = { limit: 5, subjects: ['size:all'] };
  await world.must(201, 'POST', '/admin/quota/rules', { body: { name: 'Ein Gigabyte', ...total } });
  await world.must(201, 'POST', '/admin/quota/rules', { as: 'host', body: { name: 'other', ...total } });
  for (let limit = 10; limit < 30; limit++) {
    await world.must(200, 'PATCH', '/admin/quota/rules/other', { as: 'host', body: { limit } });
  }
  await world.report('bob', 'size:git:lfs', 2000);
  await world.gate('GET', '/v1/check?owner=bob&subject=size:git:lfs&actor=Mallory');
  await happened(world, 'refusal', 1);
  const found = async (query: string) => {
    return z.array(event).parse(await world.get(`${path}?${query}`));
  };
  const names = async (query: string) =>
    (await found(query)).map(each => (each.kind === 'policy' ? each.name : `${each.kind} of ${each.owner}`));
  t.strictSame(await names('q=ein%20GIGA'), ['Ein Gigabyte']);
  t.strictSame(await names('q=subjects'), [], 'names of fields are no words');
  t.strictSame(await names('actor=mallory'), ['refusal of bob']);
  t.strictSame(await names(`actor=admin1&since=${begun}`), ['Ein Gigabyte']);
  t.strictSame(await names(`actor=nobody&since=${begun}`), []);
  const all = await found(`kind=policy&since=${begun}&limit=1000`);
  t.equal(all.length, 22, 'nothing from before');
  const [last] = all;
  const first = all.at(-1);
  t.strictSame(
    (await found(`kind=policy&since=${begun}&until=${first?.at}`)).map(({ id }) => id),
    [...all.filter(({ at }) => at === first?.at).map(({ id }) => id)],
  );
  t.strictSame(
    await found(`kind=policy&since=${new Date(Date.parse(last?.at ?? '') + 1).toISOString()}`),
    [],
  );
  const seen: string[] = [];
  let next: string | undefined = `${path}?kind=policy&q=other&limit=6`;
  while (next !== undefined) {
    const answer: Answer = await world.must(200, 'GET', next);
    const page = z.array(event).parse(answer.json);
    t.ok(page.length <= 6);
    seen.push(...page.map(({ id }) => id));
    next = /\/api\/v1([^>]*)>; rel="next"/.exec(String(answer.headers.link ?? ''))?.[1];
  }
  t.equal(new Set(seen).size, 21);
  t.equal(seen.length, 21);
  for (const [query, fault] of [
    ['since=yesterday', /^since: expected a time/],
    ['until=2026-01-01', /^until: expected a time/],
  ] as const) {
    t.match(messageOf(await world.must(422, 'GET', `${path}?${query}`)), fault);
  }
});

t.test('events as CSV have a line each, and nothing in them is a formula', async t => {
  const world = await World.open(t, { settings: small });
  const rule = { name: '=HYPERLINK("x")', limit: 5, subjects: ['size:all'] };
  await world.must(201, 'POST', '/admin/quota/rules', { body: rule });
  await world.report('bob', 'size:git:lfs', 2000);
  await world.gate('GET', '/v1/check?owner=bob&subject=size:git:lfs&actor=%40cmd');
  await happened(world, 'refusal', 1);
  const { text } = await world.must(200, 'GET', '/admin/quota/events.csv');
  const lines = text.trimEnd().split('\r\n');
  t.match(lines[0], /^at,last_at,kind,action,owner,actor,what,name,/);
  const count = z.array(event).parse(await world.get(`${path}?limit=1000`)).length;
  t.equal(lines.length, count + 1);
  t.match(
    lines.find(line => line.includes('HYPERLINK')),
    /,policy,created,,admin1,rule,"'=HYPERLINK\(""x""\)",/,
  );
  t.match(
    lines.find(line => line.includes(',refusal,')),
    /,refused,bob,"'@cmd",,,size:git:lfs,1,2000,1000,/,
  );
  const some = await world.must(200, 'GET', '/admin/quota/events.csv?kind=refusal&actor=@cmd');
  t.equal(some.text.trimEnd().split('\r\n').length, 2);
});
