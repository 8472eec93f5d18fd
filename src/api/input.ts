/** Reads a request by its schemas. */

import type { z } from 'zod';
import { FaultList, SoftquotaError } from '../errors.ts';
import { printable } from '../text/index.ts';

/**
 * Parts of a request with the schema of each. Throws `invalid`, naming the first faults of all the parts with
 * their fields, and how many there are besides.
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
      faults.add(() => `${fieldOf(path, part)}: ${message}`);
    }
  }
  if (!faults.isEmpty) throw new SoftquotaError('invalid', printable(faults.toString()));
  return Object.fromEntries(parts);
}

function fieldOf(path: readonly PropertyKey[], part: string): string {
  return path.length === 0 ? part : path.map(String).join('.');
}

/** Words for faults that a schema has no words of its own for. */
function wordsOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') {
    const wanted = `expected ${articled(issue.expected)}`;
    return issue.input === undefined ? `it is missing, ${wanted}` : wanted;
  }
  if (issue.code === 'invalid_value') return `expected one of ${issue.values.map(String).join(', ')}`;
  if (issue.code === 'unrecognized_keys') return unknownFields(issue.keys);
  if (issue.code === 'too_big') return mostOf(issue);
  return undefined;
}

const mostNamed = 5;

function unknownFields(names: readonly string[]): string {
  const named = names.slice(0, mostNamed).map(name => name.slice(0, longestNamed));
  const more = names.length - named.length;
  return `there is no ${named.join(', ')}${more > 0 ? `, and no ${more} others` : ''}`;
}

const longestNamed = 100;

function mostOf({ origin, maximum }: { readonly origin: string; readonly maximum: number | bigint }) {
  if (origin === 'array') return `expected at most ${maximum} entries`;
  return origin === 'string' ? `expected at most ${maximum} characters` : undefined;
}

const articles: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  object: 'an object',
};

function articled(type: string): string {
  return articles[type] ?? `a ${type}`;
}
