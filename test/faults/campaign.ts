/** The hostile requests of a campaign: every shape for every route, in an order that a seed gives. */

import { z } from 'zod';
import type { Document } from '../../scripts/reference/openapi.ts';
import {
  bodyShapes,
  type HostileRequest,
  headerShapes,
  policyShapes,
  queryShapes,
  sizesUpTo,
} from './shapes.ts';

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;
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

export interface CampaignOptions {
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

/** Every entry once, in the same order for the same seed (mulberry32). */
function shuffled<Entry>(entries: readonly Entry[], start: number): readonly Entry[] {
  let state = start;
  const random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return entries
    .map(entry => [random(), entry] as const)
    .sort(([a], [b]) => a - b)
    .map(([, entry]) => entry);
}
