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

/** Control characters but for the tab; a value in double quotes may have them escaped. */
const control = /[\0-\x08\x0a-\x1f\x7f-\x9f]/;

export function readLines(text: string, file: string): ConfigLines {
  const headings: Heading[] = [];
  const entries: ConfigEntry[] = [];
  const faults: ConfigFault[] = [];
  const firstLines = new Map<string, number>();
  /** Null below a broken heading: the keys belong to nobody knows what. */
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
