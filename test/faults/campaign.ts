/** The hostile requests of a campaign: every shape for every route, in an order that a seed gives. */

import { z } from 'zod';
import type { Document } from '../../scripts/reference/openapi.ts';
import { numbersFrom } from '../numbers.ts';

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

export interface HostileRequest {
  readonly socket: 'gate' | 'trusted' | 'http';
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Made when it is sent: all of them together would fill the memory. */
  readonly body?: () => string | Buffer;
  /** For whoever reads a failure. */
  readonly what: string;
}

/** Bodies of about so many bytes, by what is odd about them. */
const bodyShapes: Readonly<Record<string, (bytes: number) => string | Buffer>> = {
  'zeros in a list': bytes => `[${repeated('0,', bytes)}0]`,
  'empty lists in a list': bytes => `[${repeated('[],', bytes)}[]]`,
  'empty objects in a list': bytes => `{"rules":[${repeated('{},', bytes)}{}]}`,
  'lists in lists': bytes => `${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}`,
  'objects in objects': bytes => repeated('{"a":', bytes),
  'many names': bytes => objectOf(bytes, at => `"${at.toString(36)}":0`),
  'many whole numbers as names': bytes => objectOf(bytes, at => `"${(at * 7919) % 4_294_967_291}":0`),
  'many objects of many names': bytes => {
    const ofOne = Math.floor(bytes / 20_000) + 1;
    return listOf(ofOne, list => objectOf(bytes / ofOne, at => `"${list}-${at.toString(36)}":0`));
  },
  'the same name many times': bytes => objectOf(bytes, () => '"name":"x"'),
  'one long text': bytes => `{"name":"${'x'.repeat(bytes)}"}`,
  'one long text of escapes': bytes => `{"name":"${repeated('\\u0041', bytes)}"}`,
  'many short texts of escapes': bytes => `{"rules":[${repeated('"\\u0041\\"",', bytes)}0]}`,
  'blanks between all that is there': bytes => `[${repeated(`0,${' '.repeat(1000)}`, bytes)}0]`,
  'a long number with an end': bytes => `{"limit":1.${'0'.repeat(bytes)}1}`,
  'a long number': bytes => `{"limit":${'9'.repeat(bytes)}}`,
  'many numbers that cannot be represented': bytes => `{"limit":[${repeated('1e400,', bytes)}1]}`,
  blanks: bytes => `${' '.repeat(bytes)}{}`,
  'a text that never ends': bytes => `{"name":"${'\\"'.repeat(bytes / 2)}`,
  'bytes that are no text': bytes => Buffer.alloc(bytes, 0xff),
};

const each = <Entry>(length: number, entry: (at: number) => Entry) =>
  Array.from({ length }, (_, at) => entry(at));
const rule = (name: string) => ({ name, limit: 1, subjects: ['size:all'] });

/** Whole policies, as large as they may be, of which something is wrong. */
const policyShapes: Readonly<Record<string, () => object>> = {
  'users that nobody knows': () => ({
    rules: [],
    groups: [{ name: 'g', rules: [], users: each(500_000, at => `nobody ${at}`) }],
  }),
  'a user who is there again and again': () => ({
    rules: [],
    groups: [{ name: 'g', rules: [], users: each(500_000, () => 'alice') }],
  }),
  'a user in all groups': () => ({
    rules: [],
    groups: [...each(9999, at => ({ name: `g${at}`, rules: [], users: ['alice'] })), { name: 'g0' }],
  }),
  'rules that are there twice': () => ({
    rules: [...each(5000, at => rule(`r${at}`)), ...each(5000, at => rule(`r${at}`))],
    groups: [],
  }),
  'groups of rules that nobody laid down': () => ({
    rules: [],
    groups: each(1000, group => ({ name: `g${group}`, rules: each(400, at => ({ name: `r${at}` })) })),
  }),
  'groups of names of rules that nobody laid down': () => ({
    rules: [],
    groups: each(1000, group => ({ name: `g${group}`, rules: each(400, at => `r${at}`) })),
  }),
};

/** Query strings, as long as addresses may be. */
const queryShapes: readonly string[] = [
  `?${repeated('a&', 12 * kibibyte)}`,
  `?${repeated('limit=1&', 12 * kibibyte)}`,
  `?limit=1&page=3&${Array.from({ length: 3500 }, (_, at) => at.toString(16)).join('&')}`,
  `?q=${'%41'.repeat(4000)}`,
  `?owner=${'%ff'.repeat(4000)}`,
  `?owner=${'%e4'.repeat(4000)}`,
  `?subject=${'%20'.repeat(20)}size:all${'%20'.repeat(3000)}`,
  `?page=${'9'.repeat(12_000)}&limit=${'0'.repeat(300)}1`,
  `?path=/${'a/'.repeat(6000)}`,
  `?path=/${'../'.repeat(4000)}`,
  `?after=${'1'.repeat(6000)}.${'a'.repeat(6000)}`,
];

/** Headers, as long as they may be altogether. */
const headerShapes: readonly Readonly<Record<string, string>>[] = [
  { Authorization: `token ${'x'.repeat(12_000)}` },
  { Authorization: `Basic ${Buffer.from(`a:${'x'.repeat(8000)}`).toString('base64')}` },
  { Authorization: ' '.repeat(12_000) },
  { Cookie: repeated('softquota-session=x; ', 12_000) },
  { Cookie: `softquota-session=${'x'.repeat(12_000)}` },
  { 'X-Forwarded-For': repeated('1.2.3.4, ', 12_000) },
  { 'If-None-Match': repeated('"x", ', 12_000) },
  { 'If-None-Match': ','.repeat(12_000) },
  { Accept: repeated('text/plain;q=0.1, ', 12_000) },
  { 'Accept-Encoding': repeated('gzip;q=0.1, ', 12_000) },
  { Origin: `http://${'a.'.repeat(5000)}` },
  { 'Content-Type': `application/json${' '.repeat(12_000)};` },
];

/** Sizes up to what a route takes, and one beyond. */
function sizesUpTo(mostBytes: number): readonly number[] {
  return [kibibyte, 64 * kibibyte, mebibyte, mostBytes, mostBytes + 2].filter(
    bytes => bytes <= mostBytes + 2,
  );
}

function repeated(text: string, bytes: number): string {
  return text.repeat(Math.floor(bytes / text.length));
}

function listOf(length: number, entry: (at: number) => string): string {
  return `[${Array.from({ length }, (_, at) => entry(at)).join(',')}]`;
}

function objectOf(bytes: number, field: (at: number) => string): string {
  const fields: string[] = [];
  for (let length = 2, at = 0; length < bytes; at++) {
    const text = field(at);
    fields.push(text);
    length += text.length + 1;
  }
  return `{${fields.join(',')}}`;
}

const json = { 'Content-Type': 'application/json' } as const;

type Tokens = Readonly<Record<'admin' | 'user', string>>;

/** The user whose token it is. */
export const attacker = 'mallory';

/** The names in addresses; all of it is there. */
export const targets = {
  user: 'alice',
  owner: 'alice',
  org: 'guild',
  group: 'plain',
  rule: 'plain',
} as const;

interface CampaignOptions {
  readonly tokens: Tokens;
  /** A source that is there. */
  readonly sourceId: string;
  readonly seed: number;
}

export function campaign(description: Document, options: CampaignOptions): readonly HostileRequest[] {
  return shuffled([...toGate(), ...toApi(description, options)], options.seed);
}

/** More bytes than the largest body has: what each route takes is in docs/api.md. */
function mostBytesOf(path: string): number {
  if (path.endsWith('/session')) return 4 * kibibyte;
  return path.endsWith('/quota/policy') || path.endsWith('/quota/simulate') ? 16 * mebibyte : mebibyte;
}

function* toApi(description: Document, { tokens, sourceId: id }: CampaignOptions): Generator<HostileRequest> {
  const described = z.looseObject({ requestBody: z.unknown().optional() });
  const { paths } = z
    .object({ paths: z.record(z.string(), z.record(z.string(), described)) })
    .parse(description);
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const to = { path, method: method.toUpperCase(), tokens, id };
      yield* toOperation(to);
      if (operation.requestBody !== undefined) yield* withBodies(to);
    }
  }
}

interface Operation {
  readonly path: string;
  readonly method: string;
  readonly tokens: Tokens;
  readonly id: string;
}

/** A value in the place of a name in an address. */
const names = [
  'x',
  'x'.repeat(8000),
  '%F0%9F%98%80'.repeat(600),
  '%00',
  '..',
  '%2e%2e%2f',
  '%ff',
  '%25'.repeat(2000),
];

/** Nothing that is there is deleted: the requests after it would find nothing. */
function addressOf({ path, method, id }: Operation, user: string): string {
  const all: Readonly<Record<string, string>> = { ...targets, user, id };
  const named = (_: string, name: string) => (method === 'DELETE' ? 'gone' : (all[name] ?? 'x'));
  return `/api/v1${path.replaceAll(/\{(\w+)\}/g, named)}`;
}

function* toOperation(operation: Operation): Generator<HostileRequest> {
  const { path, method, tokens } = operation;
  const http = { socket: 'http', method } as const;
  for (const [who, token] of Object.entries(tokens)) {
    const headers = { Authorization: `token ${token}` };
    const plain = addressOf(operation, who === 'user' ? attacker : targets.user);
    for (const [at, query] of queryShapes.entries()) {
      yield { ...http, path: plain + query, headers, what: `${who}: ${method} ${plain} with query ${at}` };
    }
    for (const [at, shape] of headerShapes.entries()) {
      const all = { ...headers, ...shape };
      yield { ...http, path: plain, headers: all, what: `${who}: ${method} ${plain} with header ${at}` };
    }
    if (!path.includes('{')) continue;
    for (const [at, name] of names.entries()) {
      const named = `/api/v1${path.replaceAll(/\{\w+\}/g, name)}`;
      yield { ...http, path: named, headers, what: `${who}: ${method} ${path} of name ${at}` };
    }
  }
}

function* withBodies(operation: Operation): Generator<HostileRequest> {
  const { path, method, tokens } = operation;
  const most = mostBytesOf(path);
  const to = addressOf(operation, targets.user);
  const http = { socket: 'http', method, path: to } as const;
  const headers = {
    ...json,
    'Sec-Fetch-Site': 'same-origin',
    ...(path.endsWith('/session') ? {} : { Authorization: `token ${tokens.admin}` }),
  };
  for (const [shape, bodyOf] of Object.entries(bodyShapes)) {
    for (const bytes of sizesUpTo(most)) {
      const what = `${method} ${to} with ${shape}, ${bytes} bytes`;
      yield { ...http, headers, body: () => bodyOf(bytes - 32), what };
    }
  }
  if (path.endsWith('/quota/policy') || path.endsWith('/quota/simulate')) {
    for (const [kind, policyOf] of Object.entries(policyShapes)) {
      const body = () => JSON.stringify(policyOf());
      yield { ...http, headers, body, what: `${method} ${to} with ${kind}` };
    }
  }
}

const gateRoutes = [
  'check',
  'changed',
  'unasked',
  'units',
  'usage',
  'claims',
  'reservations',
  'sources/x',
  'nothing',
];
const form = { 'Content-Type': 'application/x-www-form-urlencoded' } as const;

function* toGate(): Generator<HostileRequest> {
  for (const socket of ['gate', 'trusted'] as const) {
    for (const route of gateRoutes) {
      const path = `/v1/${route}`;
      const at = (what: string) => `${socket} ${path}: ${what}`;
      for (const [n, query] of queryShapes.entries()) {
        yield { socket, method: 'GET', path: path + query, headers: {}, what: at(`query ${n}`) };
      }
      for (const [n, headers] of headerShapes.entries()) {
        yield { socket, method: 'GET', path, headers, what: at(`header ${n}`) };
      }
      const most = route === 'claims' && socket === 'trusted' ? mebibyte : 64 * kibibyte;
      const method = route.startsWith('sources') ? 'PUT' : 'POST';
      for (const bytes of [kibibyte, most, most + 2, mebibyte]) {
        for (const [shape, bodyOf] of Object.entries(bodyShapes)) {
          const body = () => bodyOf(bytes - 32);
          yield { socket, method, path, headers: json, body, what: at(`${shape}, ${bytes} bytes`) };
        }
        for (const [n, query] of queryShapes.entries()) {
          const body = () => query.slice(1).repeat(Math.max(1, Math.floor(bytes / query.length)));
          yield { socket, method, path, headers: form, body, what: at(`form ${n}, ${bytes} bytes`) };
        }
      }
    }
  }
}

/** Every entry once, in the same order for the same seed. */
function shuffled<Entry>(entries: readonly Entry[], seed: number): readonly Entry[] {
  const random = numbersFrom(seed);
  return entries
    .map(entry => [random(2 ** 31), entry] as const)
    .sort(([a], [b]) => a - b)
    .map(([, entry]) => entry);
}
