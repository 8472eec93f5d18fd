/** Values of rows. They are not trusted: what no record can have made is damage, and throws. */

import type { SQLOutputValue } from 'node:sqlite';
import { decodeWtf8 } from '../../wtf8.ts';

type Value = SQLOutputValue | undefined;

/**
 * A column of names or ids, read as text where that loses nothing: node:sqlite makes a text three times as
 * fast as bytes. Text would end at a NUL, and has no lone surrogates (which begin with ED).
 */
export function asText(column: string): string {
  const losesSome = ['00', 'ED', 'EFBFBD'].map(bytes => `instr(${column}, x'${bytes}')`).join(' OR ');
  return `CASE WHEN ${losesSome} THEN ${column} ELSE CAST(${column} AS TEXT) END AS ${column}`;
}

/** Takes bytes, and text of a column that `asText` names. */
export function textValue(value: Value, column: string): string {
  if (typeof value === 'string' && !value.includes(replacement)) return value;
  const decoded = value instanceof Uint8Array ? decodeWtf8(value) : null;
  if (decoded === null) throw new TypeError(`${column} is no text`);
  return decoded;
}

/** Stands for bytes that were no text. */
const replacement = '\ufffd';

export function digitsValue(value: Value, column: string): bigint {
  if (typeof value !== 'string' || !/^-?\d+$/.test(value)) throw new TypeError(`${column} is no number`);
  return BigInt(value);
}
