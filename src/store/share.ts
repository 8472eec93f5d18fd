/**
 * The share of an owner on a host, as text.
 *
 * It is checked by hand: the store's thread needs nothing else of zod, which takes longer to load than all
 * the rest of that thread.
 */

import { messageOf, SoftquotaError } from '../errors.ts';
import type { Leaf } from '../quota/index.ts';
import { printable } from '../text/index.ts';
import type { ShareRecord } from './record-store.ts';
import { checkedFields, leafValue, wholeValue } from './untrusted.ts';

/** All of a share but whose it is and where. */
type ShareContent = Omit<ShareRecord, 'ownerKey' | 'host'>;

/** Throws `invalid` where it is no share. */
function contentOfShare({ ownerKey, host, ...share }: ShareRecord): ShareContent {
  try {
    return contentIn(share);
  } catch (error) {
    const whose = `the share of ${printable(ownerKey)} on ${printable(host)}`;
    throw new SoftquotaError('invalid', `${whose}: ${messageOf(error)}`);
  }
}

/** JSON of all but whose it is and where. Throws `invalid`. */
export function textOfShare(share: ShareRecord): string {
  return JSON.stringify(contentOfShare(share));
}

/** Throws where it is no content of a share. */
export function shareOf(ownerKey: string, host: string, read: unknown): ShareRecord {
  return { ownerKey, host, ...contentIn(read) };
}

/** Throws where the text is none that `textOfShare` gives. */
export function shareIn(ownerKey: string, host: string, text: string): ShareRecord {
  return shareOf(ownerKey, host, JSON.parse(text));
}

/** `largest`: rows of earlier versions have it. */
const contentFields = ['bytes', 'unreachable', 'units', 'largest', 'partial', 'measuredAt'];

function contentIn(read: unknown): ShareContent {
  const share = checkedFields(read, 'a share', contentFields);
  const { unreachable, partial, measuredAt } = share;
  if (typeof partial !== 'boolean') throw new TypeError('partial: expected true or false');
  return {
    bytes: sizesIn(share.bytes, 'bytes'),
    ...(unreachable === undefined ? {} : { unreachable: sizesIn(unreachable, 'unreachable') }),
    units: sizeIn(share.units, 'units'),
    partial,
    measuredAt: measuredAt === null ? null : wholeValue(measuredAt, 'measuredAt'),
  };
}

function sizesIn(read: unknown, name: string): ShareContent['bytes'] {
  const sizes: Partial<Record<Leaf, number>> = {};
  for (const [leaf, size] of Object.entries(checkedFields(read, name)))
    sizes[leafValue(leaf)] = sizeIn(size, `${name}.${leaf}`);
  return sizes;
}

function sizeIn(value: unknown, name: string): number {
  const size = wholeValue(value, name);
  if (size < 0) throw new TypeError(`${name}: expected 0 or more, not ${size}`);
  return size;
}
