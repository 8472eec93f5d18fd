/** Sums that would become too large. */

import { SoftquotaError } from '../errors.ts';
import { addBytes, bytesUnder, type Leaf, leafMask, noUsage, type Usage } from '../quota/index.ts';
import type { OwnerRecord } from '../store/index.ts';
import { printable } from '../text/index.ts';

/** Tells whether bytes can be added up exactly. */
export function fitsExactly(usage: () => Usage): boolean {
  try {
    bytesUnder(usage(), leafMask('size:all'));
    return true;
  } catch {
    return false;
  }
}

/**
 * Throws `sum_too_large` where so many more bytes cannot be counted, so that they are not acknowledged;
 * `account` is missing for an owner who has none.
 */
export function mustFit(
  account: { readonly usage: Usage } | undefined,
  owner: OwnerRecord,
  leaf: Leaf,
  growthBytes: number,
): void {
  if (growthBytes <= 0) return;
  try {
    addBytes(bytesUnder(account?.usage ?? noUsage, leafMask('size:all')), growthBytes);
  } catch (cause) {
    const message = `${growthBytes} more bytes of ${leaf} would bring ${printable(owner.name)}'s usage past 2^53 - 1 bytes`;
    throw new SoftquotaError('sum_too_large', message, { cause });
  }
}
