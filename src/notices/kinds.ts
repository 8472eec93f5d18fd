/**
 * The documents of notices: what is to be delivered, how far the record of events was read, and the faults
 * that last. All of them are volatile: hosts that share a quota see the same ones, and no backup has them.
 */

import { z } from 'zod';
import { noticeTypes } from '../config/index.ts';
import type { Kind } from '../documents/index.ts';

const whole = z.number().int();

/** Notices that are no event: a trial, and the summary for administrators. */
const allTypes = [...noticeTypes, 'test', 'digest'] as const;

const notice = z.strictObject({
  /** Id that stays however often the notice is sent; without dots. */
  id: z.string(),
  type: z.enum(allTypes),
  /** Milliseconds since 1970, as all moments here. */
  at: whole,
  owner: z.string().nullable(),
  /** One sentence. */
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
  }),
]);

export type Target = Readonly<z.infer<typeof target>>;

const delivery = z.strictObject({
  notice,
  to: target,
  /** Only this host sends it; null: the host that sends for all. */
  host: z.string().nullable(),
  state: z.enum(['pending', 'dead']),
  createdAt: whole,
  attempts: whole,
  /** Not tried before. */
  nextAt: whole,
  /** Fault of the last attempt. */
  fault: z.string().nullable(),
});

export type Delivery = Readonly<z.infer<typeof delivery>>;

export const deliveryKind: Kind<Delivery> = { name: 'delivery', durability: 'volatile', schema: delivery };

const position = z.strictObject({
  /** Events from before are passed over. */
  floor: whole,
  /** Events that were told since: the id, the time, and of a refusal how often it had happened. */
  seen: z.array(z.tuple([z.string(), whole, whole])).readonly(),
  /** When the last summary was made; null: none was. */
  digestAt: whole.nullable(),
});

export type ReadPosition = Readonly<z.infer<typeof position>>;

export const positionKind: Kind<ReadPosition> = {
  name: 'notice-position',
  durability: 'volatile',
  schema: position,
};

const openFault = z.strictObject({ id: z.string(), since: whole, reason: z.string() });

/** Faults that were told, and are not over: by host, what is at fault, and where, as a JSON array. */
export const openFaultKind: Kind<Readonly<z.infer<typeof openFault>>> = {
  name: 'open-fault',
  durability: 'volatile',
  schema: openFault,
};

export const noticeKinds: readonly Kind<unknown>[] = [deliveryKind, positionKind, openFaultKind];
