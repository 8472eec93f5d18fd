/** Recordings of Forgejo's quota API, asked of a running daemon, request by request. */

import { readFileSync } from 'node:fs';
import t from 'tap';
import { z } from 'zod';
import { type Answer, type Asked, type Person, World } from './world.ts';

const request = z.strictObject({
  section: z.string(),
  auth: z.string(),
  method: z.string(),
  path: z.string().startsWith('/api/v1'),
  body: z.unknown().optional(),
  rawBody: z.string().optional(),
  contentType: z.string().nullable().optional(),
  status: z.number(),
  response: z.unknown().optional(),
  note: z.string().optional(),
  differs: z.string().optional(),
});

const bytesByLeaf = z.record(z.string(), z.number());
const fixture = z.strictObject({ section: z.string(), fixture: z.record(z.string(), bytesByLeaf) });

const recordings = z
  .object({
    settings: z.record(z.string(), z.record(z.string(), z.record(z.string(), z.string()))),
    records: z.array(z.union([request, fixture])),
  })
  .parse(JSON.parse(readFileSync(new URL('../vectors/management.json', import.meta.url), 'utf8')));

const startsEmpty: ReadonlySet<string> = new Set(['auth', 'rules', 'groups', 'usage-fixture']);

const asRecorded = { quota: { ENABLED: 'true', REFUSE_WHEN: 'reached', UNCOVERED: 'deny' } };

const { records, settings } = recordings;
const sections = [...new Set(records.map(({ section }) => section))];

t.test(`Forgejo's scripts meet what they know in all ${records.length} recordings`, async t => {
  const world = await World.open(t, { settings: asRecorded });
  const send = sender(world);
  let held = 0;
  for (const section of sections) {
    const recorded = records.filter(record => record.section === section);
    await t.test(`${recorded.length} recordings: ${section}`, async t => {
      if (startsEmpty.has(section)) await emptyPolicy(world);
      world.reload(settings[section] ?? {});
      for (const record of recorded) {
        if ('fixture' in record) {
          await store(world, record.fixture);
          held++;
        } else {
          const answer = await send(record);
          const { auth, method, path, note = '' } = record;
          if (t.strictSame(shown(answer, record), expected(record), `${auth}: ${method} ${path} ${note}`))
            held++;
        }
      }
    });
  }
  t.equal(held, records.length);
});

type Request = z.infer<typeof request>;

/** More fields may be there than were recorded; lists are whole, and in this order. */
function shown({ status, json }: Answer, { response }: Request): unknown {
  return { status, body: status < 400 ? asFarAs(response, json) : typeof messageOf(json) };
}

function expected({ status, response }: Request): unknown {
  return { status, body: status < 400 ? response : 'string' };
}

function asFarAs(recorded: unknown, given: unknown): unknown {
  if (Array.isArray(recorded) && Array.isArray(given)) {
    return given.map((each, at) => (at < recorded.length ? asFarAs(recorded[at], each) : each));
  }
  if (isObject(recorded) && isObject(given)) {
    return Object.fromEntries(
      Object.entries(given)
        .filter(([name]) => name in recorded)
        .map(([name, value]) => [name, asFarAs(recorded[name], value)]),
    );
  }
  return given;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function messageOf(json: unknown): string {
  return z.strictObject({ message: z.string().min(1), code: z.string().min(1), url: z.url() }).parse(json)
    .message;
}

function sender(world: World): (record: Request) => Promise<Answer> {
  const tokens = new Map<string, string>();
  const accounts: Readonly<Record<string, Person>> = {
    admin: 'admin1',
    user: 'alice',
    bob: 'bob',
    carol: 'carol',
  };
  const credentials = async (auth: string): Promise<Asked> => {
    if (auth === 'none') return { as: 'nobody' };
    if (auth === 'badtoken') return { token: '0123456789abcdef0123456789abcdef01234567' };
    const account = accounts[auth];
    if (account !== undefined) return { as: account };
    const [, name = '', scopes = ''] = /^(\w+)-token\[(.+)\]$/.exec(auth) ?? [];
    const token = tokens.get(auth) ?? (await world.newToken(name, scopes.split(',')));
    tokens.set(auth, token);
    return { token };
  };
  return async ({ auth, method, path, body, rawBody, contentType }) =>
    world.call(method, path.slice('/api/v1'.length), {
      ...(await credentials(auth)),
      ...(body === undefined ? {} : { body }),
      ...(rawBody === undefined ? {} : { rawBody }),
      ...(contentType === undefined ? {} : { contentType }),
    });
}

async function emptyPolicy(world: World): Promise<void> {
  for (const list of ['/admin/quota/groups', '/admin/quota/rules']) {
    const json = await world.get(list);
    for (const { name } of z.array(z.object({ name: z.string() })).parse(json)) {
      await world.remove(`${list}/${encodeURIComponent(name)}`);
    }
  }
}

async function store(world: World, owners: z.infer<typeof fixture>['fixture']): Promise<void> {
  for (const [owner, stored] of Object.entries(owners)) {
    for (const [leaf, bytes] of Object.entries(stored)) await world.report(owner, leaf, bytes);
  }
}
