/** Changes of policy: each is whole, in force once it is answered, and none is lost. */

import t from 'tap';
import { World } from './world.ts';

const rules = '/admin/quota/rules';
const groups = '/admin/quota/groups';

const many = Array.from({ length: 20 }, (_, n) => n);
const count = (statuses: readonly number[], status: number) =>
  statuses.filter(each => each === status).length;

/** Two administrators, each with a token of their own. */
async function administrators(world: World): Promise<readonly [string, string]> {
  await world.must(201, 'POST', '/admin/users', { body: { username: 'admin2', is_admin: true } });
  return [await world.newToken('admin1', ['all']), await world.newToken('admin2', ['all'])];
}

t.test('a group is created with its rules that do not exist yet, and takes others as they are', async t => {
  const world = await World.open(t);
  await world.must(201, 'POST', rules, { body: { name: 'old', limit: 1, subjects: ['size:git:lfs'] } });
  const body = {
    name: 'g',
    rules: [
      { name: 'new', limit: 2 },
      { name: 'old', limit: 99, subjects: ['size:all'] },
      { name: 'none', limit: 0, subjects: null },
    ],
  };
  const created = await world.must(201, 'POST', groups, { body });
  const [old, fresh, none] = [
    { name: 'old', limit: 1, subjects: ['size:git:lfs'] },
    { name: 'new', limit: 2, subjects: [] },
    { name: 'none', limit: 0, subjects: [] },
  ];
  t.strictSame(created.json, { name: 'g', rules: [fresh, old, none] });
  t.strictSame(await world.get(`${groups}/g`), created.json);
  t.strictSame(await world.get(rules), [old, fresh, none]);
});

t.test('of a group that cannot be created nothing is there, whatever is wrong with it', async t => {
  const world = await World.open(t);
  await world.must(201, 'POST', groups, { body: { name: 'there', rules: [{ name: 'old', limit: 1 }] } });
  const good = { name: 'good', limit: 5, subjects: ['size:all'] };
  const wrong: readonly (readonly [number, string, unknown])[] = [
    [422, 'g', [good, { name: 'bad', limit: 5, subjects: ['size:nope'] }]],
    [422, 'g', [good, { name: 'bad', limit: 2 ** 60 }]],
    [422, 'g', [good, { name: 'bad' }]],
    [422, 'g', [good, { name: 'old' }, { name: 'old' }]],
    [422, 'g', [good, { ...good, limit: 6 }]],
    [422, 'g', [good, { name: '.', limit: 1 }]],
    [422, ' ', [good]],
    [409, 'there', [good]],
    [409, 'there', [good, { name: 'bad' }]],
  ];
  for (const [status, name, inside] of wrong) {
    const before = (await world.must(200, 'GET', groups)).text;
    await world.must(status, 'POST', groups, { body: { name, rules: inside } });
    t.equal((await world.must(200, 'GET', groups)).text, before, JSON.stringify(inside));
    t.strictSame(await world.get(rules), [{ name: 'old', limit: 1, subjects: [] }]);
  }
});

t.test('an edit that is refused changes nothing, and one that says nothing leaves all as it is', async t => {
  const world = await World.open(t);
  const rule = { name: 'r', limit: 1, subjects: ['size:all'] };
  await world.must(201, 'POST', rules, { body: rule });
  await world.must(201, 'POST', groups, { body: { name: 'a', rules: [] } });
  await world.must(204, 'PUT', `${groups}/a/users/bob`);
  await world.must(422, 'PATCH', `${rules}/r`, { body: { limit: 9, subjects: ['size:all', 'size:nope'] } });
  await world.must(200, 'PATCH', `${rules}/r`, { body: {} });
  await world.must(200, 'PATCH', `${rules}/r`, { body: { limit: null, subjects: null } });
  t.strictSame(await world.get(rules), [rule]);
  for (const each of [['a', 'nowhere'], ['a', 'a'], ['']]) {
    await world.must(422, 'POST', '/admin/users/bob/quota/groups', { body: { groups: each } });
    t.match(await world.get('/admin/users/bob/quota'), { groups: [{ name: 'a' }] });
  }
});

t.test('of many who create or delete the same at once, one does', async t => {
  const world = await World.open(t);
  const tokens = await administrators(world);
  const all = (method: string, path: string, body?: unknown) =>
    Promise.all(
      many.map(async n => {
        const token = tokens[n % 2];
        if (token === undefined) throw new Error('there are two administrators');
        return (await world.call(method, path, { token, ...(body === undefined ? {} : { body }) })).status;
      }),
    );
  const once = (statuses: readonly number[], done: number, late: number, what: string) => {
    t.strictSame([count(statuses, done), count(statuses, late)], [1, many.length - 1], what);
  };
  once(await all('POST', rules, { name: 'r', limit: 1 }), 201, 409, 'a rule');
  once(await all('POST', groups, { name: 'g', rules: [{ name: 'n', limit: 1 }] }), 201, 409, 'a group');
  once(await all('PUT', `${groups}/g/rules/r`), 204, 409, 'a rule in a group');
  once(await all('PUT', `${groups}/g/users/bob`), 204, 409, 'a user in a group');
  once(await all('DELETE', `${groups}/g/users/bob`), 204, 404, 'a user out of a group');
  once(await all('DELETE', `${groups}/g/rules/r`), 204, 404, 'a rule out of a group');
  once(await all('DELETE', `${groups}/g`), 204, 404, 'a group');
  once(await all('DELETE', `${rules}/r`), 204, 404, 'a rule');
});

t.test('each change is in force for the next check, and still after a restart', async t => {
  const world = await World.open(t);
  await world.report('bob', 'size:git:lfs', 1000);
  const check = async () => (await world.gate('GET', '/v1/check?owner=bob&subject=size:git:lfs')).status;
  const steps: readonly (readonly [number, number, string, string, unknown?])[] = [
    [200, 201, 'POST', groups, { name: 'g', rules: [{ name: 'r', limit: 999, subjects: ['size:git:all'] }] }],
    [413, 204, 'PUT', `${groups}/g/users/bob`],
    [200, 200, 'PATCH', `${rules}/r`, { limit: 1000 }],
    [413, 200, 'PATCH', `${rules}/r`, { limit: 0 }],
    [200, 200, 'PATCH', `${rules}/r`, { subjects: ['size:repos:all'] }],
    [413, 200, 'PATCH', `${rules}/r`, { subjects: ['size:all'] }],
    [200, 204, 'DELETE', `${groups}/g/rules/r`],
    [413, 204, 'PUT', `${groups}/g/rules/r`],
    [200, 204, 'POST', '/admin/users/bob/quota/groups', { groups: [] }],
    [413, 204, 'POST', '/admin/users/bob/quota/groups', { groups: ['g'] }],
    [200, 204, 'DELETE', `${groups}/g/users/bob`],
    [413, 204, 'PUT', `${groups}/g/users/bob`],
    [200, 204, 'DELETE', `${rules}/r`],
    [200, 201, 'POST', rules, { name: 'r', limit: 0, subjects: ['size:all'] }],
    [413, 204, 'PUT', `${groups}/g/rules/r`],
  ];
  for (const [at, [expected, status, method, path, body]] of steps.entries()) {
    await world.must(status, method, path, body === undefined ? {} : { body });
    t.equal(await check(), expected, `${at}: ${method} ${path} ${JSON.stringify(body) ?? ''}`);
    const own = await world.must(200, 'GET', '/user/quota/check?subject=size:git:lfs', { as: 'bob' });
    t.equal(own.json, expected === 200);
  }
  const before = (await world.must(200, 'GET', groups)).text;
  await world.restart();
  t.equal(await check(), 413);
  t.equal((await world.must(200, 'GET', groups)).text, before);
  await world.must(204, 'DELETE', `${groups}/g`);
  t.equal(await check(), 200);
});

t.test('while quotas are switched off a policy can be prepared', async t => {
  const world = await World.open(t, { settings: { quota: { ENABLED: 'false' } } });
  const body = { name: 'g', rules: [{ name: 'r', limit: 0, subjects: ['size:all'] }] };
  await world.must(201, 'POST', groups, { body });
  await world.must(204, 'PUT', `${groups}/g/users/bob`);
  t.equal((await world.gate('GET', '/v1/check?owner=bob&subject=size:all')).status, 200);
  world.reload({ quota: { ENABLED: 'true' } });
  t.equal((await world.gate('GET', '/v1/check?owner=bob&subject=size:all')).status, 413);
});
