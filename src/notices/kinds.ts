/**
 * The kinds of documents of notices: deliveries, the position in the record of events, and open faults. All
 * are volatile: hosts that share a quota have the same ones, and backups do not have them.
 */

import { z } from 'zod';
import { noticeTypes } from '../config/index.ts';
import type { Kind } from '../documents/index.ts';

const whole = z.number().int();

/** Adds the notices that are not events: a test, and the summary for administrators. */
const allTypes = [...noticeTypes, 'test', 'digest'] as const;

const notice = z.strictObject({
  /** The id of the notice, the same each time it is sent; without dots. */
  id: z.string(),
  type: z.enum(allTypes),
  /** Milliseconds since 1970, like all times here. */
  at: whole,
  owner: z.string().nullable(),
  /** A sentence for people. */
  message: z.string(),
  data: z.record(z.string(), z.unknown()),
});

export type NoticeDocument = Readonly<z.infer<typeof notice>>;

const target = z.discriminatedUnion('via', [
  /** The name of a `[webhook.NAME]` section. */
  z.strictObject({ via: z.literal('webhook'), name: z.string() }),
  z.strictObject({
    via: z.literal('mail'),
    address: z.string(),
    /** The owner who can unsubscribe; null: an administrator. */
    ownerId: whole.nullable(),
    /** The owner whom the mail is about; null: for administrators, or the recipient. */
    aboutId: whole.nullable().default(null),
  }),
]);

export type Target = Readonly<z.infer<typeof target>>;

const delivery = z.strictObject({
  notice,
  to: target,
  /** The only host that sends it; null: the host that sends for all. */
  host: z.string().nullable(),
  state: z.enum(['pending', 'dead']),
  createdAt: whole,
  attempts: whole,
  /** The time of the next attempt. */
  nextAt: whole,
  /** The reason why the last attempt failed; null: no attempt yet. */
  fault: z.string().nullable(),
});

export type Delivery = Readonly<z.infer<typeof delivery>>;

export const deliveryKind: Kind<Delivery> = { name: 'delivery', durability: 'volatile', schema: delivery };

const position = z.strictObject({
  /** Events before this time are ignored. */
  floor: whole,
  /** Events with a notice: the id, the time, and the number of refusals in the notice (else 1). */
  seen: z.array(z.tuple([z.string(), whole, whole])).readonly(),
  /** The time of the last summary; null: none. */
  digestAt: whole.nullable(),
});

export type ReadPosition = Readonly<z.infer<typeof position>>;

export const positionKind: Kind<ReadPosition> = {
  name: 'notice-position',
  durability: 'volatile',
  schema: position,
};

const openFault = z.strictObject({ id: z.string(), since: whole, reason: z.string() });

/** Open faults that have a notice. The key is a JSON array of host, kind of fault and place. */
export const openFaultKind: Kind<Readonly<z.infer<typeof openFault>>> = {
  name: 'open-fault',
  durability: 'volatile',
  schema: openFault,
};

export const noticeKinds: readonly Kind<unknown>[] = [deliveryKind, positionKind, openFaultKind];
