/** What a request says, as its schemas have it. */

import type { z } from 'zod';
import { SoftquotaError } from '../errors.ts';
import { printable } from '../quota/index.ts';

/** Parts of a request with the schema of each. Throws `invalid`, naming every fault of all the parts with its field. */
export function parsed<Schemas extends Readonly<Record<string, z.ZodType>>>(
  schemas: Schemas,
  input: Readonly<Record<keyof Schemas, unknown>>,
): { [Part in keyof Schemas]: z.output<Schemas[Part]> };
export function parsed(
  schemas: Readonly<Record<string, z.ZodType>>,
  input: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const faults: string[] = [];
  const parts = Object.entries(schemas).map(([part, schema]) => {
    const result = schema.safeParse(input[part], { error: wordsOf });
    if (!result.success) {
      faults.push(...result.error.issues.map(issue => `${fieldOf(issue.path, part)}: ${issue.message}`));
    }
    return [part, result.data] as const;
  });
  if (faults.length > 0) throw new SoftquotaError('invalid', printable(faults.join('; ')));
  return Object.fromEntries(parts);
}

function fieldOf(path: readonly PropertyKey[], part: string): string {
  return path.length === 0 ? part : path.map(String).join('.');
}

/** For what a schema has no words of its own. */
function wordsOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') {
    const wanted = `expected ${articled(issue.expected)}`;
    return issue.input === undefined ? `it is missing, ${wanted}` : wanted;
  }
  if (issue.code === 'invalid_value') return `expected one of ${issue.values.map(String).join(', ')}`;
  if (issue.code === 'unrecognized_keys') return `there is no ${issue.keys.join(', ')}`;
  return undefined;
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
