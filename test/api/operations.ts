/**
 * One request for each operation of the API, by its id, that succeeds. In this order they are a story: each
 * finds what those before it left.
 */

import { z } from 'zod';
import { until } from '../e2e/ask.ts';
import { ourPage, signedIn } from './browser.ts';
import { sessionsOf } from './people.ts';
import type { Answer, Person, World } from './world.ts';

export interface Example {
  readonly method: string;
  readonly path: string;
  /** admin1 unless given. */
  readonly as?: Person | 'nobody';
  /** Instead. */
  readonly token?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const rules = '/admin/quota/rules';
const groups = '/admin/quota/groups';
const scans = '/admin/quota/scans';

const get = (path: string, as?: Person): Example => ({
  method: 'GET',
  path,
  ...(as === undefined ? {} : { as }),
});
const post = (path: string, body: unknown): Example => ({ method: 'POST', path, body });
const put = (path: string, body?: unknown): Example => ({ method: 'PUT', path, body });
const patch = (path: string, body: unknown): Example => ({ method: 'PATCH', path, body });
const remove = (path: string): Example => ({ method: 'DELETE', path });

/** Nothing listens there, which is a warning. */
const company = {
  name: 'company',
  openid_connect_auto_discovery_url: 'http://127.0.0.1:2',
  client_id: 'softquota',
  quota_group_claim_name: 'groups',
};

/** No notice is delivered: an address inside is not allowed. */
const brokenHook = {
  URL: 'http://127.0.0.1:9/',
  SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  EVENTS: 'policy',
};

/** The first notice that could not be delivered, as soon as there is one. */
async function deadNotice(world: World): Promise<string> {
  const path = '/admin/quota/notices';
  // A notice waits two seconds after its first attempt, and hours after many.
  await world.post(groups, { name: 'fresh' });
  await world.remove(`${groups}/fresh`);
  await until(async () => {
    return (
      tried
        .parse(await world.get(`${path}?state=pending`))
        .deliveries.some(({ attempts }) => attempts === 1) || null
    );
  });
  // Notices that wait for a webhook that is gone are given up at the next attempt.
  world.reload({ 'webhook.other': brokenHook });
  const id = await until(async () => {
    return (
      z.object({ deliveries: z.array(withId) }).parse(await world.get(`${path}?state=dead`)).deliveries[0]
        ?.id ?? null
    );
  });
  world.reload({ 'webhook.chat': brokenHook });
  return id;
}

/** Path of the only source that there is. */
async function sourcePath(world: World, below = ''): Promise<string> {
  const [{ id }] = z.tuple([z.object({ id: z.number() })]).parse(await world.get('/admin/auths'));
  return `/admin/auths/${id}${below}`;
}

const more = { bytes: 1000, until: '2030-01-01T00:00:00Z', why: 'a release' };
const withId = z.object({ id: z.string() });
const tried = z.object({ deliveries: z.array(z.object({ attempts: z.number() })) });

/** The id of the request that is open; of none where whoever tells the story could not ask. */
async function openRequest(world: World): Promise<string> {
  return z.array(withId).parse(await world.get('/admin/quota/requests?state=open'))[0]?.id ?? 'none';
}

/** The id of a request that somebody makes. */
async function newRequestOf(world: World, as: Person): Promise<string> {
  return withId.parse(await world.post('/user/quota/requests', more, { as })).id;
}

/** Those of what hosts share. */
export const shared: Readonly<Record<string, Example>> = {
  listHosts: get('/admin/quota/hosts'),
  forgetHost: remove('/admin/quota/hosts/other'),
  getSharedStore: get('/admin/quota/store'),
  repairStore: post('/admin/quota/store/repair', { policy: 'stored' }),
};

type Examples = Readonly<Record<string, Example | ((world: World) => Promise<Example>)>>;

/** Those of the figures that alice and her organization have alike. */
function figuresOf(of: string, path: string): Examples {
  return {
    [`getSpaceOf${of}`]: get(`${path}/space`, 'alice'),
    [`getQuotaOf${of}`]: get(path, 'alice'),
    [`checkQuotaOf${of}`]: get(`${path}/check?subject=size:all`, 'alice'),
    [`listArtifactsOf${of}`]: get(`${path}/artifacts`, 'alice'),
    [`listAttachmentsOf${of}`]: get(`${path}/attachments`, 'alice'),
    [`listPackagesOf${of}`]: get(`${path}/packages`, 'alice'),
    [`getReportOf${of}`]: get(`${path}/report`, 'alice'),
    [`explainDecisionOf${of}`]: get(`${path}/explain?subject=size:git:lfs`, 'alice'),
    [`getHistoryOf${of}`]: get(`${path}/history?range=year`, 'alice'),
    [`listEventsOf${of}`]: get(`${path}/events?kind=refusal`, 'alice'),
  };
}

function requestsOf(of: string, path: string): Examples {
  const requests = `${path}/requests`;
  return {
    [`requestSpaceFor${of}`]: { ...post(requests, more), as: 'alice' },
    [`listRequestsOf${of}`]: get(requests, 'alice'),
    [`withdrawRequestOf${of}`]: async world => ({
      ...remove(`${requests}/${await openRequest(world)}`),
      as: 'alice',
    }),
  };
}

export const examples: Examples = {
  createRule: post(rules, { name: 'total', limit: 1000, subjects: ['size:all'] }),
  listRules: get(rules),
  getRule: get(`${rules}/total`),
  editRule: patch(`${rules}/total`, { limit: 2000 }),

  createGroup: post(groups, { name: 'free', rules: [{ name: 'total' }, { name: 'spare', limit: -1 }] }),
  listGroups: get(groups),
  listGroupNames: get('/admin/quota/group-names'),
  getGroup: get(`${groups}/free`),
  removeRuleFromGroup: remove(`${groups}/free/rules/spare`),
  addRuleToGroup: put(`${groups}/free/rules/spare`),
  deleteRule: remove(`${rules}/spare`),

  addUserToGroup: put(`${groups}/free/users/alice`),
  listUsersInGroup: get(`${groups}/free/users`),
  getUsageOfGroup: get(`${groups}/free/usage`),
  getQuotaOfUser: get('/admin/users/alice/quota'),
  lintPolicy: get('/admin/quota/lint'),
  simulatePolicy: post('/admin/quota/simulate', {
    rules: [{ name: 'total', limit: 1, subjects: ['size:all'] }],
  }),
  getPolicy: get('/admin/quota/policy'),
  replacePolicy: async world => put('/admin/quota/policy', await world.get('/admin/quota/policy')),
  explainDecision: get('/admin/quota/explain?user=alice&subject=size:git:lfs'),
  listUsage: get('/admin/quota/usage?sort=total&limit=1'),
  downloadUsage: get('/admin/quota/usage.csv?state=over,ok'),
  getUsage: get('/admin/quota/usage/alice'),
  listUnits: get('/admin/quota/units?limit=1'),

  getSpace: get('/admin/quota/space?user=alice'),
  startReclaim: post('/admin/quota/reclaims', {}),
  listReclaims: get('/admin/quota/reclaims'),
  ...figuresOf('Caller', '/user/quota'),
  ...figuresOf('Organization', '/orgs/acme/quota'),
  getOverview: get('/admin/quota/overview'),
  getHistory: get('/admin/quota/history?owner=alice&range=day'),

  ...requestsOf('Caller', '/user/quota'),
  ...requestsOf('Organization', '/orgs/acme/quota'),
  listRequests: get('/admin/quota/requests?state=withdrawn'),
  grantRequest: async world =>
    post(`/admin/quota/requests/${await newRequestOf(world, 'bob')}/grant`, { words: 'for now' }),
  declineRequest: async world =>
    post(`/admin/quota/requests/${await newRequestOf(world, 'carol')}/decline`, { words: 'no' }),
  createAllowance: post('/admin/users/bob/quota/allowances', more),
  listAllowances: get('/admin/users/bob/quota/allowances'),
  endAllowance: async world => {
    const path = '/admin/users/bob/quota/allowances';
    return remove(`${path}/${z.array(withId).parse(await world.get(path))[0]?.id}`);
  },

  removeUserFromGroup: remove(`${groups}/free/users/alice`),
  setGroupsOfUser: post('/admin/users/alice/quota/groups', { groups: ['free'] }),
  deleteGroup: remove(`${groups}/free`),

  createUser: post('/admin/users', { username: 'dave', email: 'dave@git.example' }),
  listUsers: get('/admin/users?limit=1'),
  getUser: get('/admin/users/dave'),
  editUser: patch('/admin/users/dave', { full_name: 'Dave' }),
  setMember: put('/admin/orgs/acme/members/dave', { role: 'member' }),
  listMembers: get('/admin/orgs/acme/members'),
  removeMember: remove('/admin/orgs/acme/members/dave'),
  createToken: post('/users/admin1/tokens', { name: 'laptop', scopes: ['read:user'] }),
  listTokens: get('/users/admin1/tokens'),
  listAllTokens: get('/admin/tokens'),
  revokeToken: remove('/users/admin1/tokens/laptop'),
  makeSignInLink: post('/users/dave/sign-in-link', undefined),
  signIn: async world => ({
    ...post('/session', { token: await world.newToken('admin1', ['all']) }),
    as: 'nobody',
    headers: ourPage(world),
  }),
  getSession: get('/session', 'alice'),
  listSessions: get('/users/admin1/sessions'),
  listAllSessions: get('/admin/sessions'),
  endSession: async world => {
    const [first] = await sessionsOf(world, 'admin1');
    return remove(`/users/admin1/sessions/${first?.id}`);
  },
  signOut: async world => ({ ...remove('/session'), as: 'nobody', headers: await signedIn(world, 'dave') }),
  deleteUser: remove('/admin/users/dave'),

  startScan: post(scans, { kind: 'verify' }),
  listScans: get(scans),
  getScan: async world => {
    const [latest] = z.array(z.object({ id: z.number() })).parse(await world.get(scans));
    return get(`${scans}/${latest?.id}`);
  },

  listEvents: get('/admin/quota/events'),
  downloadEvents: get('/admin/quota/events.csv?kind=policy'),
  sendNoticeAgain: async world =>
    post(`/admin/quota/notices/${await deadNotice(world)}/send-again`, undefined),
  listNotices: get('/admin/quota/notices'),
  testNotices: post('/admin/quota/notices/test', { to: 'chat' }),
  sendAllNoticesAgain: post('/admin/quota/notices/send-again', undefined),
  setMailWish: { ...patch('/user/quota/notices', { mail: false }), as: 'alice' },
  getMailWish: get('/user/quota/notices', 'alice'),
  listFindings: get('/admin/quota/findings'),
  createSource: post('/admin/auths', company),
  listSources: get('/admin/auths'),
  getSource: async world => get(await sourcePath(world)),
  editSource: async world => patch(await sourcePath(world), { quota_group_map: { staff: ['free'] } }),
  trySource: async world => post(await sourcePath(world, '/try'), { claims: { groups: ['staff'] } }),
  trySourceDraft: post('/admin/auths/try', { source: company, claims: { groups: ['staff'] } }),
  synchronizeUser: async world =>
    post(await sourcePath(world, '/claims'), { user: 'bob', claims: { groups: ['staff'] } }),
  linkUser: async world => put(await sourcePath(world, '/links/bob'), { subject: 'sub-bob' }),
  listLinks: async world => get(await sourcePath(world, '/links')),
  unlinkUser: async world => remove(await sourcePath(world, '/links/bob')),
  listSignInSources: { method: 'GET', path: '/sign-in/sources', as: 'nobody' },
  deleteSource: async world => remove(await sourcePath(world)),

  takeBackup: get('/admin/backup'),
  getVersion: get('/version'),
  getDescription: get('/openapi.json'),
};

/** Makes lists long enough to show what is in them. */
export async function fill(world: World): Promise<void> {
  const leaves = ['artifacts', 'attachments:issues', 'attachments:releases', 'packages:all'];
  for (const leaf of leaves) {
    await world.report('alice', `size:assets:${leaf}`, 100);
    await world.report('acme', `size:assets:${leaf}`, 100);
  }
}

/** The requests of the story, one after the other as they are sent. */
export async function* story(world: World): AsyncGenerator<readonly [id: string, example: Example]> {
  world.reload({ 'webhook.chat': brokenHook });
  for (const [id, example] of Object.entries(examples)) {
    yield [id, typeof example === 'function' ? await example(world) : example];
  }
}

/** Sends the request of an example. */
export function ask(world: World, { method, path, ...asked }: Example): Promise<Answer> {
  return world.call(method, path, asked);
}
