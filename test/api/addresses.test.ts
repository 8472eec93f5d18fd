/** Names in paths, methods, and where the API is found. */

import fc from 'fast-check';
import t from 'tap';
import { nameFault } from '../../src/quota/index.ts';
import { World } from './world.ts';

const rules = '/admin/quota/rules';
const groups = '/admin/quota/groups';

/** For all that only ask, or tidy up. */
const world = await World.open(t);

const names = fc.oneof(
  fc.constantFrom(
    'a/b',
    '/',
    '//',
    '%',
    '%2f',
    '..%2f',
    'a?b',
    'a#b',
    'a b',
    ' a ',
    '+',
    '...',
    '\u202e',
    'ü',
    'u\u0308',
  ),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 255 }),
);

t.test('whatever rules and groups are called, they are found by their names, percent-encoded', async t => {
  await fc.assert(
    fc.asyncProperty(
      names.filter(name => nameFault(name) === null),
      async name => {
        const [rule, group] = [
          `${rules}/${encodeURIComponent(name)}`,
          `${groups}/${encodeURIComponent(name)}`,
        ];
        await world.post(rules, { name, limit: 1 });
        t.match(await world.get(rule), { name });
        await world.post(groups, { name });
        await world.put(`${group}/rules/${encodeURIComponent(name)}`);
        t.match(await world.get(group), { name, rules: [{ name }] });
        await world.put(`${group}/users/bob`);
        t.match(await world.get('/admin/users/bob/quota'), { groups: [{ name }] });
        await world.remove(group);
        await world.remove(rule);
      },
    ),
    { numRuns: 40 },
  );
});

t.test('a broken percent-encoding is 400, for who is known', async t => {
  for (const broken of ['%', '%2', '%zz', '%ff', 'a%c3', '%ed%a0%80']) {
    for (const path of [`${rules}/${broken}`, `${groups}/g/users/${broken}`, `/nowhere/${broken}`]) {
      t.match(await world.call('GET', path), { status: 400, json: { message: /percent-encoding/ } }, path);
      t.equal((await world.call('GET', path, { as: 'nobody' })).status, 401, path);
    }
  }
});

t.test('paths are compared exactly, but for a slash at the end', async () => {
  await world.post(rules, { name: 'r', limit: 1 });
  await world.get(`${rules}/`);
  await world.get(`${rules}/r/`);
  for (const path of [
    '/Admin/quota/rules',
    `${rules}/R`,
    `${rules}//`,
    `/${rules}`,
    `${rules}/r/x`,
    '/admin/quota/../quota/rules',
    '',
  ]) {
    await world.must(404, 'GET', path);
  }
});

t.test('a known address with another method is 405, and Allow says which there are', async t => {
  const every = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'];
  for (const [template, item] of Object.entries(world.description.document.paths ?? {})) {
    const known = Object.keys(item).map(method => method.toUpperCase());
    const offered = new Set([...known, ...(known.includes('GET') ? ['HEAD'] : [])]);
    const path = template.replace(/\{\w+\}/g, 'x');
    for (const method of every.filter(each => !offered.has(each))) {
      const { status, headers } = await world.call(method, path);
      t.strictSame(
        { status, allow: new Set(headers.allow?.split(', ')) },
        { status: 405, allow: offered },
        `${method} ${path}`,
      );
      const isOpen = Object.values(item).every(
        ({ security }) => Array.isArray(security) && security.length === 0,
      );
      t.equal((await world.call(method, path, { as: 'nobody' })).status, isOpen ? 405 : 401);
    }
  }
});

t.test('below the path of ROOT_URL there is everything, whether a proxy takes it off or not', async t => {
  const root = 'https://git.example/tools/quota/';
  const world = await World.open(t, { settings: { server: { ROOT_URL: root } } });
  await world.post(rules, { name: 'a/b', limit: 1 });
  const token = await world.newToken('admin1', ['all']);
  const from = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const response = await fetch(new URL(path, world.url), { headers, redirect: 'manual' });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  for (const below of ['', 'tools/quota/']) {
    const known = { Authorization: `token ${token}` };
    t.match(await from(`${below}api/v1/admin/quota/rules/a%2Fb`, known), {
      status: 200,
      text: /"name":"a\/b"/,
    });
    t.match(await from(`${below}api/v1/openapi.json`), { status: 200, text: /"openapi":"3\.1/ });
    t.match(await from(`${below}api/swagger`), { status: 200, text: /<title>softquota/ });
    t.match(await from(`${below}api/swagger/swagger-ui-bundle.js`), { status: 200 });
    const slash = await from(`${below}api/swagger/`);
    const to = new URL(slash.headers.get('location') ?? '', new URL(`${below}api/swagger/`, world.url));
    t.equal(to.pathname, `/${below}api/swagger`, 'one with a slash leads to the one without');
    for (const path of ['api/v1/user/quota', 'api/v1/nowhere', 'nowhere', 'api', 'api/swagger/nowhere.js']) {
      const { status, text } = await from(`${below}${path}`);
      t.equal(status, path === 'api/v1/user/quota' ? 401 : 404, path);
      t.match(JSON.parse(text), { message: String, url: `${root}api/swagger` });
    }
  }
  for (const path of [
    'tools/api/v1/version',
    'quota/api/v1/version',
    'tools/quotaapi/v1/version',
    'API/v1/version',
    'api/V1/version',
    'api/Swagger',
  ]) {
    t.equal((await from(path)).status, 404, path);
  }
  t.match(await from('tools/quota'), { status: 302 }, 'who leaves the slash away is led to the start');
  const { headers } = await world.must(200, 'GET', '/admin/quota/usage?limit=1');
  t.match(headers.link, `<${root}api/v1/admin/quota/usage?`, 'links lead to where the API is reached');
});
