/**
 * The structure of an app.ini: its headings and its `KEY = value` lines, each with its number, and the text
 * of a value, which may be in quotes.
 *
 * Does not know which sections and keys exist. Every line that is neither heading, value, comment nor empty
 * is a fault, and so is a key that is there twice. The package `ini` resolves the escapes of a value. Text
 * that it would take for a comment or for another type is handled before: `#` and `;` begin a comment only
 * after white space, and text in quotes stays text.
 */

import { unsafe } from 'ini';
import type { Parsed } from '../parsed.ts';
import {
  type ConfigEntry,
  type ConfigFault,
  type ConfigOrigin,
  faultAt,
  keyId,
  type ReadEntries,
} from './key.ts';

export interface Heading {
  readonly section: string;
  readonly origin: ConfigOrigin;
}

/** The `section` of an entry is empty before the first heading. */
export interface ConfigLines extends ReadEntries {
  readonly headings: readonly Heading[];
}

/** Control characters except the tab; a value in double quotes may have them escaped. */
const control = /[\0-\x08\x0a-\x1f\x7f-\x9f]/;

export function readLines(text: string, file: string): ConfigLines {
  const headings: Heading[] = [];
  const entries: ConfigEntry[] = [];
  const faults: ConfigFault[] = [];
  const firstLines = new Map<string, number>();
  /** Null below a broken heading, where the section of keys is unknown. */
  let section: string | null = '';

  for (const [index, content] of text.split(/\r?\n/).entries()) {
    const origin: ConfigOrigin = { in: 'file', file, line: index + 1 };
    const fault = (message: string, place: Pick<ConfigFault, 'section' | 'key'> = {}) =>
      faults.push(faultAt(origin, { ...place, message }));
    const character = control.exec(content)?.[0];
    if (character === undefined && /^\s*(?:[#;]|$)/.test(content)) continue;
    const end = content.indexOf('=');
    const name = content.slice(0, Math.max(end, 0)).trim().toUpperCase();
    if (character !== undefined) {
      fault(`a ${characterName(character)}. Write plain text in UTF-8.`);
    } else if (/^\s*\[/.test(content)) {
      section = /^\s*\[([^[\]]*)\]\s*(?:$|[#;])/.exec(content)?.[1]?.trim().toLowerCase() ?? null;
      if (section === null) fault('not a heading. Write [section].');
      else headings.push({ section, origin });
    } else if (name === '') {
      fault('not a [section] and not KEY = value.');
    } else if (section !== null) {
      const place = { ...(section === '' ? {} : { section }), key: name };
      const id = keyId({ section, name });
      const first = firstLines.get(id);
      const value = decodeValue(content.slice(end + 1));
      if (!value.ok) fault(`${value.problem}.`, place);
      if (first !== undefined) fault(`is already on line ${first}. Keep one of the two.`, place);
      else if (value.ok) entries.push({ section, name, text: value.value, origin });
      firstLines.set(id, first ?? index + 1);
    }
  }
  return { headings, entries, faults };
}

function characterName(character: string): string {
  if (character === '\0') return 'NUL character';
  return `control character U+${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Decodes everything after the `=`, a comment included. */
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
  // In single quotes every character is literal.
  if (quoted.startsWith("'")) return { ok: true, value: quoted.slice(1, -1) };
  // Between double quotes ini expects JSON, and returns other text unchanged.
  const json = quoted.replaceAll('\t', '\\t');
  const text = unsafe(json);
  return text === json
    ? { ok: false, problem: 'an unknown escape. Between double quotes write \\\\ for a backslash' }
    : { ok: true, value: text };
}

/** Encodes a text so that `decodeValue` gives it back; without quotes if possible. */
export function encodeValue(text: string): string {
  const decoded = decodeValue(` ${text}`);
  if (decoded.ok && decoded.value === text && text.search(unprintable) === -1) return text;
  return JSON.stringify(text).replace(unprintable, inUnits);
}

const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Escapes a character, such as `\u202e`. JSON has an escape for each half of a surrogate pair. */
function inUnits(character: string): string {
  return Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('');
}
