/** The routes as an OpenAPI 3.1 document: docs/openapi.json, which the daemon serves. */

import { readFileSync } from 'node:fs';
import { STATUS_CODES } from 'node:http';
import { z } from 'zod';
import {
  createDocument,
  type ZodObjectInput,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
  type ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { isOpen } from '../../src/api/asker.ts';
import { tags } from '../../src/api/route.ts';
import { allRoutes } from '../../src/api/routes/index.ts';
import type { ApiServices } from '../../src/api/services.ts';
import { version } from '../../src/version.ts';
import { fault, longestValidators } from '../../src/wire/index.ts';
import { fieldWords } from './field-words.ts';

/** One request and its answer for each operation, recorded by test/api/openapi.test.ts. */
const examples: Readonly<Record<string, Example>> = JSON.parse(
  readFileSync(new URL('examples.json', import.meta.url), 'utf8'),
);

interface Example {
  readonly request?: unknown;
  readonly answer?: unknown;
}

type TaggedRoute = ReturnType<typeof allRoutes>[number];

export type Document = ReturnType<typeof createDocument>;

const description = `The usage and the quotas of the owners on a git server.

The paths and the JSON for rules, groups and quotas are the same as Forgejo's, so that its clients work with softquota.
Every error is \`{"message", "code", "url"}\`: the message names each wrong field.

The API is at \`http://127.0.0.1:3080/api/v1\` unless the administrator of the host has set another address.
\`softquota token create --user root --admin\`, as root on that host, prints a token for everything; send it as
\`Authorization: Bearer TOKEN\`. An operation for administrators needs a token of an administrator with the named scope.

Sizes are bytes. Times are in UTC. A name in a path is percent-encoded, slashes included. Lists come by pages:
\`X-Total-Count\` is the number of all entries, \`Link\` has the address of the page \`next\`, and a page after
the last one is empty.

A limit for somebody: create a rule (\`createRule\`), create a group with this rule (\`createGroup\`), and add the user
or the organization to the group (\`addUserToGroup\`). \`createGroup\` creates rules that do not exist yet, too. An
owner who is in several groups has the most generous of their limits; \`setGroupsOfUser\` removes the owner from all
other groups. \`listUsage\` has the usage, the limit and the state of all owners. \`getHistory\` has the usage of the
past.`;

/** All routes as a text of JSON. */
export function openApi(): string {
  // Making routes only hands on what their handlers work with, and none of them is called.
  return `${JSON.stringify(withWords(describe(allRoutes({} as ApiServices))), null, 2)}\n`;
}

function describe(routes: readonly TaggedRoute[]): Document {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method]: operation(route) };
  }
  const document: ZodOpenApiObject = {
    openapi: '3.1.0',
    info: { title: 'softquota', version, description, license: { name: 'MIT', identifier: 'MIT' } },
    // Relative to the document, so that it holds wherever the document was reached.
    servers: [{ url: '../v1' }],
    tags: Object.entries(tags).map(([name, text]) => ({ name, description: text })),
    security: [{ token: [] }, { basic: [] }, { session: [] }],
    paths: paths satisfies ZodOpenApiPathsObject,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'A token of softquota.' },
        basic: { type: 'http', scheme: 'basic', description: 'Any name, with a token as the password.' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'softquota-session',
          description:
            "A browser's session; with https and no path the cookie is called `__Host-softquota`. A request that changes something " +
            'has to come from a page of softquota.',
        },
      },
    },
  };
  return createDocument(document, {
    // A client may send fields that the code's types make read-only.
    override: ({ jsonSchema }) => {
      delete jsonSchema.readOnly;
    },
  });
}

/** Adds the words of fields that have none of their own; throws where there are none for a field. */
function withWords(document: Document): Document {
  for (const [name, schema] of Object.entries(document.components?.schemas ?? {}))
    describeFields(name, schema);
  for (const item of Object.values(document.paths ?? {})) {
    for (const { parameters = [] } of Object.values(item))
      for (const each of parameters) addWords(`in ${each.in}`, each.name, each);
  }
  return document;
}

/** Walks a schema of the component `name`. */
function describeFields(name: string, schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return;
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'properties')
      for (const [field, inner] of Object.entries(Object(value))) addWords(name, field, Object(inner));
    describeFields(name, value);
  }
}

interface Describable {
  description?: string;
  readonly schema?: unknown;
}

function addWords(schema: string, field: string, to: Describable): void {
  if (to.description !== undefined) return;
  const words = fieldWords[`${schema}.${field}`] ?? fieldWords[field];
  if (words === undefined)
    throw new Error(`${schema}.${field}: scripts/reference/field-words.ts has no words for it`);
  to.description = words;
}

function operation(route: TaggedRoute): ZodOpenApiOperationObject {
  const { params, query, body, access } = route;
  const needs =
    access === 'whoever is known'
      ? 'Scope: any.'
      : isOpen(access)
        ? null
        : `Scope: \`${access.to}:${access.area}\`.`;
  return {
    operationId: route.id,
    tags: [route.tag],
    summary: route.summary,
    description: [route.description, needs].filter(text => text !== undefined && text !== null).join('\n\n'),
    ...(isOpen(access) ? { security: [] } : {}),
    requestParams: {
      ...(params === null ? {} : { path: objectOf(params) }),
      ...(query === null ? {} : { query: objectOf(query) }),
      ...(route.answer.version === undefined ? {} : { header: ifNoneMatch }),
    },
    ...(body === null
      ? {}
      : {
          requestBody: {
            required: !body.safeParse(undefined).success,
            content: { 'application/json': { schema: body, ...exampleOf(examples[route.id]?.request) } },
          },
        }),
    responses: responses(route),
  };
}

function exampleOf(example: unknown): { readonly example?: unknown } {
  return example === undefined ? {} : { example };
}

/** More gets 431. */
const ifNoneMatch = z.object({
  'If-None-Match': z
    .string()
    .max(longestValidators)
    .optional()
    .meta({ description: 'The `ETag` of an earlier answer.' }),
});

/** Parameters are told one by one. */
function objectOf(schema: z.ZodType): ZodObjectInput {
  if (schema instanceof z.ZodObject) return schema;
  throw new TypeError('the parameters of a route are described by an object');
}

function responses(route: TaggedRoute): ZodOpenApiResponsesObject {
  const { type } = route;
  const { status, description: text, schema, version: versioned } = route.answer;
  const etag = { ETag: 'The version of the answer.' };
  const headers = { ...route.answer.headers, ...(versioned === undefined ? {} : etag) };
  const told: ZodOpenApiResponsesObject = {
    [`${status}` as const]: {
      description: text,
      headers: headersOf(headers),
      ...(schema === undefined
        ? {}
        : {
            content: {
              [type]: { schema, ...exampleOf(examples[route.id]?.answer) },
            },
          }),
    },
  };
  if (versioned !== undefined) {
    told['304'] = {
      description: 'Not changed: the version is the one in If-None-Match',
      headers: headersOf(etag),
    };
  }
  for (const each of faultsOf(route)) {
    told[`${each}` as `4${string}`] = {
      description: STATUS_CODES[each] ?? 'Fault',
      content: { 'application/json': { schema: fault } },
    };
  }
  return told;
}

/** By name, with what they tell. */
function headersOf(told: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(told).map(([name, description]) => [
      name,
      { description, schema: { type: 'string' as const } },
    ]),
  );
}

/** The statuses that a route may refuse with, ascending. */
function faultsOf({ params, query, body, access, method, faults }: TaggedRoute): readonly number[] {
  return [
    ...new Set([
      ...faults,
      ...(params === null ? [] : [400]),
      ...(access === 'our page' ? [403] : []),
      ...(isOpen(access) ? [] : [401, 403, 429]),
      ...(body === null ? [] : [413]),
      ...(params === null && query === null && body === null ? [] : [422]),
      431,
      ...(method === 'get' ? [] : [503]),
    ]),
  ].sort((a, b) => a - b);
}
