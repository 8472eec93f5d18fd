/**
 * The API's description: it is sound and whole, what is answered is what it tells, in snake_case, and its
 * examples are what the daemon takes and answers.
 *
 * The examples are in scripts/reference/examples.json. With SOFTQUOTA_RECORD=1 this test writes that file anew;
 * `npm run generate` then puts them into docs/openapi.json.
 */

import { writeFile } from 'node:fs/promises';
import { Validator } from '@seriousme/openapi-schema-validator';
import t from 'tap';
import recorded from '../../scripts/reference/examples.json' with { type: 'json' };
import { unboundedIn } from './bounded.ts';
import { oddKeys, oddNamesIn } from './keys.ts';
import { ask, type Example, examples, fill, shared, story } from './operations.ts';
import { type Answer, World } from './world.ts';

const world = await World.open(t);

interface Told {
  readonly id: string;
  readonly example: Example;
  readonly answer: Answer;
  /** Null where HEAD means nothing. */
  readonly head: Answer | null;
}

/** The story once, with the answer to each of its requests. */
async function tellStory(): Promise<readonly Told[]> {
  await fill(world);
  const all: Told[] = [];
  for await (const [id, example] of story(world)) {
    const answer = await ask(world, example);
    const head = example.method === 'GET' ? await world.call('HEAD', example.path, example) : null;
    all.push({ id, example, answer, head });
  }
  return all;
}

const told = await tellStory();

interface Recorded {
  readonly request?: unknown;
  readonly answer?: unknown;
}

/** Answers that one host cannot give. */
const ofSeveral: Readonly<Record<string, unknown>> = {
  listHosts: [
    {
      id: 'git1',
      alive: true,
      silent_seconds: 0,
      seen_at: '2026-11-21T09:14:03.000Z',
      version: '0.1.0',
      owners: 2,
      bytes: 12400000000,
      walks: [],
    },
  ],
  forgetHost: undefined,
  getSharedStore: { away_since: null, reason: null, divergence: null },
  repairStore: undefined,
};

/** Nothing of what it prints is a secret, and no list is longer than two. */
function shortened(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 2).map(shortened);
  if (typeof value === 'string') return value.replace(/^[0-9a-f]{40}$/, 'a'.repeat(40));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shortened(inner)]));
}

/** The description itself has no example of an answer. */
const withoutAnswer = ['getDescription'];

/** Gives no answer where it has no body. */
function recordOf(id: string, { body }: Example, { text, json }: Pick<Answer, 'text' | 'json'>): Recorded {
  const hasAnswer = text !== '' && !withoutAnswer.includes(id);
  return {
    ...(body === undefined ? {} : { request: shortened(body) }),
    ...(hasAnswer ? { answer: json === undefined ? firstLines(text) : shortened(json) } : {}),
  };
}

/** Keeps the first lines of CSV, of which the first names the columns. */
function firstLines(text: string): string {
  const lines = text.split(/(?<=\n)/);
  return lines.slice(0, 3).join('');
}

const known: Readonly<Record<string, Recorded>> = recorded;

t.test('the description is a valid OpenAPI 3.1 document, the same on the socket and the address', async t => {
  const json = await world.get('/openapi.json', { as: 'nobody' });
  const { valid, errors } = await new Validator().validate(structuredClone(json) as Record<string, unknown>);
  t.strictSame({ valid, errors }, { valid: true, errors: undefined });
  t.match(json, { openapi: '3.1.0', info: { title: 'softquota', version: /^\d+\.\d+\.\d+/ } });
  t.strictSame(await world.get('/openapi.json', { as: 'host' }), json);
});

t.test('every operation is named once, and tells what it does and who may', async t => {
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
      const statuses = Object.keys(operation.responses);
      // Signing in takes no credentials of a request, and refuses all the same.
      const refuses = !isOpen || operation.operationId === 'signIn';
      t.strictSame(
        statuses.includes('401') && statuses.includes('403'),
        refuses,
        `${method} ${path} tells of refusals`,
      );
    }
  }
});

t.test('every parameter and every property says what it is', async t => {
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
  const { operationIds } = world.description;
  t.strictSame(
    [...Object.keys(examples), ...Object.keys(shared)].sort(),
    [...operationIds].sort(),
    'each is tried here',
  );
  for (const { id, example, answer, head } of told) {
    t.ok(answer.status >= 200 && answer.status < 300, `${id}: ${answer.status} ${answer.text.slice(0, 300)}`);
    t.equal(world.description.operation(example.method, example.path)?.id, id, `${id} is what was asked`);
    if (head === null) continue;
    t.strictSame(
      { status: head.status, text: head.text, type: head.headers['content-type'] },
      { status: answer.status, text: '', type: answer.headers['content-type'] },
      `${id} by HEAD`,
    );
  }
});

t.test('every key of every answer is in snake_case, also where the description leaves them open', async t => {
  // The description has OpenAPI's own keys; its fields are looked at below.
  for (const { id, answer } of told) if (id !== 'getDescription') t.strictSame(oddKeys(answer.json), [], id);
  const { json: fault } = await world.must(404, 'GET', '/admin/quota/rules/none');
  t.strictSame(oddKeys(fault), []);
  const { json: refused } = await world.must(422, 'POST', '/admin/quota/rules', { body: { name: 1 } });
  t.strictSame(oddKeys(refused), []);
  const events = await world.get('/admin/quota/events?limit=1000');
  t.ok(Array.isArray(events) && events.length > 20, 'all that the story changed is on record');
  t.strictSame(oddKeys(events), []);
});

t.test('every operation has an example that the daemon takes, and an answer as it gives it', async t => {
  const now: Record<string, Recorded> = {};
  for (const { id, example, answer } of told) now[id] = recordOf(id, example, answer);
  for (const [id, example] of Object.entries(shared)) {
    const json = ofSeveral[id];
    now[id] = recordOf(id, example, { text: json === undefined ? '' : 'of several', json });
  }
  if (process.env.SOFTQUOTA_RECORD === '1') {
    const file = new URL('../../scripts/reference/examples.json', import.meta.url);
    await writeFile(file, `${JSON.stringify(now, null, 2)}\n`);
    return;
  }
  t.strictSame(Object.keys(known).sort(), Object.keys(now).sort(), 'each operation is there');
  for (const [id, { request, answer }] of Object.entries(now)) {
    t.strictSame(shapeOf(known[id]?.request), shapeOf(request), `${id}: the request`);
    t.equal(known[id]?.answer === undefined, answer === undefined, `${id}: whether there is an answer`);
  }
});

t.test('the examples of what several hosts answer are as their schemas say', async t => {
  for (const [id, example] of Object.entries(ofSeveral)) {
    if (example === undefined) continue;
    const { method, path } = shared[id] ?? { method: '', path: '' };
    t.doesNotThrow(() => world.description.check(method, path, answerOf(example)), id);
  }
});

t.test('every field and parameter of the description is in snake_case', async t => {
  t.strictSame(oddNamesIn(world.description.document), []);
});

t.test('what hosts share is asked in vain where there is one host, and the answer says so', async t => {
  for (const [id, example] of Object.entries(shared)) {
    const answer = await world.call(example.method, example.path, example);
    t.match(answer, { status: 404, text: /has its quota for itself .*docs\/redis\.md/ }, id);
    t.equal(world.description.operation(example.method, example.path)?.id, id);
  }
});

t.test('an answer that is not as described is noticed', async t => {
  const { description } = world;
  const answer = await world.must(200, 'GET', '/version');
  const changing = (changed: Partial<typeof answer>) => () =>
    description.check('GET', '/version', { ...answer, ...changed });
  t.doesNotThrow(changing({}));
  t.throws(changing({ text: '{"version":1}' }), /version must be string/);
  t.throws(changing({ text: '{"version":"1","more":1}' }), /additional properties/);
  t.throws(changing({ text: '{}' }), /required property 'version'/);
  t.throws(changing({ status: 201 }), /no such status/);
  t.throws(changing({ headers: { 'content-type': 'text/html' } }), /application\/json is described/);
  t.throws(() => description.check('GET', '/nowhere', answer), /known addresses/);
});

t.test('every list and text that a request may hold has a bound', async t => {
  t.strictSame(unboundedIn(world.description.document), []);
});

function answerOf(json: unknown): Answer {
  return { status: 200, headers: { 'content-type': 'application/json' }, text: JSON.stringify(json), json };
}

/** The fields of a request, without what differs each time, such as a token. */
function shapeOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.keys(value).sort();
}
