/**
 * Paths whose names are any bytes, as strings that lose nothing.
 *
 * A name on the disk need not be UTF-8. Bytes of it that are no valid UTF-8 stand in the string as
 * lone surrogates, U+DC80 for 0x80 up to U+DCFF for 0xFF (what Python calls surrogateescape), so
 * that paths compare, split and join as strings, and still lead back to the very same bytes.
 */

import { isUtf8 } from 'node:buffer';
import { SoftquotaError } from '../errors.ts';

/** The path that these bytes are; any bytes are one. */
export function decodePath(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isUtf8(buffer)) return buffer.toString();
  // A string or a look at UTF-8 for each character would take a tenth of a second for a mebibyte.
  const units = Buffer.allocUnsafe(2 * buffer.length);
  let end = 0;
  for (let at = 0; at < buffer.length; ) {
    const { point, length } = characterAt(buffer, at);
    at += length;
    if (point < 0x10000) end = units.writeUInt16LE(point, end);
    else {
      end = units.writeUInt16LE(0xd7c0 + (point >> 10), end);
      end = units.writeUInt16LE(0xdc00 + (point & 0x3ff), end);
    }
  }
  return units.toString('utf16le', 0, end);
}

/** The code point of the UTF-8 character there, and its bytes; a byte that begins none stands for itself. */
function characterAt(bytes: Buffer, at: number): { readonly point: number; readonly length: number } {
  const first = bytes[at] as number;
  if (first < 0x80) return { point: first, length: 1 };
  const length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  let point = first & (0x7f >> length);
  for (let next = at + 1; next < at + length; next += 1) {
    const byte = bytes[next] ?? 0;
    if (byte >> 6 !== 0b10) return { point: 0xdc00 + first, length: 1 };
    point = (point << 6) | (byte & 0x3f);
  }
  const isShortest = length === 2 || (length === 3 && point >= 0x800) || (length === 4 && point >= 0x10000);
  const isSurrogate = point >> 11 === 0b11011;
  if (!isShortest || isSurrogate || point > 0x10ffff) return { point: 0xdc00 + first, length: 1 };
  return { point, length };
}

/**
 * Returns the path as the file system calls take it: as text if it is UTF-8, else as bytes. Throws
 * `bad_parameter` for a lone surrogate that stands for no byte: no file can be named so.
 */
export function encodePath(path: string): string | Buffer {
  if (path.isWellFormed()) return path;
  return Buffer.concat(Array.from(path, bytesOf));
}

function bytesOf(character: string): Buffer {
  if (character.isWellFormed()) return Buffer.from(character);
  const byte = character.charCodeAt(0) - 0xdc00;
  if (byte < 0x80 || byte > 0xff) {
    throw new SoftquotaError('bad_parameter', 'the path has a lone surrogate that stands for no byte');
  }
  return Buffer.of(byte);
}

// In a pattern with the flag u, a surrogate matches only where it is a lone one.
const standsForNoByte = /[\ud800-\udc7f\udd00-\udfff]/u;

/**
 * The one spelling that `decodePath` would give this path; null where no file can have it. A path
 * from outside may spell by surrogates what is UTF-8 after all.
 */
export function canonicalPath(path: string): string | null {
  if (path.includes('\0') || standsForNoByte.test(path)) return null;
  const encoded = encodePath(path);
  return typeof encoded === 'string' ? encoded : decodePath(encoded);
}

export function below(directory: string, name: string): string {
  return directory === '/' ? `/${name}` : `${directory}/${name}`;
}

/** Tells whether `path` is `directory` or lies somewhere below it; both are normalized. */
export function isWithin(path: string, directory: string): boolean {
  return path === directory || directory === '/' || path.startsWith(`${directory}/`);
}

/** The names on the way from `/`; `.` and doubled slashes are none. */
export function namesOf(path: string): string[] {
  return path.split('/').filter(name => name !== '' && name !== '.');
}

/** The path that these names make, from `/`. */
export function pathOf(names: readonly string[]): string {
  return `/${names.join('/')}`;
}
