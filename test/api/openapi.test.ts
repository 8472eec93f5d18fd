/** The API's description: it is sound, it is whole, and what is answered is what it tells. */

import { Validator } from '@seriousme/openapi-schema-validator';
import t from 'tap';
import { unboundedIn } from './bounded.ts';
import { ask, examples, fill, shared, story } from './operations.ts';
import { World } from './world.ts';

t.test('the description is a valid OpenAPI 3.1 document, the same on the socket and the address', async t => {
  const world = await World.open(t);
  const { json } = await world.must(200, 'GET', '/openapi.json', { as: 'nobody' });
  const { valid, errors } = await new Validator().validate(structuredClone(json) as Record<string, unknown>);
  t.strictSame({ valid, errors }, { valid: true, errors: undefined });
  t.match(json, { openapi: '3.1.0', info: { title: 'softquota', version: /^\d+\.\d+\.\d+/ } });
  t.strictSame(await world.get('/openapi.json', { as: 'host' }), json);
});

t.test('every operation is named once, and tells what it does and who may', async t => {
  const world = await World.open(t);
  const { operationIds, document } = world.description;
  t.equal(new Set(operationIds).size, operationIds.length);
  for (const [path, item] of Object.entries(document.paths ?? {})) {
    for (const [method, operation] of Object.entries(item)) {
      t.match(operation, { summary: /^[A-Z]/, tags: [String] }, `${method} ${path}`);
      const isOpen = Array.isArray(operation.security) && operation.security.length === 0;
      t.equal(
        /Scope: (`(read|write):|any\.)/.test(operation.description),
        !isOpen,
        `${method} ${path} names its scope`,
      );
      const told = Object.keys(operation.responses);
      // Signing in takes no credentials of a request, and refuses all the same.
      const refuses = !isOpen || operation.operationId === 'signIn';
      t.strictSame(
        told.includes('401') && told.includes('403'),
        refuses,
        `${method} ${path} tells of refusals`,
      );
    }
  }
});

t.test('every parameter and every property says what it is', async t => {
  const world = await World.open(t);
  const { document } = world.description;
  const isTold = (value: object): boolean =>
    'description' in value ||
    '$ref' in value ||
    ['anyOf', 'oneOf', 'allOf'].some(key => {
      const parts: unknown = Reflect.get(value, key);
      return Array.isArray(parts) && parts.some(isTold);
    });
  const silent: string[] = [];
  let count = 0;
  const look = (place: string, value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (key === 'example' || key === 'examples') continue;
      const isList = key === 'properties' || key === 'parameters';
      if (isList && typeof inner === 'object' && inner !== null) {
        for (const [name, part] of Object.entries(inner)) {
          count += 1;
          if (typeof part === 'object' && part !== null && !isTold(part))
            silent.push(`${place}/${key}/${name}`);
        }
      }
      look(`${place}/${key}`, inner);
    }
  };
  look('', document);
  t.ok(count > 1000, `${count} are looked at`);
  t.strictSame(silent, []);
});

t.test('every operation succeeds as the description tells, and HEAD works wherever GET does', async t => {
  const world = await World.open(t);
  await fill(world);
  t.strictSame(
    [...Object.keys(examples), ...Object.keys(shared)].sort(),
    [...world.description.operationIds].sort(),
    'each is tried here',
  );
  for await (const [id, example] of story(world)) {
    const answer = await ask(world, example);
    t.ok(answer.status >= 200 && answer.status < 300, `${id}: ${answer.status} ${answer.text.slice(0, 300)}`);
    t.equal(world.description.operation(example.method, example.path)?.id, id, `${id} is what was asked`);
    if (example.method !== 'GET') continue;
    const head = await world.call('HEAD', example.path, example);
    t.strictSame(
      { status: head.status, text: head.text, type: head.headers['content-type'] },
      { status: answer.status, text: '', type: answer.headers['content-type'] },
      `${id} by HEAD`,
    );
  }
});

t.test('what hosts share is asked in vain where there is one host, and the answer says so', async t => {
  const world = await World.open(t);
  for (const [id, example] of Object.entries(shared)) {
    const answer = await world.call(example.method, example.path, example);
    t.match(answer, { status: 404, text: /has its quota for itself .*docs\/redis\.md/ }, id);
    t.equal(world.description.operation(example.method, example.path)?.id, id);
  }
});

t.test('an answer that is not as described is noticed', async t => {
  const world = await World.open(t);
  const { description } = world;
  const answer = await world.must(200, 'GET', '/version');
  const told = (changed: Partial<typeof answer>) => () =>
    description.check('GET', '/version', { ...answer, ...changed });
  t.doesNotThrow(told({}));
  t.throws(told({ text: '{"version":1}' }), /version must be string/);
  t.throws(told({ text: '{"version":"1","more":1}' }), /additional properties/);
  t.throws(told({ text: '{}' }), /required property 'version'/);
  t.throws(told({ status: 201 }), /no such status/);
  t.throws(told({ headers: { 'content-type': 'text/html' } }), /application\/json is described/);
  t.throws(() => description.check('GET', '/nowhere', answer), /known addresses/);
});

t.test('every list and text that a request may hold has a bound', async t => {
  const world = await World.open(t);
  t.strictSame(unboundedIn(world.description.document), []);
  const body = (schema: object) => ({
    requestBody: { content: { 'application/json': { schema } } },
  });
  const wrong = {
    type: 'object',
    properties: {
      list: { type: 'array', items: { type: 'string', maxLength: 5 } },
      text: { type: ['string', 'null'] },
      record: { type: 'object', additionalProperties: { type: 'number' } },
      anything: {},
      fine: {
        anyOf: [{ type: 'array', maxItems: 3, items: { type: 'string', enum: ['a'] } }, { type: 'null' }],
      },
    },
  };
  const parameters = [{ name: 'id', in: 'path', schema: { type: 'string' } }];
  const document = {
    openapi: '3.1.0',
    info: { title: 'wrong', version: '1' },
    paths: { '/a': { post: { ...body({ $ref: '#/components/schemas/Wrong' }), parameters } } },
    components: { schemas: { Wrong: wrong } },
  };
  // The test's own document, of which only this much is read.
  const found = unboundedIn(document as unknown as typeof world.description.document);
  t.strictSame(found, ['post /a id', 'Wrong.list', 'Wrong.text', 'Wrong.record', 'Wrong.anything']);
});
