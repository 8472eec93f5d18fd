/** When owners were first seen over limits, as a document, so that a restart gives nobody another grace. */

import { z } from 'zod';
import type { Kind } from '../documents/index.ts';

const begun = z.strictObject({
  /** The name of the rule; null is the built-in one. */
  rule: z.string().nullable(),
  /** Milliseconds since 1970. */
  since: z.number().int(),
  /** The limit only reported, so that the owner was not warned. */
  isReported: z.boolean(),
});

const graces = z.array(begun).readonly();

export type GraceDocument = z.infer<typeof graces>;

/**
 * By the owner's id; kept only for owners over a limit that has a grace. It is made again by use: where it is
 * lost, graces begin again. A backup has it all the same.
 */
export const graceKind: Kind<GraceDocument> = { name: 'grace', durability: 'volatile', schema: graces };
