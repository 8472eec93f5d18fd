/** Loads a configuration: finds the file, reads it and the environment, checks all of it. */

import { dirname } from 'node:path';
import { assemble } from './assemble.ts';
import type { Config } from './config.ts';
import { findKey, removedKey } from './definition.ts';
import { hasSettings, misspelled, readEnvironment } from './environment.ts';
import { type ConfigEntry, type ConfigFault, faultAt, formatFaults, keyId } from './fault.ts';
import { findFile, type Where } from './find.ts';
import { knownOf } from './known.ts';
import { readLines } from './lines.ts';

export interface LoadedConfig {
  readonly ok: true;
  readonly config: Config;
  /** Sentences for the log: what is not wrong, but worth knowing. */
  readonly notes: readonly string[];
  /** The values that were written, one entry a key; secrets stand in it plainly. */
  readonly given: readonly ConfigEntry[];
}

export interface RefusedConfig {
  readonly ok: false;
  readonly faults: readonly ConfigFault[];
  readonly notes: readonly string[];
}

/**
 * The configuration, or everything that is wrong with it at once.
 *
 * Reads files synchronously: for the start and for reloads only. Writes nothing, and looks at
 * nothing that the configuration names except the files of `__FILE` variables.
 */
export function loadConfig(where: Where): LoadedConfig | RefusedConfig {
  const { found, notes: ofFile } = findFile(where);
  const notes = [...ofFile, ...misspelled(where.env)];
  if (found.is === 'fault') return { ok: false, faults: [found.fault], notes };
  if (found.is === 'nothing' && !hasSettings(where.env)) {
    return { ok: false, faults: [{ message: found.message }], notes };
  }
  const path = found.is === 'file' ? found.path : null;
  const base = path === null ? where.cwd : dirname(path);
  const lines =
    found.is === 'file' ? readLines(found.text, found.shown) : { headings: [], entries: [], faults: [] };
  const known = knownOf(lines);
  const environment = readEnvironment(where.env, base);
  const written = withoutOverridden([...known.entries, ...environment.entries]);
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
  const allNotes = [...notes, ...removed.notes, ...assembled.notes];
  if (faults.length > 0) return { ok: false, faults: inOrder(faults), notes: allNotes };
  return { ok: true, config: assembled.config, notes: allNotes, given };
}

/** Faults and notes about keys of the release before. */
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

/** Takes the later of two entries of one key. */
function withoutOverridden(entries: readonly ConfigEntry[]): readonly ConfigEntry[] {
  return [...new Map(entries.map(entry => [keyId(entry), entry])).values()];
}

/** By line; then the environment's, then those of defaults. */
function inOrder(faults: readonly ConfigFault[]): readonly ConfigFault[] {
  const rank = (fault: ConfigFault): number =>
    fault.line ?? (fault.variable === undefined ? Number.POSITIVE_INFINITY : Number.MAX_SAFE_INTEGER);
  return [...faults].sort((a, b) => (rank(a) === rank(b) ? 0 : rank(a) - rank(b)));
}
