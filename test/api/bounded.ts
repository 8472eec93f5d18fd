/** Finds parts of a description's requests that have no bound. */

import { z } from 'zod';
import type { Document } from '../../scripts/reference/openapi.ts';

const schemaObject = z.record(z.string(), z.unknown());
type SchemaObject = z.infer<typeof schemaObject>;

/**
 * Lists, texts and objects with any names that a request may hold and that may be of any length, each by
 * where it is.
 */
export function unboundedIn(document: Document): readonly string[] {
  const { paths, components } = z
    .object({
      paths: z.record(z.string(), z.record(z.string(), schemaObject)),
      components: z.looseObject({ schemas: z.record(z.string(), z.unknown()) }),
    })
    .parse(document);
  const found = new Set<string>();

  const look = (schema: unknown, where: string, above: readonly unknown[]): void => {
    if (above.includes(schema)) return;
    const { success, data } = schemaObject.safeParse(schema);
    if (!success) return;
    const within = [...above, schema];
    const { $ref: ref } = data;
    if (typeof ref === 'string') {
      const name = ref.replace('#/components/schemas/', '');
      look(components.schemas[name], name, within);
    }
    for (const part of ['anyOf', 'oneOf', 'allOf']) {
      for (const each of z.array(z.unknown()).parse(data[part] ?? [])) look(each, where, within);
    }
    if (isUnbounded(data)) found.add(where);
    look(data.items, `${where}[]`, within);
    look(data.additionalProperties, `${where}.*`, within);
    for (const [name, field] of Object.entries(schemaObject.parse(data.properties ?? {}))) {
      look(field, `${where}.${name}`, within);
    }
  };

  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const where = `${method} ${path}`;
      for (const each of z.array(schemaObject).parse(operation.parameters ?? [])) {
        look(each.schema, `${where} ${String(each.name)}`, []);
      }
      const body = z
        .object({ content: z.record(z.string(), z.object({ schema: z.unknown() })) })
        .safeParse(operation.requestBody);
      for (const { schema } of Object.values(body.data?.content ?? {})) look(schema, `${where} body`, []);
    }
  }
  return [...found];
}

function isUnbounded(schema: SchemaObject): boolean {
  const { type, properties, additionalProperties } = schema;
  const types = Array.isArray(type) ? type : [type];
  if (types.includes('string')) {
    const isChosen = schema.enum !== undefined || schema.const !== undefined;
    if (!isChosen && schema.maxLength === undefined) return true;
  }
  if (types.includes('array') && schema.maxItems === undefined) return true;
  const isRecord = properties === undefined || typeof additionalProperties === 'object';
  if (types.includes('object') && isRecord && schema.maxProperties === undefined) return true;
  // A schema that says nothing of itself allows anything.
  const says = ['type', '$ref', 'anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const'];
  return !says.some(key => key in schema);
}
