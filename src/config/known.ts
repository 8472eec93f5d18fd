/** Separates what means something in a file from the rest, which are faults with the name that was meant. */

import { allKeys, findSection, removedKey, type Section, sections } from './definition.ts';
import { type ConfigFault, faultAt, type ReadEntries } from './fault.ts';
import type { ConfigLines, Heading } from './lines.ts';

/**
 * Keys of the release before are known, too. An unknown section is one fault, whatever stands in it. What
 * stands at unknown keys is not repeated: it may be a secret.
 */
export function knownOf(lines: ConfigLines): ReadEntries {
  const faults = unknownSections(lines.headings);
  const entries = lines.entries.filter(entry => {
    const section = findSection(entry.section);
    if (section === null && entry.section !== '') return false;
    if (section?.keys.some(key => key.name === entry.name)) return true;
    if (removedKey(entry.section, entry.name) !== null) return true;
    faults.push(
      faultAt(entry.origin, {
        ...(section === null ? {} : { section: entry.section }),
        key: entry.name,
        message: section === null ? homelessMessage(entry.name) : unknownKeyMessage(section, entry.name),
      }),
    );
    return false;
  });
  return { entries, faults };
}

function unknownSections(headings: readonly Heading[]): ConfigFault[] {
  const unknown = new Map<string, ConfigFault>();
  for (const { section, origin } of headings) {
    if (findSection(section) !== null || unknown.has(section)) continue;
    const meant = meantSection(section);
    const advice =
      meant === null ? `Known are ${namesOf(sections)}.` : `Did you mean ${namesOf([{ name: meant }])}?`;
    unknown.set(
      section,
      faultAt(origin, { section, message: `this version does not know this section. ${advice}` }),
    );
  }
  return [...unknown.values()];
}

function meantSection(name: string): string | null {
  const names = sections.map(one => one.name);
  return nearest(name, names) ?? names.find(known => known.split('.').includes(name)) ?? null;
}

function homelessMessage(name: string): string {
  const home = homesOf(name);
  return `is before the first [section]. ${home === '' ? 'Move it below one' : `It belongs to ${home}`}.`;
}

function unknownKeyMessage(section: Section, name: string): string {
  const home = homesOf(name);
  if (home !== '') return `this key does not belong here. It belongs to ${home}.`;
  const names = section.keys.map(key => key.name);
  const meant = nearest(name, names);
  return `this version does not know this key. ${meant === null ? `Known here: ${names.join(', ')}.` : `Did you mean ${meant}?`}`;
}

/** The sections that have such a key, for a person. */
function homesOf(name: string): string {
  return namesOf(allKeys.filter(key => key.name === name).map(key => ({ name: key.section })));
}

function namesOf(named: readonly { readonly name: string }[]): string {
  return named.map(one => `[${one.name}]`).join(', ');
}

/**
 * The known word that the fewest keystrokes (a letter more, less, other, or two in the wrong
 * order) turn `word` into; null where even that is more than a third of its letters.
 */
export function nearest(word: string, known: Iterable<string>): string | null {
  let best: string | null = null;
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= least) continue;
    const strokes = keystrokes(word.toLowerCase(), candidate.toLowerCase());
    if (strokes < least) {
      best = candidate;
      least = strokes;
    }
  }
  return best;
}

/** The distance of Damerau and Levenshtein, each place changed at most once. */
function keystrokes(from: string, to: string): number {
  let before: number[] = [];
  let above = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      const changed = (above[column - 1] ?? 0) + (same ? 0 : 1);
      const least = Math.min(changed, (above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1);
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current.push(swapped ? Math.min(least, (before[column - 2] ?? least) + 1) : least);
    }
    before = above;
    above = current;
  }
  return above[to.length] ?? 0;
}
