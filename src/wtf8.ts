/**
 * Encodes any string as bytes, and back, without loss.
 *
 * A path may hold lone surrogates (they stand for bytes that are not UTF-8) and an id holds NULs;
 * a TEXT column would replace the former, and node:sqlite would cut the text at the latter. So strings
 * are stored as BLOBs. WTF-8 is UTF-8 that also writes a lone surrogate, as the three bytes of its
 * code: unlike UTF-16 it leaves ordinary names readable in the sqlite3 shell
 * (`CAST(name AS TEXT)`) and half as long.
 */

import { isUtf8 } from 'node:buffer';

export function encodeWtf8(text: string): Uint8Array {
  if (text.isWellFormed()) return Buffer.from(text, 'utf8');
  return Buffer.concat(Array.from(text, codePointBytes));
}

/** A whole character, or a surrogate that belongs to no pair. */
function codePointBytes(character: string): Uint8Array {
  if (character.isWellFormed()) return Buffer.from(character, 'utf8');
  const code = character.charCodeAt(0);
  return Uint8Array.of(0xed, 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f));
}

/** Returns null if `encodeWtf8` makes these bytes of no string. */
export function decodeWtf8(bytes: Uint8Array): string | null {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isUtf8(buffer)) return buffer.toString('utf8');
  let text = '';
  let start = 0;
  for (let at = buffer.indexOf(0xed); at !== -1; at = buffer.indexOf(0xed, at + 1)) {
    const code = 0xd000 | (((buffer[at + 1] ?? 0) & 0x3f) << 6) | ((buffer[at + 2] ?? 0) & 0x3f);
    if (code < 0xd800) continue;
    text += buffer.toString('utf8', start, at) + String.fromCharCode(code);
    start = at + 3;
  }
  text += buffer.toString('utf8', start);
  // Truncated or overlong bytes, and a pair written as two halves, would be encoded differently.
  return buffer.equals(encodeWtf8(text)) ? text : null;
}
