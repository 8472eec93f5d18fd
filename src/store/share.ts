/**
 * Writes and reads the share of an owner on a host as text: as JSON, and as words that people and programs
 * read.
 *
 * It is checked by hand, since the store's thread needs zod for nothing else, and zod takes longer to load
 * than all the rest of that thread.
 */

import { hash } from 'node:crypto';
import { messageOf, SoftquotaError } from '../errors.ts';
import { isLeaf, type Leaf, leaves } from '../quota/index.ts';
import { printable } from '../text.ts';
import type { LargeUnit, ShareRecord } from './record-store.ts';

/** A share without its owner and host. */
type ShareContent = Omit<ShareRecord, 'ownerKey' | 'host'>;
type Sizes = Partial<Record<Leaf, number>>;

/** Writes a share as JSON, without its owner and host. Throws `invalid` if it is no share. */
export function textOfShare({ ownerKey, host, ...share }: ShareRecord): string {
  try {
    return JSON.stringify(contentIn(share));
  } catch (error) {
    const whose = `the share of ${printable(ownerKey)} on ${printable(host)}`;
    throw new SoftquotaError('invalid', `${whose}: ${messageOf(error)}`);
  }
}

/** Reads what `textOfShare` wrote; throws for any other text. */
export function shareIn(ownerKey: string, host: string, text: string): ShareRecord {
  return { ownerKey, host, ...contentIn(JSON.parse(text)) };
}

/** The known fields of the JSON. `largest`: only rows of earlier versions have it. */
const contentFields = ['bytes', 'unreachable', 'units', 'largest', 'partial', 'measuredAt'];

function contentIn(read: unknown): ShareContent {
  const share = fieldsOf(read, 'a share');
  const other = Object.keys(share).find(field => !contentFields.includes(field));
  if (other !== undefined) throw new TypeError(`a share: ${other} is no field of it`);
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
  const sizes: Sizes = {};
  for (const [leaf, size] of Object.entries(fieldsOf(read, name)))
    sizes[leafValue(leaf)] = sizeIn(size, `${name}.${leaf}`);
  return sizes;
}

function sizeIn(value: unknown, name: string): number {
  const size = wholeValue(value, name);
  if (size < 0) throw new TypeError(`${name}: expected 0 or more, not ${size}`);
  return size;
}

function fieldsOf(read: unknown, name: string): Readonly<Record<string, unknown>> {
  if (typeof read !== 'object' || read === null || Array.isArray(read))
    throw new TypeError(`${name}: expected an object`);
  return { ...read };
}

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
 * largest units.
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
