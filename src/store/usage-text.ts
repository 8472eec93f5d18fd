/** The usage of an owner on one host as text that people and programs read. */

import { hash } from 'node:crypto';
import { leaves } from '../quota/index.ts';
import type { LargeUnit, ShareRecord } from './record-store.ts';
import { shareOf } from './share.ts';

/** Leaves are written without what all of them begin with. */
const leafPrefix = 'size:';
const unreachablePrefix = 'unreachable:';

/**
 * Writes "git:lfs=45 units=1 measured=TIME largest=NUMBER": bytes by leaf, and a number that is another one
 * for other largest units.
 */
export function usageText(share: ShareRecord, largest: readonly LargeUnit[]): string {
  const { bytes, unreachable = {}, units, partial, measuredAt } = share;
  const sizes = (prefix: string, of: ShareRecord['bytes']) =>
    leaves.flatMap(leaf =>
      of[leaf] === undefined ? [] : [`${prefix}${leaf.slice(leafPrefix.length)}=${of[leaf]}`],
    );
  return [
    ...sizes('', bytes),
    ...sizes(unreachablePrefix, unreachable),
    `units=${units}`,
    ...(partial ? ['partial=1'] : []),
    ...(measuredAt === null ? [] : [`measured=${measuredAt}`]),
    `largest=${hash('md5', JSON.stringify(largest), 'buffer').readUInt32LE()}`,
  ].join(' ');
}

/** Reads what `usageText` wrote; throws where it is none. */
export function usageIn(ownerKey: string, host: string, text: string): ShareRecord {
  const bytes: Record<string, number> = {};
  const unreachable: Record<string, number> = {};
  const others: Record<string, number> = {};
  for (const word of text.split(' ')) {
    const [, name = '', digits] = /^(.+)=(-?\d+)$/.exec(word) ?? [];
    if (digits === undefined) throw new TypeError('no usage');
    if (/^(?:units|partial|measured|largest)$/.test(name)) others[name] = Number(digits);
    else if (name.startsWith(unreachablePrefix)) {
      unreachable[leafPrefix + name.slice(unreachablePrefix.length)] = Number(digits);
    } else bytes[leafPrefix + name] = Number(digits);
  }
  return shareOf(ownerKey, host, {
    bytes,
    ...(Object.keys(unreachable).length === 0 ? {} : { unreachable }),
    units: others.units ?? 0,
    partial: others.partial === 1,
    measuredAt: others.measured ?? null,
  });
}
