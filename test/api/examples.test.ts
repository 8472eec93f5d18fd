/**
 * The examples of the API's description: what the daemon takes, and what it answers.
 *
 * They are in scripts/reference/examples.json. With SOFTQUOTA_RECORD=1 this test writes that file anew;
 * `npm run generate` then puts them into docs/openapi.json.
 */

import { writeFile } from 'node:fs/promises';
import t from 'tap';
import { z } from 'zod';
import recorded from '../../scripts/reference/examples.json' with { type: 'json' };
import { ask, type Example, fill, shared, story } from './operations.ts';
import { type Answer, World } from './world.ts';

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

t.test('every operation has an example that the daemon takes, and an answer as it gives it', async t => {
  const world = await World.open(t);
  await fill(world);
  const now: Record<string, Recorded> = {};
  for await (const [id, example] of story(world)) now[id] = recordOf(id, example, await ask(world, example));
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

t.test('the description has the examples, and each is as its schema says', async t => {
  const world = await World.open(t);
  const operations = Object.values(world.description.document.paths ?? {}).flatMap(item =>
    Object.entries(item),
  );
  for (const [, operation] of operations) {
    const id = z.string().parse(operation.operationId);
    const { request, answer } = known[id] ?? {};
    const body = operation.requestBody?.content?.['application/json'];
    t.equal(body === undefined, request === undefined, `${id}: a request example where there is a body`);
    t.strictSame(body?.example, request, id);
    const success = Object.entries(operation.responses ?? {}).find(([status]) => status.startsWith('2'));
    const shown = z
      .looseObject({
        content: z.record(z.string(), z.looseObject({ example: z.unknown().optional() })).optional(),
      })
      .parse(success?.[1]);
    const [content] = Object.values(shown.content ?? {});
    t.strictSame(content?.example, answer, id);
    if (!withoutAnswer.includes(id)) t.equal(content === undefined, answer === undefined, id);
  }
  for (const [id, example] of Object.entries(ofSeveral)) {
    if (example === undefined) continue;
    const { method, path } = shared[id] ?? { method: '', path: '' };
    t.doesNotThrow(() => world.description.check(method, path, answerOf(example)), id);
  }
});

function answerOf(json: unknown): Answer {
  return { status: 200, headers: { 'content-type': 'application/json' }, text: JSON.stringify(json), json };
}

/** The fields of a request, without what differs each time, such as a token. */
function shapeOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.keys(value).sort();
}
