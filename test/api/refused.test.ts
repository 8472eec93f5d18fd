/** Input that is refused, with the message that says what is wrong and where. None of it changes anything. */

import t from 'tap';
import { World } from './world.ts';

const world = await World.open(t);
await world.post('/admin/users', { username: 'guild', type: 'organization' });
await world.post('/admin/quota/rules', { name: 'total', limit: 1000, subjects: ['size:all'] });

type Row = readonly [input: unknown, message: RegExp];

interface Refused {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly message: RegExp;
}

function refusals(order: string, sound: object, rows: readonly Row[]): readonly Refused[] {
  const [method = '', path = ''] = order.split(' ');
  return rows.map(([input, message]) => {
    const isPart = typeof input === 'object' && !Array.isArray(input);
    return { method, path, body: isPart ? { ...sound, ...input } : input, message };
  });
}

/** Values of one field that are each refused alike. */
function wrong(field: string, values: readonly unknown[], message: RegExp): readonly Row[] {
  return values.map(value => [{ [field]: value }, message]);
}

/** By the path. */
const queries: Readonly<Record<string, readonly (readonly [query: string, message: RegExp])[]>> = {
  '/admin/quota/events': [
    ['kind=refusals', /^kind: /],
    ['kind=', /^kind: /],
    ['owner=', /^owner: /],
    ['limit=0', /^limit: /],
    ['limit=1001', /^limit: /],
    ['after=x', /^after: /],
    ['after=', /^after: /],
    ['page=2', /there is no page/],
    ['kind=x&limit=0', /^kind: .*; limit: /],
    ['since=yesterday', /^since: expected a time/],
    ['until=2026-01-01', /^until: expected a time/],
  ],
  '/admin/quota/usage': [
    ['sort=size:all', /^sort: /],
    ['sort=', /^sort: /],
    ['order=up', /^order: /],
    ['page=0', /^page: /],
    ['limit=0', /^limit: /],
    ['limit=1001', /^limit: /],
    ['state=full', /^state: expected over, grace, near or ok/],
    ['per_page=1', /there is no per_page/],
    ['sort=x&order=y&page=0&limit=0', /^sort: .*; order: .*; page: .*; limit: /],
    ['per=file', /per: expected one of owner, repository/],
    ['per=repository&sort=name&group=free', /sort: expected none.*group: expected none/s],
    ['per=repository&state=full', /state: expected over/],
    ['owner=bob', /owner: expected none with per=owner/],
  ],
  '/admin/quota/usage.csv': [['limit=3', /there is no limit/]],
  '/admin/quota/explain': [
    ['', /user: it is missing.*subject: it is missing/],
    ['user=alice', /^subject: it is missing/],
    ['user=&subject=size:all', /^user: /],
    ['subject=none', /^user: .*; subject: /],
    ['user=alice&subject=none', /^subject: expected one of size:all, /],
    ['user=alice&subject=SIZE:ALL', /^subject: /],
    ['user=alice&subject=size:all&size=-1', /^size: /],
    ['user=alice&subject=size:all&x=1', /there is no x/],
  ],
  '/user/quota/check': [['', /^subject: /]],
  '/admin/quota/history': [
    ['range=hour', /^range: /],
    ['group=plain&owner=bob', /^group: expected none with owner/],
  ],
  '/admin/quota/units': [['subject=size:x', /^subject: /]],
  '/admin/users': [['page=first&limit=1.5&type=robot', /type: .*page: .*limit: /]],
};

const rule = { name: 'other', limit: 1000, subjects: ['size:all'] };
const file = { name: 'other', limit: 100_000_000, subjects: ['size:repos:all'], per: 'file' };
const grace = /grace: expected whole seconds from 0 to 3153600000, or "default"/;
const graceMost = /grace_most: expected per cent of the limit, such as "10 %"/;
const warnAt = /warn_at.*: expected a list of whole percentages from 1 to 100/;
const groupMode = /mode: groups have no mode any more: .*set "mode": "report" on the rules/;
const moded = { name: 'free', rules: [{ name: 'total' }], mode: 'report' };
const source = {
  name: 'company',
  openid_connect_auto_discovery_url: 'http://127.0.0.1:2/realms/git',
  client_id: 'softquota',
};
const noScopes = ['a\u0000b', 'sudo', 'write:Admin', 'read:all', '', 'x'.repeat(200_000)].map(scope => [
  'all',
  scope,
]);
const asking = { bytes: 500, until: new Date(Date.now() + 86_400_000).toISOString(), why: 'a release' };
const member = '/admin/orgs/acme/members';

/** With fields that are sound: what is sent instead of some of them. */
const bodies: readonly Refused[] = [
  ...refusals('POST /admin/quota/rules', rule, [
    [
      { name: '..', limit: 'much', subjects: ['size:all', 'size:nope', 7] },
      /^name: .*; limit: .*; subjects\.1: .*; subjects\.2: /,
    ],
    [{ name: 5, limit: undefined }, /^name: .*; limit: /],
    ...wrong('grace', [-1, 1.5, '7d', 1e12], grace),
    ...wrong('grace_most', [10, '', 'much', '0 %', '-1', '1001 %', '9'.repeat(60)], graceMost),
    [{ mode: 'off' }, /mode: expected enforce, report or warn/],
  ]),
  ...refusals('PATCH /admin/quota/rules/total', {}, [
    ...wrong('warn_at', [50, [0], [101], [1.5], ['50'], 'never'], warnAt),
  ]),
  ...refusals('POST /admin/quota/rules', file, [
    [{ per: 'team' }, /per: expected one of owner, group, repository, push, file/],
    [{ per: 5 }, /per: expected one of/],
    [{ limit: 0 }, /limit: expected more than 0, or -1 for unlimited, for each file/],
    [{ grace: 60 }, /grace: expected none for each file/],
    [{ grace_most: '5 %' }, /grace: expected none for each file/],
    [{ per: 'repository', grace: 60 }, /grace: expected none for each repository/],
    [{ per: 'repository', grace_most: '5 %' }, /grace: expected none for each repository/],
  ]),
  ...refusals('POST /admin/quota/groups', { name: 'g' }, [
    [moded, groupMode],
    [
      { name: '', rules: [{ limit: -2 }, { name: 'x', subjects: ['size:nope', 7] }, 3] },
      /^name: .*; rules\.0\.name: .*\.limit: .*; rules\.1\.subjects\.0: .*\.1: .*; rules\.2: /,
    ],
    [
      { rules: [{ name: 'a' }, { name: 'a' }, { name: 'b' }] },
      /^rules\.0\.limit: .*; rules\.1\.name: .*; rules\.2\.limit: /,
    ],
  ]),
  ...refusals('POST /admin/users/bob/quota/groups', {}, [
    [{ groups: ['a', 'b', 'a'] }, /^groups\.0: .*; groups\.1: .*; groups\.2: /],
  ]),
  ...refusals('PUT /admin/quota/policy', { rules: [], groups: [] }, [
    [{ rules: [rule], groups: [{ name: 'free', rules: ['other'], mode: 'report' }] }, groupMode],
    [{ rules: [{ ...file, per: 'team' }] }, /rules\.0\.per/],
  ]),
  ...refusals('POST /admin/quota/simulate', {}, [
    [{ rules: [{ name: '', limit: 1.5 }] }, /rules\.0\.name: .*rules\.0\.limit: /],
    [{ rules: [{ name: 'a', limit: 1, subjects: ['size:x'] }] }, /rules\.0\.subjects\.0: /],
    [{ rules: [rule, rule] }, /rules\.1\.name: other is listed twice/],
    [{ groups: [{ name: 'g', rules: [{ name: 'r' }] }] }, /groups\.0\./],
    [
      { groups: [{ name: 'g', users: ['zoe', 'alice', 'yan'] }] },
      /groups\.0\.users\.0: there is no user or organization zoe; groups\.0\.users\.2: .* yan/,
    ],
    [{ groups: [moded] }, groupMode],
    [{ settings: { total: -2 } }, /settings\.total: /],
    [{ settings: { refuse_when: 'never' } }, /settings\.refuse_when: /],
    [{ settings: { mode: 'report' } }, /there is no mode/],
    [{ rule: [] }, /there is no rule/],
    [[], /^body: expected an object/],
    [undefined, /^body: it is missing/],
  ]),
  ...['0', '1001', 'x', ''].flatMap(limit =>
    refusals(`POST /admin/quota/simulate?limit=${limit}`, {}, [[{}, /^limit: /]]),
  ),
  ...refusals('POST /admin/quota/scans', {}, [
    [{ kind: 'full' }, /^kind: /],
    [{ owners: [] }, /^owners: /],
    [{ owners: [''] }, /^owners\.0: /],
    [{ owners: 'dave' }, /^owners: expected a list/],
    [{ accept_moved: 'yes' }, /^accept_moved: /],
    [{ kinds: 1, kind: 'x' }, /kind: .*there is no kinds|there is no kinds.*kind: /],
  ]),
  ...refusals('POST /admin/users', {}, [
    [{}, /^username: it is missing/],
    [{ username: ' ', type: 'robot', email: 5 }, /username: .*; type: .*; email: /],
    [
      { username: 'dave', type: 'organization', email: 'x', full_name: '\u0007', is_admin: true },
      /email: .*; full_name: .*; is_admin: /,
    ],
    ...wrong(
      'username',
      ['', '  ', '.', '..', 'a\u0000b', '\u0085', 'x'.repeat(256), '\ud800'],
      /^username: /,
    ),
  ]),
  ...refusals('PATCH /admin/users/bob', {}, [[{ username: '.', email: 'x' }, /username: /]]),
  ...refusals('PATCH /admin/users/acme', {}, [[{ is_admin: true }, /is_admin: an organization cannot/]]),
  ...refusals(`PUT ${member}/bob`, {}, [
    [{}, /^role: /],
    [{ role: 'boss' }, /^role: .*owner.*member/],
    [{ role: ['owner'] }, /^role: /],
    ['owner', /^body: /],
    [undefined, /^body: /],
  ]),
  ...refusals(`PUT ${member}/guild`, {}, [[{ role: 'member' }, /guild is an organization/]]),
  ...refusals(`PUT ${member}/acme`, {}, [[{ role: 'member' }, /acme is an organization/]]),
  ...refusals('POST /users/bob/tokens', { name: 'x', scopes: ['all'] }, [
    [{ name: ' ', scopes: 'all', expires_at: 'soon' }, /name: .*; scopes: .*; expires_at: .*2027-/],
    [{ name: undefined, scopes: undefined }, /name: .*; scopes: /],
    [
      { scopes: [], expires_at: new Date(Date.now() - 1).toISOString() },
      /scopes: at least one .*; expires_at: the time is in the past/,
    ],
    ...wrong('scopes', noScopes, /^scopes\.1: there is no scope /),
    [{ scopes: Array(51).fill('all') }, /^scopes: expected at most 50 entries$/],
    ...wrong('expires_at', [1_800_000_000, '2027-02-30T00:00:00Z', '2027-01-31'], /^expires_at: /),
  ]),
  ...refusals('POST /users/acme/tokens', { name: 'x', scopes: ['all'] }, [
    [{}, /acme is an organization: only users have tokens/],
  ]),
  ...refusals('POST /admin/auths', source, [
    [{ name: undefined }, /name/],
    [{ openid_connect_auto_discovery_url: undefined }, /openid_connect_auto_discovery_url/],
    [{ client_id: undefined }, /client_id/],
    [{ quota_group_map: ['gold'] }, /quota_group_map: expected an object/],
    [{ quota_group_map: { staff: 'gold' } }, /quota_group_map: at "staff": expected a list/],
    [{ quota_group_map: '{"staff":["gold",null]}' }, /quota_group_map: at "staff", number 2 .* null/],
    [{ quota_group_map: '{"staff":["gold"]' }, /quota_group_map: .*not valid JSON/],
    [{ quota_group_map: '   ' }, /quota_group_map/],
    [{ openid_connect_auto_discovery_url: 'http://provider.example' }, /expected https/],
    [{ openid_connect_auto_discovery_url: 'https://u:p@provider.example' }, /without user and password/],
    [{ openid_connect_auto_discovery_url: 'javascript:alert(1)' }, /expected/],
    [{ openid_connect_auto_discovery_url: 'provider.example' }, /expected the address/],
    [{ admin_group: 'root' }, /admin_group_claim_name/],
    [{ scopes: ['a b'] }, /scopes\.0/],
    [{ client_id: '' }, /client_id: it is empty/],
    [{ missing_claim: 'ask' }, /missing_claim/],
  ]),
  ...refusals('POST /admin/auths/try', { claims: {} }, [
    [{ source: { ...source, client_id: '' } }, /client_id: it is empty/],
  ]),
  ...refusals('POST /user/quota/requests', asking, [
    ...wrong('bytes', [0, 1.5], /^bytes: /),
    ...wrong('until', ['tomorrow', '2020-01-01T00:00:00Z', '2099-01-01T00:00:00Z'], /^until: /),
    ...wrong('why', ['   ', 'x'.repeat(1001)], /^why: /),
    [{ more: 1 }, /there is no more/],
    [{ until: undefined, why: undefined }, /^why: it is missing/],
  ]),
  ...refusals('POST /users/acme/sign-in-link', {}, [[{}, /acme is an organization: only users sign in/]]),
];

t.test('a query that cannot be answered is refused with every fault', async t => {
  for (const [path, rows] of Object.entries(queries)) {
    for (const [query, message] of rows) {
      const as = path.startsWith('/user/') ? 'alice' : 'admin1';
      t.match(await world.fault(422, 'GET', `${path}?${query}`, { as }), message, `${path}?${query}`);
    }
  }
});

t.test('a body that cannot be taken is refused with every fault, and changes nothing', async t => {
  const before = await everything();
  for (const { method, path, body, message } of bodies) {
    const as = path.startsWith('/user/') ? 'alice' : 'admin1';
    const name = `${method} ${path} ${JSON.stringify(body)?.slice(0, 200)}`;
    t.match(await world.fault(422, method, path, { as, body }), message, name);
  }
  t.strictSame(await everything(), before);
});

async function everything(): Promise<unknown> {
  const paths = ['policy', 'requests', 'events'].map(part => `/admin/quota/${part}`);
  return await Promise.all([...paths, '/admin/users', '/admin/auths', member].map(path => world.get(path)));
}
