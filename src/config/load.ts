/** Loads app.ini and the environment, and refuses at a reload a file that looks cut. */

import { dirname } from 'node:path';
import { assemble, type Config } from './assemble.ts';
import { allKeys, findKey, findSection, nearest, removedKey, type Section, sections } from './definition.ts';
import { findFile, misspelled, readEnvironment, type Where } from './find.ts';
import { type ConfigEntry, type ConfigFault, faultAt, formatFaults, keyId, type ReadEntries } from './key.ts';
import { type ConfigLines, type Heading, readLines } from './lines.ts';

export interface LoadedConfig {
  readonly ok: true;
  readonly config: Config;
  /** Sentences for the log about things that are not wrong, but worth knowing. */
  readonly notes: readonly string[];
  /** The values that were set, one entry for each key; secrets are not masked. */
  readonly given: readonly ConfigEntry[];
  /** False if the last line of the file has no newline: the file may have been cut. */
  readonly isEnded: boolean;
}

export interface RefusedConfig {
  readonly ok: false;
  readonly faults: readonly ConfigFault[];
  readonly notes: readonly string[];
}

/**
 * Loads the configuration, or returns everything that is wrong with it.
 *
 * Reads files synchronously, so it is for starts and reloads only. Writes nothing, and opens
 * nothing that the configuration names except the files of `__FILE` variables.
 */
export function loadConfig(where: Where): LoadedConfig | RefusedConfig {
  const { found, notes: foundNotes } = findFile(where);
  const notes = [...foundNotes, ...misspelled(where.env)];
  if (found.is === 'fault' || found.is === 'absent') return { ok: false, faults: [found.fault], notes };
  const path = found.is === 'file' ? found.path : null;
  const base = path === null ? where.cwd : dirname(path);
  const lines =
    found.is === 'file' ? readLines(found.text, found.shown) : { headings: [], entries: [], faults: [] };
  const known = knownOf(lines);
  const environment = readEnvironment(where.env, base);
  // The later of two entries of one key counts.
  const entries = [...known.entries, ...environment.entries];
  const written = [...new Map(entries.map(entry => [keyId(entry), entry])).values()];
  const given = written.filter(({ section, name }) => findKey(section, name) !== null);
  const assembled = assemble(given, path, base);
  const removed = removedKeysIn(written);
  const faults = [
    ...lines.faults,
    ...known.faults,
    ...environment.faults,
    ...removed.faults,
    ...assembled.faults,
  ];
  const isEnded = found.is !== 'file' || /(?:^|\n)$/.test(found.text);
  const cut = isEnded ? [] : [`The last line of ${path} has no end, as in a file that was cut: look at it.`];
  const allNotes = [...notes, ...cut, ...removed.notes, ...assembled.notes];
  if (faults.length > 0) return { ok: false, faults: inOrder(faults), notes: allNotes };
  return { ok: true, config: assembled.config, notes: allNotes, given, isEnded };
}

/** Sections in which a missing key allows more, or drops figures or settings. */
const guarded = /^(?:quota|storage|forge|disk|webhook|gate|lfs|hooks|scan)(?:\.|$)/;
const mostNamed = 3;

/** Names of what a cut file would lack: the keys of guarded sections, and the end of the last line. */
export function guardedNames({ given, isEnded }: LoadedConfig): readonly string[] {
  const keys = given.filter(({ section }) => guarded.test(section));
  const names = keys.map(({ section, name }) => `[${section}] ${name}`);
  return isEnded ? [...names, 'the end of the last line'] : names;
}

/** Loads the configuration for a reload. Refuses a file that lacks keys of the one in force, as if cut. */
export function loadAgain(where: Where, before: LoadedConfig): LoadedConfig | RefusedConfig {
  const loaded = loadConfig(where);
  if (!loaded.ok) return loaded;
  const message = lossIn(before, loaded);
  return message === null ? loaded : { ok: false, faults: [{ message }], notes: loaded.notes };
}

function lossIn(before: LoadedConfig, next: LoadedConfig): string | null {
  if (before.isEnded && !next.isEnded)
    return 'the last line has no end, which it had before. Was the file written whole?';
  const kept = new Set(guardedNames(next));
  const lost = guardedNames(before).filter(name => !kept.has(name));
  if (lost.length === 0) return null;
  const named = lost.slice(0, mostNamed);
  const more = lost.length > mostNamed ? ` and ${lost.length - mostNamed} more` : '';
  return `${named.join(', ')}${more} was there before and is not any more. Write each that is to have its default, or restart the daemon.`;
}

function removedKeysIn(written: readonly ConfigEntry[]): Pick<RefusedConfig, 'faults' | 'notes'> {
  const faults: ConfigFault[] = [];
  const notes: string[] = [];
  for (const entry of written) {
    const { section, name, origin } = entry;
    const key = removedKey(section, name);
    if (key === null) continue;
    const fault = faultAt(origin, { section, key: name, message: key.advice });
    if (key.isFault?.(entry, written)) faults.push(fault);
    else notes.push(formatFaults([fault]));
  }
  return { faults, notes };
}

/** Sorts faults by line; faults of the environment follow, then those of defaults. */
function inOrder(faults: readonly ConfigFault[]): readonly ConfigFault[] {
  const rank = (fault: ConfigFault): number =>
    fault.line ?? (fault.variable === undefined ? Number.POSITIVE_INFINITY : Number.MAX_SAFE_INTEGER);
  return [...faults].sort((a, b) => (rank(a) === rank(b) ? 0 : rank(a) - rank(b)));
}

/** Removed keys count as known. The values of unknown keys are not shown, because they may be secret. */
function knownOf(lines: ConfigLines): ReadEntries {
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

function homesOf(name: string): string {
  return namesOf(allKeys.filter(key => key.name === name).map(key => ({ name: key.section })));
}

function namesOf(named: readonly { readonly name: string }[]): string {
  return named.map(one => `[${one.name}]`).join(', ');
}
