/**
 * Writes and reads the share of an owner on a host as words that people and programs read.
 *
 * It is checked by hand, since the store's thread needs zod for nothing else, and zod takes longer to load
 * than all the rest of that thread.
 */

import { hash } from 'node:crypto';
import { isLeaf, type Leaf, leaves } from '../quota/index.ts';
import type { LargeUnit, ShareRecord } from './record-store.ts';

type Sizes = Partial<Record<Leaf, number>>;

function wholeValue(value: unknown, name: string): number {
  if (!Number.isSafeInteger(value)) throw new TypeError(`${name} is no whole number`);
  return Number(value);
}

/** Throws a TypeError if the value is no leaf. */
export function leafValue(value: unknown): Leaf {
  if (typeof value !== 'string' || !isLeaf(value)) throw new TypeError('leaf is no leaf');
  return value;
}

/** Prefix of all leaves, which is left out of the text. */
const leafPrefix = 'size:';
const unreachablePrefix = 'unreachable:';
const leavesByName = new Map(leaves.map(leaf => [leaf.slice(leafPrefix.length), leaf]));

/**
 * Writes a share as "git:lfs=45 units=1 measured=TIME largest=NUMBER": bytes by leaf; NUMBER is a hash of the
 * largest units, if they are given.
 */
export function usageText(share: ShareRecord, largest?: readonly LargeUnit[]): string {
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
    ...(largest === undefined ? [] : [`largest=${hashOf(largest)}`]),
  ].join(' ');
}

function hashOf(largest: readonly LargeUnit[]): number {
  return hash('md5', JSON.stringify(largest), 'buffer').readUInt32LE();
}

/** Reads what `usageText` wrote; throws for any other text. */
export function usageIn(ownerKey: string, host: string, text: string): ShareRecord {
  const bytes: Sizes = {};
  const unreachable: Sizes = {};
  const others = { units: 0, partial: 0, largest: 0, measured: null as number | null };
  for (const word of text.split(' ')) {
    const [, name = '', digits = ''] = /^(.+)=(-?\d+)$/.exec(word) ?? [];
    const number = wholeValue(digits === '' ? null : Number(digits), 'usage');
    if (number < 0 && name !== 'measured') throw new TypeError(`${name}: expected 0 or more, not ${number}`);
    if (Object.hasOwn(others, name)) others[name as keyof typeof others] = number;
    else if (name.startsWith(unreachablePrefix)) {
      unreachable[leafNamed(name.slice(unreachablePrefix.length))] = number;
    } else bytes[leafNamed(name)] = number;
  }
  return {
    ownerKey,
    host,
    bytes,
    ...(Object.keys(unreachable).length === 0 ? {} : { unreachable }),
    units: others.units,
    partial: others.partial === 1,
    measuredAt: others.measured,
  };
}

/** Returns the same text for a leaf each time, since each of many owners has some. */
function leafNamed(name: string): Leaf {
  const leaf = leavesByName.get(name);
  if (leaf === undefined) throw new TypeError(`${name} is no leaf`);
  return leaf;
}
