/**
 * A value as it stands in app.ini, and its text.
 *
 * `ini` undoes the escapes. What it would take for a comment or for another type is settled
 * before: `#` and `;` begin a comment only after white space, and what stands in quotes stays text.
 */

import { unsafe } from 'ini';
import type { Parsed } from '../parsed.ts';

/** The text of all that stands after the `=`, comment included. */
export function decodeValue(written: string): Parsed<string> {
  const start = written.trimStart();
  if (start.startsWith('"')) return decodeQuoted(start, /^"(?:[^"\\]|\\[\s\S])*"/);
  if (start.startsWith("'")) return decodeQuoted(start, /^'[^']*'/);
  const value = written.replace(/[ \t][#;][\s\S]*$/, '');
  const guarded = value.replace(/\\[\\;#]|[;#]/g, found => (found.length === 1 ? `\\${found}` : found));
  return { ok: true, value: unsafe(guarded) };
}

function decodeQuoted(start: string, pattern: RegExp): Parsed<string> {
  const quoted = pattern.exec(start)?.[0];
  if (quoted === undefined) return { ok: false, problem: 'a quotation mark that is not closed' };
  if (!/^(?:\s*$|\s+[#;])/.test(start.slice(quoted.length))) {
    return { ok: false, problem: 'text after the closing quotation mark. Quote the whole value, or nothing' };
  }
  // In single quotes every character stands for itself.
  if (quoted.startsWith("'")) return { ok: true, value: quoted.slice(1, -1) };
  // Between double quotes ini expects JSON, and gives back as it was what is none.
  const json = quoted.replaceAll('\t', '\\t');
  const text = unsafe(json);
  return text === json
    ? { ok: false, problem: 'an unknown escape. Between double quotes write \\\\ for a backslash' }
    : { ok: true, value: text };
}

/** A value that is decoded to this very text, plain where that can be. */
export function encodeValue(text: string): string {
  const decoded = decodeValue(` ${text}`);
  if (decoded.ok && decoded.value === text && text.search(unprintable) === -1) return text;
  return JSON.stringify(text).replace(unprintable, inUnits);
}

const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** `\u202e`; JSON has an escape for each half of a pair. */
function inUnits(character: string): string {
  return Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('');
}
