/** The share of an owner on a host, as text. */

import { z } from 'zod';
import { SoftquotaError } from '../errors.ts';
import { isLeaf } from '../quota/index.ts';
import { issueLines, printable } from '../text/index.ts';
import type { ShareRecord } from './record-store.ts';

const leaf = z.string().refine(isLeaf, { error: 'no subject that bytes are measured under' });
const size = z.number().int().nonnegative();

const content = z.strictObject({
  bytes: z.partialRecord(leaf, size),
  unreachable: z.partialRecord(leaf, size).optional(),
  units: size,
  largest: z.array(
    z.strictObject({ kind: z.enum(['walked', 'reported']), name: z.string(), leaf, bytes: size }),
  ),
  partial: z.boolean(),
  measuredAt: z.number().int().nullable(),
});

/** All of a share but whose it is and where. */
export type ShareContent = Omit<ShareRecord, 'ownerKey' | 'host'>;

/** Throws `invalid` where it is no share. */
export function contentOfShare({ ownerKey, host, ...share }: ShareRecord): ShareContent {
  const { data, error } = content.safeParse(share);
  if (error === undefined) return data;
  const why = issueLines(error).join('; ');
  throw new SoftquotaError('invalid', `the share of ${printable(ownerKey)} on ${printable(host)}: ${why}`);
}

/** JSON of all but whose it is and where. Throws `invalid`. */
export function textOfShare(share: ShareRecord): string {
  return JSON.stringify(contentOfShare(share));
}

/** Throws where it is no content of a share. */
export function shareOf(ownerKey: string, host: string, read: unknown): ShareRecord {
  return { ownerKey, host, ...content.parse(read) };
}

/** Throws where the text is none that `textOfShare` gives. */
export function shareIn(ownerKey: string, host: string, text: string): ShareRecord {
  return shareOf(ownerKey, host, JSON.parse(text));
}
