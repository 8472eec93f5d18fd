/** A request's query or body as its schema says; throws `invalid`, naming every fault at once. */

import type { z } from 'zod';
import { SoftquotaError } from '../errors.ts';

export function parsed<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const faults = result.error.issues.map(issue => `${issue.path.join('.') || 'request'}: ${issue.message}`);
  throw new SoftquotaError('invalid', faults.join('; '));
}
