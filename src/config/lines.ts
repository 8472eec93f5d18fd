/**
 * The structure of an app.ini: its headings and its `KEY = value` lines, each with its number.
 *
 * Knows nothing of which sections and keys exist. Every line that is neither heading, value,
 * comment nor empty is a fault, and so is a key that is there twice.
 */

import {
  type ConfigEntry,
  type ConfigFault,
  type ConfigOrigin,
  faultAt,
  keyId,
  type ReadEntries,
} from './fault.ts';
import { decodeValue } from './value.ts';

export interface Heading {
  /** In lower case. */
  readonly section: string;
  readonly origin: ConfigOrigin;
}

/** The `section` of an entry is empty before the first heading. */
export interface ConfigLines extends ReadEntries {
  readonly headings: readonly Heading[];
}

type Line =
  | { readonly is: 'nothing' }
  | { readonly is: 'heading'; readonly section: string }
  /** The keys below belong to nobody knows what. */
  | { readonly is: 'broken heading' }
  | { readonly is: 'value'; readonly name: string; readonly written: string }
  | { readonly is: 'fault'; readonly message: string };

export function readLines(text: string, file: string): ConfigLines {
  const headings: Heading[] = [];
  const entries: ConfigEntry[] = [];
  const faults: ConfigFault[] = [];
  const firstLines = new Map<string, number>();
  let section: string | null = '';

  const lines = text.split(/\r?\n/);
  for (const [index, content] of lines.entries()) {
    const number = index + 1;
    const origin: ConfigOrigin = { in: 'file', file, line: number };
    const line = lineOf(content);
    if (line.is === 'heading') {
      section = line.section;
      headings.push({ section, origin });
    } else if (line.is === 'broken heading') {
      section = null;
      faults.push(faultAt(origin, { message: 'not a heading. Write [section].' }));
    } else if (line.is === 'fault') {
      faults.push(faultAt(origin, { message: line.message }));
    } else if (line.is === 'value' && section !== null) {
      const place = { ...(section === '' ? {} : { section }), key: line.name };
      const id = keyId({ section, name: line.name });
      const first = firstLines.get(id);
      const value = decodeValue(line.written);
      if (!value.ok) faults.push(faultAt(origin, { ...place, message: `${value.problem}.` }));
      if (first !== undefined) {
        faults.push(
          faultAt(origin, { ...place, message: `is already on line ${first}. Keep one of the two.` }),
        );
        continue;
      }
      firstLines.set(id, number);
      if (value.ok) entries.push({ section, name: line.name, text: value.value, origin });
    }
  }
  return { headings, entries, faults };
}

/** Control characters but for the tab; a value in double quotes may have them escaped. */
const control = /[\0-\x08\x0a-\x1f\x7f-\x9f]/;

function lineOf(content: string): Line {
  const character = control.exec(content)?.[0].charCodeAt(0);
  if (character !== undefined) {
    const name =
      character === 0 ? 'NUL character' : `control character U+${character.toString(16).padStart(4, '0')}`;
    return { is: 'fault', message: `a ${name}. Write plain text in UTF-8.` };
  }
  if (/^\s*(?:[#;]|$)/.test(content)) return { is: 'nothing' };
  if (/^\s*\[/.test(content)) {
    const name = /^\s*\[([^[\]]*)\]\s*(?:$|[#;])/.exec(content)?.[1];
    return name === undefined
      ? { is: 'broken heading' }
      : { is: 'heading', section: name.trim().toLowerCase() };
  }
  const end = content.indexOf('=');
  const name = end === -1 ? '' : content.slice(0, end).trim();
  if (name === '') return { is: 'fault', message: 'not a [section] and not KEY = value.' };
  return { is: 'value', name: name.toUpperCase(), written: content.slice(end + 1) };
}
