/**
 * Checks values of rows without zod, which takes longer to load than the store's thread. Throws TypeErrors.
 */

import { isLeaf, type Leaf } from '../quota/index.ts';

/** Returns the fields of an object; throws if it has others than the known ones. */
export function checkedFields(
  read: unknown,
  name: string,
  known: readonly string[] | null = null,
): Readonly<Record<string, unknown>> {
  if (typeof read !== 'object' || read === null || Array.isArray(read))
    throw new TypeError(`${name}: expected an object`);
  const other = Object.keys(read).find(field => known?.includes(field) === false);
  if (other !== undefined) throw new TypeError(`${name}: ${other} is no field of it`);
  return { ...read };
}

export function checkedText(read: unknown, name: string): string {
  if (typeof read !== 'string') throw new TypeError(`${name}: expected text`);
  return read;
}

export function wholeValue(value: unknown, column: string): number {
  if (!Number.isSafeInteger(value)) throw new TypeError(`${column} is no whole number`);
  return Number(value);
}

export function leafValue(value: unknown): Leaf {
  if (typeof value !== 'string' || !isLeaf(value)) throw new TypeError('leaf is no leaf');
  return value;
}

export function choiceValue<T extends string>(value: unknown, column: string, known: readonly T[]): T {
  const found = known.find(one => one === value);
  if (found === undefined) throw new TypeError(`${column} is none of ${known.join(', ')}`);
  return found;
}
