/** Access to each operation: 401, 403 and 404, and what a stranger can learn from them. */

import t from 'tap';
import { ask, type Example, fill, story } from './operations.ts';
import { messageOf } from './people.ts';
import { type Answer, type Asked, World } from './world.ts';

const unknownToken = '0123456789abcdef0123456789abcdef01234567';
const areas = ['admin', 'user', 'organization'] as const;

/** Parts of an answer that could reveal something. */
const telling = ({ status, json, headers }: Answer) => {
  const { date: _, ...others } = headers;
  return { status, json, headers: others };
};

/** The address with names that nobody has. */
const unknownIn = (path: string) =>
  path.replace(/\b(total|free|spare|alice|acme|dave|bob|laptop)\b/g, 'unheard-of');

/** For all that look at it, and for the story. */
const world = await World.open(t);
await fill(world);

t.test('who has no good token is told the same of what there is and of what there is not', async t => {
  const strangers: Readonly<Record<string, Asked>> = {
    nobody: { as: 'nobody' },
    'an empty header': { as: 'nobody', headers: { Authorization: '' } },
    'another scheme': { as: 'nobody', headers: { Authorization: 'Negotiate abc' } },
    'an unknown token': { token: unknownToken },
  };
  for (const [who, asked] of Object.entries(strangers)) {
    // Too many wrong credentials would be slowed, and that is another test's.
    const first = telling(await world.call('GET', '/user/quota', asked));
    t.match(first, { status: 401, json: { message: /token/ }, headers: { 'www-authenticate': /^Bearer/ } });
    for (const path of [
      '/admin/users/alice',
      '/admin/users/unheard-of',
      '/orgs/acme/quota',
      '/orgs/unheard-of/quota',
    ]) {
      t.strictSame(telling(await world.call('GET', path, asked)), first, `${who}: ${path}`);
    }
  }
});

t.test('each operation is for those with its scope and rank, and tells all others nothing', async t => {
  await world.put('/admin/orgs/acme/members/admin1', { role: 'owner' });
  const tokens = new Map<string, string>();
  for (const scope of areas.flatMap(area => [`read:${area}`, `write:${area}`])) {
    tokens.set(scope, await world.newToken('admin1', [scope]));
  }
  const told = telling(await world.call('GET', '/user/quota', { as: 'nobody' }));
  for await (const [id, example] of story(world)) {
    const needed = scopeOf(world, example);
    const { as: _, method, path: named, ...asked } = example;
    const body = example.body === undefined ? {} : { body: example.body };
    for (const path of needed === null ? [] : [named, unknownIn(named)]) {
      const refused = async (who: Asked, message: string) => {
        const answer = await world.call(method, path, { ...who, ...body });
        t.match(answer, { status: 403, json: { message } }, `${id} ${path}: ${message}`);
      };
      for (const sent of [body, { rawBody: '{' }]) {
        const answer = await world.call(method, path, { as: 'nobody', ...sent });
        t.strictSame(telling(answer), told, `${id} ${path}`);
      }
      for (const [scope, token] of tokens) {
        if (scope !== needed && scope !== needed?.replace('read', 'write'))
          await refused({ token }, `the token lacks the scope ${needed}`);
      }
      if (needed?.endsWith(':admin')) await refused({ as: 'alice' }, 'only administrators may do this');
    }
    const token = needed === null ? undefined : tokens.get(needed);
    const answer = await ask(world, token === undefined ? example : { ...asked, method, path: named, token });
    t.ok(answer.status < 300, `${id} with ${needed}: ${answer.status} ${answer.text}`);
  }
  await world.remove('/admin/orgs/acme/members/admin1');
});

const organizationPaths = [
  '',
  '/check?subject=size:all',
  '/artifacts',
  '/attachments',
  '/packages',
  '/report',
  '/explain?subject=size:all',
  '/history?range=day',
  '/events',
];

t.test('owners of an organization see its quota, and so do administrators; nobody else does', async t => {
  for (const list of organizationPaths) {
    const path = `/orgs/acme/quota${list}`;
    for (const as of ['alice', 'admin1', 'host'] as const) await world.get(path, { as });
    const member = await world.must(403, 'GET', path, { as: 'carol' });
    t.match(messageOf(member), /only owners of the organization/);
    const stranger = await world.must(404, 'GET', path, { as: 'bob' });
    t.match(messageOf(stranger), /no organization acme that you belong to/);
  }
  await world.must(404, 'GET', '/orgs/alice/quota');
  await world.must(404, 'GET', '/orgs/unheard-of/quota');
  await world.put('/admin/orgs/acme/members/carol', { role: 'owner' });
  await world.get('/orgs/acme/quota', { as: 'carol' });
  await world.remove('/admin/orgs/acme/members/carol');
  await world.must(404, 'GET', '/orgs/acme/quota', { as: 'carol' });
});

t.test('who does not belong to an organization does not learn whether there is one', async t => {
  const asked = (name: string, list: string, as: Asked) =>
    world.call('GET', `/orgs/${name}/quota${list}`, as);
  const token = await world.newToken('admin1', ['read:organization']);
  for (const who of [{ as: 'bob' }, { token }] as const) {
    for (const list of organizationPaths) {
      const answers = await Promise.all(['acme', 'alice', 'bob', 'none'].map(name => asked(name, list, who)));
      const [first, ...others] = answers.map(answer =>
        JSON.stringify({ status: answer.status, json: answer.json }).replace(/acme|alice|bob|none/, 'NAME'),
      );
      t.match(first, /^\{"status":404,/);
      for (const other of others) t.equal(other, first, list);
    }
  }
});

t.test('an administrator sees an organization that is another’s only with the scope read:admin', async t => {
  const path = '/orgs/acme/quota';
  const status = async (...scopes: string[]) =>
    (await world.call('GET', path, { token: await world.newToken('admin1', scopes) })).status;
  t.equal(await status('read:organization'), 404);
  t.equal(await status('write:organization'), 404);
  t.equal(await status('read:admin'), 403);
  t.equal(await status('read:organization', 'read:admin'), 200);
  t.equal(await status('public-only', 'read:organization', 'read:admin'), 404);
  await world.put('/admin/orgs/acme/members/admin1', { role: 'owner' });
  t.equal(await status('read:organization'), 200, 'an own one');
});

t.test("this host's administrator rules over the socket without a token, and has no quota", async t => {
  const as = 'host';
  await world.get('/admin/quota/rules', {
    as,
    headers: { Authorization: `token ${unknownToken}` },
  });
  for (const path of ['/user/quota', '/user/quota/check?subject=size:all', '/user/quota/packages']) {
    const { json } = await world.must(404, 'GET', path, { as });
    t.match(json, { message: /administrator is no user/ }, path);
  }
});

/** Scope in the operation's description, such as `read:admin`; null where anybody may ask. */
function scopeOf(world: World, { method, path }: Example): string | null {
  const described = world.description.operation(method, path)?.description ?? '';
  return /Scope: `(\w+:\w+)`/.exec(described)?.[1] ?? null;
}
