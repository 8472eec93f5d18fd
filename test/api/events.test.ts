/** The record of events over HTTP: who changed what, before and after; refusals; thresholds. */

import { createHash } from 'node:crypto';
import t from 'tap';
import { z } from 'zod';
import { type Event, event } from '../../src/overview/index.ts';
import { until } from '../e2e/ask.ts';
import { type Answer, World } from './world.ts';

const path = '/admin/quota/events';
const small: Readonly<Record<string, Record<string, string>>> = { 'quota.default': { TOTAL: '1000' } };

/** Newest first. */
async function events<Kind extends Event['kind']>(
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
function happened<Kind extends Event['kind']>(world: World, kind: Kind, count: number, query = '') {
  return until(async () => {
    const found = await events(world, kind, query);
    return found.length >= count ? found : null;
  });
}

t.test('users, members and tokens are on record, without any secret', async t => {
  const world = await World.open(t);
  const count = (await events(world, 'policy')).length;
  const body = { username: 'dave', email: 'dave@git.example' };
  await world.post('/admin/users', body);
  await world.patch('/admin/users/dave', { username: 'david' });
  await world.put('/admin/orgs/acme/members/david', { role: 'member' });
  const made = await world.must(201, 'POST', '/users/david/tokens', {
    body: { name: 'ci', scopes: ['read:user'] },
  });
  const { sha1, id } = z.object({ sha1: z.string(), id: z.number() }).parse(made.json);
  await world.get('/user/quota', { token: sha1 });
  await world.remove(`/users/david/tokens/${id}`);
  await world.remove('/admin/users/david');
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

async function linked(world: World, answer: Answer): Promise<string | null> {
  const [, address] = /^<([^>]+)>; rel="next"$/.exec(String(answer.headers.link ?? '')) ?? [];
  if (address === undefined) return null;
  t.equal(new URL(address).origin, world.url.origin);
  return address.slice(address.indexOf('/api/v1') + '/api/v1'.length);
}

t.test('pages lead on by Link, each event is on one of them, and the filter goes along', async t => {
  const world = await World.open(t);
  for (let at = 0; at < 5; at++) {
    await world.post('/admin/quota/rules', { name: `r${at}`, limit: at });
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

t.test('what is said of users, tokens and sources has the names and forms of the API', async t => {
  const world = await World.open(t);
  const count = (await events(world, 'policy')).length;
  const profile = { email: 'dave@git.example', full_name: 'Dave', is_admin: false };
  await world.post('/admin/users', { username: 'dave', ...profile });
  const token = { name: 'ci', scopes: ['read:user'], expires_at: '2099-01-31T00:00:00.000Z' };
  const made = await world.post('/users/admin1/tokens', token);
  const { id: tokenId } = z.object({ id: z.number() }).parse(made);
  const company = {
    name: 'company',
    openid_connect_auto_discovery_url: 'http://127.0.0.1:2',
    client_id: 'softquota',
    quota_group_map: { staff: ['free'] },
  };
  const added = await world.post('/admin/auths', company);
  const { id: sourceId } = z.object({ id: z.number() }).parse(added);
  const json = await world.get(`/admin/auths/${sourceId}`);
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
  // The events of the opening are earlier, if only by a millisecond.
  const openedAt = Date.now();
  await until(() => (Date.now() > openedAt ? true : null));
  const begun = new Date().toISOString();
  const total = { limit: 5, subjects: ['size:all'] };
  await world.post('/admin/quota/rules', { name: 'Ein Gigabyte', ...total });
  await world.post('/admin/quota/rules', { name: 'other', ...total }, { as: 'host' });
  for (let limit = 10; limit < 30; limit++) {
    await world.patch('/admin/quota/rules/other', { limit }, { as: 'host' });
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
  let next: string | null = `${path}?kind=policy&q=other&limit=6`;
  while (next !== null) {
    const answer: Answer = await world.must(200, 'GET', next);
    const page = z.array(event).parse(answer.json);
    t.ok(page.length <= 6);
    seen.push(...page.map(({ id }) => id));
    next = await linked(world, answer);
  }
  t.equal(new Set(seen).size, 21);
  t.equal(seen.length, 21);
});

t.test('events as CSV have a line each, and nothing in them is a formula', async t => {
  const world = await World.open(t, { settings: small });
  const rule = { name: '=HYPERLINK("x")', limit: 5, subjects: ['size:all'] };
  await world.post('/admin/quota/rules', rule);
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
