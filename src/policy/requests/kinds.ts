/** The documents of requests: who asks for how much more, until when, why, and what the answer is. */

import { z } from 'zod';
import type { Kind } from '../../documents/index.ts';

const whole = z.number().int();

const request = z.strictObject({
  owner: whole,
  askedBy: z.strictObject({ id: whole, name: z.string() }),
  /** Milliseconds since 1970, as all moments here. */
  askedAt: whole,
  bytes: whole,
  /** Null: the administrator sets it when granting. */
  until: whole.nullable(),
  why: z.string(),
  state: z.enum(['open', 'granted', 'declined', 'withdrawn']),
  /** Null while it is open. */
  answer: z
    .strictObject({
      at: whole,
      /** Null: the administrator of a host, or the configuration. */
      by: z.string().nullable(),
      /** Granted by `[requests] AUTO_GRANT`. */
      automatic: z.boolean(),
      words: z.string(),
      /** The granted bytes and time; null if nothing was granted. */
      granted: z.strictObject({ allowance: z.string(), bytes: whole, until: whole }).nullable(),
    })
    .nullable(),
});

export type RequestDocument = Readonly<z.infer<typeof request>>;

/** By the request's id. */
export const requestKind: Kind<RequestDocument> = {
  name: 'request',
  durability: 'account',
  schema: request,
  describe: (id, { owner, bytes, state }) => ({ name: id, ownerId: owner, content: { bytes, state } }),
  ownerOf: ({ owner }) => owner,
};

export const requestKinds: readonly Kind<unknown>[] = [requestKind];
