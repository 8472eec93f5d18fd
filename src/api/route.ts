/**
 * A route in one definition, from which come what it takes, who may use it, what it answers, and its
 * description.
 *
 * A request is looked at in this order, and the first thing that is wrong is the answer: the credentials, the
 * method, the caller's rights, what the address names (`mustBe`), the body's form, what stands against the
 * body (`mustNotBe`), and then every fault of query and body together.
 */

import { z } from 'zod';
import type { Transaction } from '../documents/index.ts';
import type { Caller } from '../identity/index.ts';
import { knownName, mark } from '../wire/index.ts';
import { administrators, type Browser, type Requirement } from './asker.ts';
import { parsed } from './input.ts';
import type { LongBodySchema } from './long-body.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

export const tags = {
  policy: 'Rules and groups',
  owners: 'Usage and limits of owners',
  own: 'Your own quota',
  organizations: "An organization's quota",
  users: 'Users, organizations, tokens and sessions',
  sources: 'Sign-in with an identity provider, and quota groups from its claims',
  operation: 'Scans and administration of the installation',
  about: 'About this API',
} as const;

export type Tag = keyof typeof tags;

/** A success. `schema` is left out where there is no body. */
interface AnswerDefinition<Schema extends z.ZodType> {
  readonly status: 200 | 201 | 202 | 204;
  readonly description: string;
  readonly schema?: Schema;
  /** By name, with what they tell. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The body's version, in characters of an ETag: who holds it already is answered 304 without a body. */
  version?(body: z.input<Schema>): string;
}

interface Described {
  /** Left out: that of the routes' section in routes/index.ts. */
  readonly tag?: Tag;
  readonly summary: string;
  readonly description?: string;
  /** Left out: administrators, with `read:admin` for `get` and `write:admin` for all other methods. */
  readonly access?: Requirement;
  /**
   * Statuses of refusals besides those that follow from what the route takes; left out: 404 where the address
   * has names.
   */
  readonly faults?: readonly (400 | 401 | 404 | 409 | 422 | 429 | 503)[];
  /** Length of a body, at most; 1 MiB unless a larger one is given, and 4 KiB where anybody may send it. */
  readonly mostBytes?: number;
  /** The name of the body's schema, where a long one is read on a thread. */
  readonly longBody?: LongBodySchema;
}

/** The names in a path, and what stands for each of them in a request. */
type Params<Path extends string> = Path extends string ? Readonly<Record<NamesIn<Path>, string>> : never;

type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;

interface Definition<
  Path extends string,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Answer extends z.ZodType,
> extends Described {
  readonly query?: Query;
  readonly body?: Body;
  readonly answer: AnswerDefinition<Answer>;
  /** Throws where something that the address names is missing, or not for this caller. */
  mustBe?(params: Params<Path>, caller: Caller): void;
  /** Throws where the body, whatever else is wrong with it, asks for what cannot be. */
  mustNotBe?(json: unknown): void;
  handle(input: Input<Path, Query, Body>, call: Call): z.input<Answer> | Promise<z.input<Answer>>;
}

interface Input<Path extends string, Query extends z.ZodType, Body extends z.ZodType> {
  readonly params: Params<Path>;
  readonly query: z.output<Query>;
  readonly body: z.output<Body>;
}

export interface Call {
  /** The state of now, since reading a body takes time. */
  readonly caller: Caller;
  /** Null: no browser comes here. */
  readonly browser: Browser | null;
  /** Changes documents in one transaction, which is recorded as the caller's; rejects as `work` throws. */
  change<Result>(work: (transaction: Transaction) => Result): Promise<Result>;
  header(name: string, value: string): void;
}

interface Incoming {
  readonly params: unknown;
  readonly query: unknown;
  json(): Promise<SentDocument>;
}

export interface SentDocument {
  readonly json: unknown;
  /** It is what its schema gives. */
  readonly isRead: boolean;
}

/** Route in the form that the framework uses. */
export interface Route extends Described {
  /** A verb and what it is done to, such as `createRule`. */
  readonly id: string;
  readonly method: Method;
  /** Below /api/v1; what varies stands as `{name}`. */
  readonly path: string;
  readonly access: Requirement;
  readonly faults: NonNullable<Described['faults']>;
  readonly params: z.ZodType | null;
  readonly query: z.ZodType | null;
  readonly body: z.ZodType | null;
  readonly answer: AnswerDefinition<z.ZodType>;
  readonly type: 'application/json' | 'text/csv';
  /** Gives the body of the answer, of CSV its lines. */
  run(incoming: Incoming, call: Call): Promise<unknown>;
}

export type TaggedRoute = Route & { readonly tag: Tag };

export const getRoute = routesBy('get');
export const postRoute = routesBy('post');
export const putRoute = routesBy('put');
export const patchRoute = routesBy('patch');
export const deleteRoute = routesBy('delete');

/** Without a schema there is nothing to take, and nothing to answer with. */
function routesBy(method: Method) {
  return <
    Path extends string,
    Query extends z.ZodType = z.ZodUnknown,
    Body extends z.ZodType = z.ZodUnknown,
    Answer extends z.ZodType = z.ZodVoid,
  >(
    id: string,
    path: Path,
    definition: Definition<Path, Query, Body, Answer>,
  ): Route => {
    const { query, body } = definition;
    const params = paramsIn(path);
    const schemas = { params: params ?? nothing, query: query ?? nothing, body: body ?? nothing };
    return {
      ...definition,
      id,
      method,
      path,
      access: definition.access ?? administrators[method === 'get' ? 'read' : 'write'],
      faults: definition.faults ?? (params === null ? [] : [404]),
      params,
      query: query ?? null,
      body: body ?? null,
      type: 'application/json',
      run: async (incoming, call) => {
        const named = parsed({ params: schemas.params }, { params: incoming.params });
        // The schema has each name in the path.
        const mustBe = () => definition.mustBe?.(named.params as Params<Path>, call.caller);
        mustBe();
        const { json, isRead } = body === undefined ? noBody : await incoming.json();
        if (body !== undefined) mustBe();
        definition.mustNotBe?.(json);
        const input = parsed(isRead ? { ...schemas, body: nothing } : schemas, {
          params: incoming.params,
          query: incoming.query,
          body: json,
        });
        // Each part has the type that its schema, or `nothing`, gives.
        return definition.handle(input as Input<Path, Query, Body>, call);
      },
    };
  };
}

/** A schema with the names in a path; null: it has none. */
function paramsIn(path: string): z.ZodObject | null {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  if (names.length === 0) return null;
  return z.object(Object.fromEntries(names.map(name => [name, isMark(path, name) ? mark : knownName])));
}

/** Tokens can also be named by the names that people give them. */
function isMark(path: string, name: string): boolean {
  return name === 'host' || (name === 'id' && !path.startsWith('/users/{user}/tokens/'));
}

/** A route for administrators that answers with lines of CSV; the first line names the columns. */
export function csvRoute<Query extends z.ZodType>(
  id: string,
  path: string,
  definition: Omit<Described, 'access'> & {
    readonly query: Query;
    readonly answer: { readonly description: string };
    /** Rejects before the first line, or not at all. */
    lines(query: z.output<Query>): Promise<AsyncIterable<string>>;
  },
): Route {
  const { query, answer, lines, ...described } = definition;
  const whole = { ...answer, status: 200, schema: z.string() } as const;
  return {
    ...getRoute(id, path, { ...described, query, answer: whole, handle: () => '' }),
    type: 'text/csv',
    run: async incoming => lines(parsed({ query }, { query: incoming.query }).query),
  };
}

const nothing = z.unknown();
const noBody: SentDocument = { json: undefined, isRead: false };
