/** Input of requests: the description allows what the daemon takes, and nothing that it refuses. */

import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import t from 'tap';
import { z } from 'zod';
import { nameFault } from '../../src/quota/index.ts';
import { World } from './world.ts';

const world = await World.open(t);
const ajv = new Ajv2020({ strict: false });
ajv.addSchema(world.description.document, 'document');

const parameters = z.array(z.object({ name: z.string(), in: z.string(), schema: z.json() }));

t.test('a number in a query is written with digits, or it is refused', async t => {
  const notNumbers = ['0x10', '1e1', '1.5', '+1', 'ten', '%201', '1%20', '99999999999999999999'];
  const forgiving = '/admin/users'; // Forgejo has it too, and takes an empty number as none
  for (const list of ['/admin/quota/usage', forgiving, '/admin/tokens', '/admin/quota/units']) {
    for (const said of list === forgiving ? notNumbers : ['', ...notNumbers]) {
      for (const name of ['limit', 'page']) {
        const { status, text } = await world.call('GET', `${list}?${name}=${said}`);
        t.equal(status, 422, `${list}?${name}=${said}`);
        t.match(text, `${name}: expected a whole number from `, 'it says what is expected');
      }
    }
    await world.get(`${list}?limit=10&page=1`);
  }
  const explain = '/admin/quota/explain?user=alice&subject=size:all&size=';
  for (const said of ['', ...notNumbers, '-1']) await world.must(422, 'GET', explain + said);
  await world.get(`${explain}1000`);
});

t.test('an address or a header that is too long is refused as described', async t => {
  // The daemon ends connections on which such a request came.
  const world = await World.open(t);
  const long = 'x'.repeat(20_000);
  await world.must(431, 'GET', `/admin/quota/usage?q=${long}`);
  await world.must(431, 'DELETE', `/admin/quota/groups/${long}`);
  await world.must(431, 'GET', '/admin/quota/policy', { headers: { 'If-None-Match': long } });
  await world.get('/admin/quota/policy', { headers: { 'If-None-Match': 'x'.repeat(8192) } });
  await world.must(431, 'GET', '/admin/quota/policy', { headers: { 'If-None-Match': 'x'.repeat(8193) } });
});

t.test('the description has the same names, addresses and words as the daemon', async t => {
  const schema = ajv.getSchema('document#/components/schemas/NewRule/properties/name');
  const isDescribed = (name: string): boolean => schema?.(name) === true;
  for (const name of ['a', '...', 'a b', 'é', ' a', 'x'.repeat(255)]) t.ok(isDescribed(name), name);
  for (const name of ['', ' ', '.', '..', 'a\n', '\u0085', 'x'.repeat(256)]) t.notOk(isDescribed(name), name);
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 20 }), name => {
      fc.pre(name.isWellFormed());
      return isDescribed(name) === (nameFault(name) === null);
    }),
  );

  const queries = [
    ['/admin/quota/usage', 'state', ['over', 'over,near', ' ok ,near'], ['', 'over,', 'full', 'over near']],
    ['/admin/quota/events', 'after', ['1700000000000.0'], ['', '1', 'x.y', '1.']],
    ['/admin/quota/units', 'subject', ['size:all', ' size:git:lfs '], ['', 'size', 'size:git:lsf']],
  ] as const;
  for (const [path, name, right, wrong] of queries) {
    const told = parameters.parse(world.description.document.paths?.[path]?.get?.parameters);
    const shape = z.looseObject({}).parse(told.find(each => each.name === name)?.schema);
    for (const said of [...right, ...wrong]) {
      const isRight = right.some(each => each === said);
      t.equal(ajv.validate(shape, said), isRight, `${name} "${said}" is described`);
      const { status } = await world.call('GET', `${path}?${name}=${encodeURIComponent(said)}`);
      t.equal(status, isRight ? 200 : 422, `${name} "${said}" is answered`);
    }
  }

  const user = ajv.getSchema('document#/components/schemas/NewUser');
  const users = [
    [{ email: '', full_name: '' }, true],
    [{ email: 'erin@git.example', full_name: 'Erin E.' }, true],
    [{ email: 'erin' }, false],
    [{ email: 'e e@git.example' }, false],
    [{ full_name: 'a\tb' }, false],
    [{ full_name: ' ' }, false],
  ] as const;
  for (const [index, [fields, isRight]] of users.entries()) {
    const body = { username: `erin${index}`, ...fields };
    t.equal(user?.(body), isRight, JSON.stringify(body));
    t.equal((await world.call('POST', '/admin/users', { body })).status, isRight ? 201 : 422);
  }
});

t.test('the address of a test mail is one that an account can have, as described', async t => {
  const order = ajv.getSchema('document#/components/schemas/NoticeTestOrder');
  const addresses = [
    ['root@git.example', true],
    [`${'x'.repeat(100)}@host`, true],
    ['', false],
    ['root', false],
    ['a b@git.example', false],
    ['a@b@git.example', false],
    [`${'x'.repeat(250)}@host`, false],
  ] as const;
  for (const [address, isRight] of addresses) {
    const body = { to: 'nowhere', address };
    t.equal(order?.(body), isRight, `"${address}" is described`);
    const { status, text } = await world.call('POST', '/admin/quota/notices/test', { body });
    t.equal(status, isRight ? 404 : 422, `"${address}" is answered: ${text}`);
  }
});

t.test('no parameter that counts entries is described as bytes', async t => {
  for (const [path, item] of Object.entries(world.description.document.paths ?? {})) {
    const told = z
      .array(z.object({ name: z.string(), description: z.string() }))
      .parse(item.get?.parameters ?? []);
    for (const { name, description } of told) {
      if (name === 'limit') t.match(description, /^The number of entries on a page/, path);
    }
  }
});
