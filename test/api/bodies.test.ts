/** Bodies of requests: what they may say, and the messages about what is wrong. */

import fc from 'fast-check';
import t from 'tap';
import { joined, partsOf } from '../../src/api/body.ts';
import { runToEnd } from '../../src/turns.ts';
import { story } from './operations.ts';
import { messageOf } from './people.ts';
import { type Asked, World } from './world.ts';

const rules = '/admin/quota/rules';
const groups = '/admin/quota/groups';
const mebibyte = 1024 * 1024;
const largest = 2 ** 53 - 1;

/** A rule's text of exactly so many bytes. */
function ruleOf(bytes: number, name: string): string {
  const text = JSON.stringify({ name, limit: 1 });
  return text + ' '.repeat(bytes - text.length);
}

t.test('a body may have 1 MiB, and 4 KiB where anybody may send it; a longer one is 413', async t => {
  const world = await World.open(t);
  const create = (rawBody: string, asked: Asked = {}) => world.call('POST', rules, { rawBody, ...asked });
  t.equal((await create(ruleOf(mebibyte, 'full'))).status, 201);
  const longer = ruleOf(mebibyte + 1, 'fuller');
  t.match(await create(longer), { status: 413, json: { message: 'body: expected at most 1 MiB' } });
  const chunked = { headers: { 'Transfer-Encoding': 'chunked' } };
  t.match(await create(longer, chunked), { status: 413, json: { message: /1 MiB/ } });
  t.equal((await create(ruleOf(1000, 'small'), chunked)).status, 201);
  t.equal((await create(longer, { as: 'nobody' })).status, 401, 'a stranger is told nothing of it');
  t.equal((await create(longer, { as: 'bob' })).status, 403);
  t.match(await world.get(rules), [{ name: 'full' }, { name: 'small' }]);
  const headers = { 'Sec-Fetch-Site': 'same-origin' };
  const signIn = (rawBody: string) => world.call('POST', '/session', { as: 'nobody', rawBody, headers });
  const wrong = (bytes: number) => `{"token":"${'x'.repeat(bytes - 12)}"}`;
  t.not((await signIn(wrong(4096))).status, 413);
  t.match(await signIn(wrong(4097)), { status: 413, json: { message: 'body: expected at most 4 KiB' } });
});

t.test('whatever a stranger sends, it takes no time', async t => {
  const world = await World.open(t);
  const headers = { 'Sec-Fetch-Site': 'same-origin' };
  const before = process.threadCpuUsage();
  for (const rawBody of [200_000, 4000].map(zeros => `{"code":1.${'0'.repeat(zeros)}1}`)) {
    const { status } = await world.call('POST', '/session', { as: 'nobody', rawBody, headers });
    t.ok([413, 422].includes(status));
  }
  const { user, system } = process.threadCpuUsage(before);
  t.ok(user + system < 2_000_000, `${user + system} µs`);
});

t.test('a body is JSON in UTF-8 and says so, in every operation that takes one', async t => {
  const world = await World.open(t);
  const text = '{"name":"r","limit":1}';
  const wrong: Readonly<Record<string, Asked>> = {
    'another type': { rawBody: text, contentType: 'text/plain' },
    'a type that only begins alike': { rawBody: text, contentType: 'application/json5' },
    'no type': { rawBody: text, contentType: null },
    'another charset': { rawBody: text, contentType: 'application/json; charset=latin1' },
    'UTF-16': { rawBody: Buffer.from(text, 'utf16le') },
    'no UTF-8': { rawBody: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]) },
    'cut short': { rawBody: text.slice(0, -1) },
    'two documents': { rawBody: text + text },
    'nested too deeply': { rawBody: '['.repeat(300) },
    'a list': { body: [] },
    null: { body: null },
    compressed: { rawBody: text, headers: { 'Content-Encoding': 'gzip' } },
  };
  for await (const [id, { method, path, body, headers = {} }] of story(world)) {
    if (body !== undefined) {
      for (const [what, asked] of Object.entries(wrong)) {
        const answer = await world.call(method, path, {
          ...asked,
          headers: { ...headers, ...asked.headers },
        });
        t.match(
          { status: answer.status, message: messageOf(answer) },
          { status: 422, message: /^body: / },
          `${id}: ${what}`,
        );
      }
    }
    await world.call(method, path, { headers, ...(body === undefined ? {} : { body }) });
  }
  const types = ['application/json', 'Application/JSON; charset=UTF-8', 'application/json;charset="utf-8"'];
  for (const [at, contentType] of types.entries()) {
    const rawBody = `{"name":"type ${at}","limit":1}`;
    t.equal((await world.call('POST', rules, { rawBody, contentType })).status, 201, contentType);
  }
});

t.test('a limit is any whole number from -1 to 2^53 - 1, and comes back as it was sent', async t => {
  const world = await World.open(t);
  await world.post(rules, { name: 'r', limit: 0 });
  const numbers = fc.oneof(fc.constantFrom(-1, 0, 1, largest, largest - 1), fc.maxSafeNat());
  await fc.assert(
    fc.asyncProperty(numbers, async limit => {
      const edited = await world.must(200, 'PATCH', `${rules}/r`, { rawBody: `{"limit":${limit}}` });
      t.match(edited.json, { limit });
      t.match(await world.get(`${rules}/r`), { limit });
    }),
    { numRuns: 30 },
  );
  for (const [sent, limit] of [
    ['1e3', 1000],
    ['1.0', 1],
    ['-1.0', -1],
    ['9007199254740991.0', largest],
    ['-0', 0],
  ]) {
    t.match((await world.must(200, 'PATCH', `${rules}/r`, { rawBody: `{"limit":${sent}}` })).json, { limit });
  }
});

t.test('a limit that is none is 422 wherever one is said, and never rounded', async t => {
  const world = await World.open(t);
  await world.post(rules, { name: 'r', limit: 7 });
  const wrong = [
    ...[
      '9007199254740992',
      '9007199254740993',
      '1e16',
      '9223372036854775807',
      '1e400',
      `1${'0'.repeat(400)}`,
    ],
    ...['-2', '-9007199254740993', '-1.5', '0.5', '1.0000000000000000001', '9007199254740991.4', '1e-400'],
    ...['"1"', 'true', '[1]', '{}'],
  ];
  for (const limit of wrong) {
    const places: readonly (readonly [string, string, string, string])[] = [
      ['POST', rules, `{"name":"new","limit":${limit}}`, 'limit'],
      ['PATCH', `${rules}/r`, `{"limit":${limit}}`, 'limit'],
      ['POST', groups, `{"name":"g","rules":[{"name":"new","limit":${limit}}]}`, 'rules.0.limit'],
      ['POST', groups, `{"name":"g","rules":[{"name":"r","limit":${limit}}]}`, 'rules.0.limit'],
    ];
    for (const [method, path, rawBody, field] of places) {
      const answer = await world.call(method, path, { rawBody });
      t.equal(answer.status, 422, `${method} ${path} ${rawBody.slice(0, 60)}`);
      t.equal(messageOf(answer), `${field}: expected whole bytes from 0 to 2^53 - 1, or -1 for unlimited`);
    }
  }
  t.strictSame(await world.get(rules), [{ name: 'r', limit: 7, subjects: [], per: 'owner' }]);
  t.strictSame(await world.get(groups), []);
});

t.test('a message has a bound, however much is wrong', async t => {
  const world = await World.open(t);
  const body = { name: 'g', rules: Array<number>(900).fill(7) };
  const many = await world.must(422, 'POST', groups, { body });
  t.ok(many.text.length < 20_000);
  t.match(
    messageOf(many),
    /^rules\.0: expected an object; rules\.1: .*; rules\.19: expected an object; and 880 more$/,
  );
  const longer = { name: 'g', rules: Array<number>(50_000).fill(7) };
  const answer = await world.must(422, 'POST', groups, { body: longer });
  t.equal(messageOf(answer), 'rules: expected at most 1000 entries', 'and nothing of the entries');
  const long = await world.must(422, 'POST', rules, {
    body: { name: 'r', limit: 1, subjects: ['😀'.repeat(9000)] },
  });
  t.match(messageOf(long), /^subjects\.0: there is no subject .* and so on$/);
  const names = Array.from({ length: 15_000 }, (_, at) => `nobody ${at} ${'x'.repeat(20)}`);
  const policy = { rules: [], groups: [{ name: 'g', users: names }] };
  const unknown = await world.must(422, 'PUT', '/admin/quota/policy', { body: policy });
  t.match(messageOf(unknown), /^groups\.0\.users\.0: .* nobody 0 x*; .* nobody 19 x*; and 14981 more$/);
  const named = Array<string>(401).fill('r');
  const everywhere = Array.from({ length: 100 }, (_, at) => ({ name: `g${at}`, rules: named }));
  const drafted = everywhere.map(group => ({ ...group, rules: named.map(name => ({ name })) }));
  for (const [method, path, wanted] of [
    ['PUT', '/admin/quota/policy', { rules: [], groups: everywhere }],
    ['POST', '/admin/quota/simulate', { groups: drafted }],
  ] as const) {
    const refused = await world.must(422, method, path, { body: wanted });
    t.equal(messageOf(refused), 'groups: expected at most 40000 rules in all groups together');
  }
});

t.test('what a body says besides is ignored, as are a body and a query where none is asked for', async t => {
  const world = await World.open(t);
  const rawBody = '{"name":"r","limit":1,"subjects":null,"id":9,"__proto__":{"limit":5}}';
  const created = await world.must(201, 'POST', `${rules}?limit=9`, { rawBody });
  t.strictSame(created.json, { name: 'r', limit: 1, subjects: [], per: 'owner' });
  await world.get(rules, { rawBody: '{' });
  await world.remove(`${rules}/r?name=s`, { body: { name: 's' } });
});

t.test('a document is put together as it was, from parts of which none is long', async t => {
  const name = fc.string({ minLength: 200, maxLength: 400 });
  const names = fc.array(name, { maxLength: 700, size: 'max' });
  const group = fc.record({ name, users: names, rules: fc.array(fc.record({ name, limit: fc.nat() })) });
  let divided = 0;
  fc.assert(
    fc.property(fc.record({ groups: fc.array(group, { maxLength: 8 }), rules: names }), generated => {
      const whole = structuredClone(generated);
      const parts = partsOf(whole);
      if (parts.length > 2) divided += 1;
      t.strictSame(runToEnd(joined(parts)), whole);
      t.ok(parts.every(({ text }) => text.length < 150_000));
    }),
    { numRuns: 30 },
  );
  t.ok(divided > 5, `${divided} were divided`);
});
