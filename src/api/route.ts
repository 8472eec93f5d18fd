/**
 * One definition of a route: its parameters, its access, its answers, and its description in OpenAPI.
 *
 * A request is checked in this order, and the first fault is the answer: credentials, method, rights of the
 * caller, things that the address names (`mustBe`), syntax of the body, conflicts of the body (`mustNotBe`),
 * and then all faults of query and body together.
 */

import { z } from 'zod';
import type { Transaction } from '../documents/index.ts';
import { FaultList, SoftquotaError } from '../errors.ts';
import type { Caller } from '../identity/index.ts';
import { printable } from '../text.ts';
import { knownName, mark } from '../wire/index.ts';
import { administrators, type Browser, type Requirement } from './asker.ts';
import type { LongBodySchema, SentDocument } from './body.ts';

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

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

/** A successful answer. `schema` is absent if the answer has no body. */
interface AnswerDefinition<Schema extends z.ZodType> {
  readonly status: 200 | 201 | 202 | 204;
  readonly description: string;
  readonly schema?: Schema;
  /** Descriptions of the headers by name. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Returns the version of the body for the ETag. A client that has this version already gets 304 without a
   * body.
   */
  version?(body: z.input<Schema>): string;
}

interface Described {
  /** Absent: the tag of the section in routes/index.ts. */
  readonly tag?: Tag;
  readonly summary: string;
  readonly description?: string;
  /** Absent: administrators, with `read:admin` for `get` and `write:admin` for all other methods. */
  readonly access?: Requirement;
  /** Error statuses besides those that follow from the parameters. Absent: 404 if the path has parameters. */
  readonly faults?: readonly (400 | 401 | 404 | 409 | 422 | 429 | 503)[];
  /** Schema of a body that may be long, which a thread parses then. */
  readonly longBody?: LongBodySchema;
}

/** Parameters of a path with their values in a request. */
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
  /** Throws if something that the address names does not exist, or is not for this caller. */
  mustBe?(params: Params<Path>, caller: Caller): void;
  /** Throws if the body conflicts with existing things. It runs before the body is checked otherwise. */
  mustNotBe?(json: unknown): void;
  handle(input: Input<Path, Query, Body>, call: Call): z.input<Answer> | Promise<z.input<Answer>>;
}

interface Input<Path extends string, Query extends z.ZodType, Body extends z.ZodType> {
  readonly params: Params<Path>;
  readonly query: z.output<Query>;
  readonly body: z.output<Body>;
}

export interface Call {
  /** Caller as checked last: after the body was read. */
  readonly caller: Caller;
  /** Null if this server has no sessions of browsers. */
  readonly browser: Browser | null;
  /** Address of the request as it reaches this API from outside, with the query. */
  readonly address: URL;
  /** Changes documents in one transaction in the caller's name. Rejects with the error that `work` throws. */
  change<Result>(work: (transaction: Transaction) => Result): Promise<Result>;
  header(name: string, value: string): void;
}

interface Incoming {
  readonly params: unknown;
  readonly query: unknown;
  json(): Promise<SentDocument>;
}

/** A route without its type parameters. */
export interface Route extends Described {
  /** A verb and its object, such as `createRule`. */
  readonly id: string;
  readonly method: Method;
  /** Path below /api/v1, with parameters as `{name}`. */
  readonly path: string;
  readonly access: Requirement;
  readonly faults: NonNullable<Described['faults']>;
  readonly params: z.ZodType | null;
  readonly query: z.ZodType | null;
  readonly body: z.ZodType | null;
  readonly answer: AnswerDefinition<z.ZodType>;
  readonly type: 'application/json' | 'text/csv';
  /** Returns the body of the answer; for CSV an iterable of lines. */
  run(incoming: Incoming, call: Call): Promise<unknown>;
}

/** Without a schema, query and body are ignored, and the answer has no body. */
export function route<
  Path extends string,
  Query extends z.ZodType = z.ZodUnknown,
  Body extends z.ZodType = z.ZodUnknown,
  Answer extends z.ZodType = z.ZodVoid,
>(method: Method, id: string, path: Path, definition: Definition<Path, Query, Body, Answer>): Route {
  const { query, body } = definition;
  const params = paramsIn(path);
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
      const { params: named } = parsed({ params: params ?? nothing }, { params: incoming.params });
      // The schema has every parameter of the path.
      const mustBe = () => definition.mustBe?.(named as Params<Path>, call.caller);
      mustBe();
      const { json, isRead } = body === undefined ? noBody : await incoming.json();
      if (body !== undefined) mustBe();
      definition.mustNotBe?.(json);
      const input = parsed(
        { query: query ?? nothing, body: isRead ? nothing : (body ?? nothing) },
        { query: incoming.query, body: json },
      );
      // Each part was parsed by its schema or by `nothing`, so the type is correct.
      return definition.handle({ params: named, ...input } as Input<Path, Query, Body>, call);
    },
  };
}

/** Makes the schema of the parameters in a path; null if there are none. */
function paramsIn(path: string): z.ZodObject | null {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  if (names.length === 0) return null;
  return z.object(Object.fromEntries(names.map(name => [name, isMark(path, name) ? mark : knownName])));
}

/** Tokens are also named by their names, so their `{id}` is not limited to the characters of an id. */
function isMark(path: string, name: string): boolean {
  return name === 'host' || (name === 'id' && !path.startsWith('/users/{user}/tokens/'));
}

/** Defines a route for administrators that answers with CSV; the first line has the column names. */
export function csvRoute<Query extends z.ZodType>(
  id: string,
  path: string,
  definition: Omit<Described, 'access'> & {
    readonly query: Query;
    readonly answer: { readonly description: string };
    /** Rejects before the first line is produced. */
    lines(query: z.output<Query>): Promise<AsyncIterable<string>>;
  },
): Route {
  const { query, answer, lines, ...described } = definition;
  const whole = { ...answer, status: 200, schema: z.string() } as const;
  return {
    ...route('get', id, path, { ...described, query, answer: whole, handle: () => '' }),
    type: 'text/csv',
    run: async incoming => lines(parsed({ query }, { query: incoming.query }).query),
  };
}

const nothing = z.unknown();
const noBody: SentDocument = { json: undefined, isRead: false };

/**
 * Checks the parts of a request against their schemas. Throws `invalid`, which names the first faults of all
 * parts with their fields, and the number of further faults.
 */
export function parsed<Schemas extends Readonly<Record<string, z.ZodType>>>(
  schemas: Schemas,
  input: Readonly<Record<keyof Schemas, unknown>>,
): { [Part in keyof Schemas]: z.output<Schemas[Part]> };
export function parsed(
  schemas: Readonly<Record<string, z.ZodType>>,
  input: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const faults = new FaultList();
  const parts: [string, unknown][] = [];
  for (const [part, schema] of Object.entries(schemas)) {
    const result = schema.safeParse(input[part], { error: wordsOf });
    if (result.success) parts.push([part, result.data]);
    for (const { path, message } of result.error?.issues ?? []) {
      faults.add(() => `${path.length === 0 ? part : path.map(String).join('.')}: ${message}`);
    }
  }
  if (!faults.isEmpty) throw new SoftquotaError('invalid', printable(faults.toString()));
  return Object.fromEntries(parts);
}

/** Words faults for which a schema has no message. */
function wordsOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') {
    const wanted = `expected ${articles[issue.expected] ?? `a ${issue.expected}`}`;
    return issue.input === undefined ? `it is missing, ${wanted}` : wanted;
  }
  if (issue.code === 'invalid_value') return `expected one of ${issue.values.map(String).join(', ')}`;
  if (issue.code === 'unrecognized_keys') return unknownFields(issue.keys);
  const unit = issue.code === 'too_big' ? units[issue.origin] : undefined;
  return issue.code === 'too_big' && unit !== undefined
    ? `expected at most ${issue.maximum} ${unit}`
    : undefined;
}

const units: Readonly<Record<string, string>> = { array: 'entries', string: 'characters' };

const mostNamed = 5;
const longestNamed = 100;

function unknownFields(names: readonly string[]): string {
  const named = names.slice(0, mostNamed).map(name => name.slice(0, longestNamed));
  const more = names.length - named.length;
  return `there is no ${named.join(', ')}${more > 0 ? `, and no ${more} others` : ''}`;
}

const articles: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  object: 'an object',
};

/** Returns the undecoded query with its `?`; empty if there is none. */
export function queryOf(url: string): string {
  const start = url.indexOf('?');
  return start === -1 ? '' : url.slice(start);
}
