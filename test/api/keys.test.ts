/** One case in all JSON of the API: snake_case, in the description and in what is answered. */

import { readFile } from 'node:fs/promises';
import t from 'tap';
import { oddKeys, oddNamesIn } from './keys.ts';
import { ask, fill, story } from './operations.ts';
import { World } from './world.ts';

t.test('every field and parameter of the description is in snake_case', async t => {
  const document: unknown = JSON.parse(
    await readFile(new URL('../../docs/openapi.json', import.meta.url), 'utf8'),
  );
  t.strictSame(oddNamesIn(document), []);
});

t.test('every key of every answer is in snake_case, also where the description leaves them open', async t => {
  const world = await World.open(t);
  await fill(world);
  for await (const [id, example] of story(world)) {
    const { json } = await ask(world, example);
    // The description has OpenAPI's own keys; its fields are looked at above.
    if (id !== 'getDescription') t.strictSame(oddKeys(json), [], id);
  }
  const { json: fault } = await world.must(404, 'GET', '/admin/quota/rules/none');
  t.strictSame(oddKeys(fault), []);
  const { json: refused } = await world.must(422, 'POST', '/admin/quota/rules', { body: { name: 1 } });
  t.strictSame(oddKeys(refused), []);
  const { json: told } = await world.must(200, 'GET', '/admin/quota/events?limit=1000');
  t.ok(Array.isArray(told) && told.length > 20, 'all that the story changed is on record');
  t.strictSame(oddKeys(told), []);
});

t.test('a name in another case is noticed, wherever it stands', async t => {
  const answer = [{ used: { LFS: 1 }, quota_group_map: { 'Our-Staff': [] } }, { 'at-once': [{ a__b: 1 }] }];
  t.strictSame(oddKeys(answer), ['[].at-once', '[].at-once[].a__b']);
  const parameters = [
    { in: 'query', name: 'staleAfter' },
    { in: 'header', name: 'X-A' },
  ];
  const Row = { properties: { LFS: {}, in: { items: { properties: { ownerId: {} } } } } };
  t.strictSame(oddNamesIn({ paths: { '/a': { get: { parameters } } }, components: { schemas: { Row } } }), [
    '/components/schemas/Row/properties/in/items.ownerId',
    '/paths//a/get/parameters/0?staleAfter',
  ]);
});
