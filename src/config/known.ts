/** Separates what means something in a file from the rest, which are faults with the name that was meant. */

import { allKeys, findSection, removedKey, type Section, sections } from './definition.ts';
import { type ConfigFault, faultAt, type ReadEntries } from './fault.ts';
import type { ConfigLines, Heading } from './lines.ts';
import { nearest } from './nearest.ts';

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
