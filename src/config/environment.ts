/**
 * Settings from the environment: `SOFTQUOTA__SECTION__KEY`, a dot of the section written `_0X2E_`.
 *
 * With `__FILE` appended the variable names a file that holds the value, as secrets are handed
 * to containers. The values stand for themselves: nothing is quoted, nothing is a comment.
 */

import { resolve } from 'node:path';
import type { Parsed } from '../parsed.ts';
import { allKeys, findKey, removedKey } from './definition.ts';
import {
  type ConfigEntry,
  type ConfigFault,
  type ConfigOrigin,
  faultAt,
  keyId,
  type ReadEntries,
} from './fault.ts';
import { readTextFile } from './find.ts';
import { nearest } from './known.ts';

const prefix = 'SOFTQUOTA__';
const mostBytes = 64 * 1024;

/** Tells whether any variable means to set something. */
export function hasSettings(env: Readonly<Record<string, string | undefined>>): boolean {
  return Object.entries(env).some(([name, value]) => name.startsWith(prefix) && value !== undefined);
}

/**
 * Reads keys of the release before as well. `base`: the folder that a relative path of a `__FILE` counts
 * from.
 */
export function readEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  base: string,
): ReadEntries {
  const entries: ConfigEntry[] = [];
  const faults: ConfigFault[] = [];
  const firstVariables = new Map<string, string>();
  const variables = Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [variable, value] of variables) {
    if (value === undefined || !variable.startsWith(prefix)) continue;
    const { section, name, fromFile } = nameOf(variable);
    if (findKey(section, name) === null && removedKey(section, name) === null) {
      faults.push({ variable, message: unknownMessage(variable, fromFile) });
      continue;
    }
    const id = keyId({ section, name });
    const first = firstVariables.get(id);
    if (first !== undefined) {
      faults.push({ variable, message: `sets the same key as ${first}. Keep one of the two.` });
      continue;
    }
    firstVariables.set(id, variable);
    const read = fromFile ? valueIn(value, base) : { ok: true as const, value };
    const origin: ConfigOrigin = { in: 'variable', variable, file: fromFile && value !== '' ? value : null };
    if (read.ok) entries.push({ section, name, text: read.value, origin });
    else faults.push(faultAt(origin, { message: `cannot be used: ${read.problem}.` }));
  }
  // Routes are asked in the order of their entries.
  entries.sort((a, b) => (a.section < b.section ? -1 : Number(a.section > b.section)));
  return { entries, faults };
}

/** `fromFile`: the value is what a file holds. */
function nameOf(variable: string) {
  const [, setting = '', file] = /^(.*?)(__FILE)?$/is.exec(variable.slice(prefix.length)) ?? [];
  const split = setting.lastIndexOf('__');
  return {
    section: setting
      .slice(0, Math.max(split, 0))
      .replaceAll(/_0X2E_/gi, '.')
      .toLowerCase(),
    name: setting.slice(split === -1 ? 0 : split + 2).toUpperCase(),
    fromFile: file !== undefined,
  };
}

/** The variable that sets a key. */
export function variableOf(section: string, name: string): string {
  return `${prefix}${section.replaceAll('.', '_0X2E_').toUpperCase()}__${name}`;
}

/** Notes on variables that other programs would take for a setting: one underscore, or in lower case. */
export function misspelled(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const alike = (variable: string): string =>
    variable.toUpperCase().replaceAll('_0X2E_', '_').replaceAll(/_+/g, '_');
  const known = new Map(
    allKeys
      .map(({ section, name }) => variableOf(section, name))
      .flatMap(right => [
        [alike(right), right],
        [alike(`${right}__FILE`), `${right}__FILE`],
      ]),
  );
  return Object.keys(env)
    .sort()
    .filter(variable => !variable.startsWith(prefix) && known.has(alike(variable)))
    .map(variable => `The variable ${variable} sets nothing. Write ${known.get(alike(variable))}.`);
}

/** The content of the file, without the newline that editors end it with. */
function valueIn(path: string, base: string): Parsed<string> {
  if (path === '') return { ok: false, problem: 'no file is named' };
  const file = readTextFile(resolve(base, path), mostBytes);
  return file.ok ? { ok: true, value: file.text.replace(/\r?\n$/, '') } : file;
}

function unknownMessage(variable: string, fromFile: boolean): string {
  const known = allKeys.map(key => variableOf(key.section, key.name) + (fromFile ? '__FILE' : ''));
  const meant = nearest(variable, known);
  return meant === null
    ? 'sets nothing known. Write SOFTQUOTA__SECTION__KEY, a dot in the section as _0X2E_.'
    : `sets nothing known. Did you mean ${meant}?`;
}
