/**
 * Finds the settings: the configuration file, and the variables `SOFTQUOTA__SECTION__KEY` of the environment,
 * with `_0X2E_` for a dot in the section.
 *
 * With `__FILE` appended, a variable names a file that contains the value: containers get secrets this way.
 * Values are taken literally: there are no quotes and no comments.
 */

import { lstatSync } from 'node:fs';
import { resolve } from 'node:path';
import { readBounded } from '../bounded/index.ts';
import { systemCode } from '../errors.ts';
import { beforeFollow, saysHangs } from '../layout/index.ts';
import type { Parsed } from '../parsed.ts';
import { allKeys, findKey, nearest, removedKey } from './definition.ts';
import {
  type ConfigEntry,
  type ConfigFault,
  type ConfigOrigin,
  faultAt,
  keyId,
  type ReadEntries,
} from './key.ts';

const prefix = 'SOFTQUOTA__';
const mostValueBytes = 64 * 1024;

function hasSettings(env: Readonly<Record<string, string | undefined>>): boolean {
  return Object.entries(env).some(([name, value]) => name.startsWith(prefix) && value !== undefined);
}

/** Reads the variables, also those of removed keys. `base`: the folder of relative `__FILE` paths. */
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

/** `fromFile`: the value is in a file. */
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

export function variableOf(section: string, name: string): string {
  return `${prefix}${section.replaceAll('.', '_0X2E_').toUpperCase()}__${name}`;
}

/** Notes on variables that look like settings and are none: with single underscores, or in lower case. */
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
  const file = readTextFile(resolve(base, path), mostValueBytes);
  return file.ok ? { ok: true, value: file.text.replace(/\r?\n$/, '') } : file;
}

function unknownMessage(variable: string, fromFile: boolean): string {
  const known = allKeys.map(key => variableOf(key.section, key.name) + (fromFile ? '__FILE' : ''));
  const meant = nearest(variable, known);
  return meant === null
    ? 'sets nothing known. Write SOFTQUOTA__SECTION__KEY, a dot in the section as _0X2E_.'
    : `sets nothing known. Did you mean ${meant}?`;
}

export interface Where {
  readonly file?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly uid: number;
  /** The file of last resort, `/etc/softquota/app.ini`. */
  readonly systemFile?: string;
}

type FoundConfig =
  /** `shown`: the path as it was given; `path`: absolute; `uid`: the owner of the file. */
  | {
      readonly is: 'file';
      readonly path: string;
      readonly shown: string;
      readonly text: string;
      readonly uid: number;
    }
  | { readonly is: 'fault' | 'absent'; readonly fault: ConfigFault }
  /** There are only variables. */
  | { readonly is: 'nothing' };

const mostBytes = 1024 * 1024;

/**
 * The file of `--config`, else of `SOFTQUOTA_CONFIG`, else ./app.ini, else /etc/softquota/app.ini. A fault if
 * there is neither a file nor a variable.
 *
 * A ./app.ini that cannot be read does not hide the other; `notes` says so.
 *
 * Root ignores a ./app.ini that is not root's own, since another user may have left it in the folder;
 * `notes` says so.
 */
export function findFile(where: Where): { readonly found: FoundConfig; readonly notes: readonly string[] } {
  const { file, env, cwd, systemFile = '/etc/softquota/app.ini' } = where;
  const fromVariable = env.SOFTQUOTA_CONFIG;
  const named = file ?? (fromVariable === '' ? undefined : fromVariable);
  if (named !== undefined) {
    const variable = file === undefined ? 'SOFTQUOTA_CONFIG' : null;
    return { found: readAt(resolve(cwd, named), named, variable), notes: [] };
  }
  const local = resolve(cwd, 'app.ini');
  const own = readAt(local, 'app.ini');
  const isForeign = own.is !== 'absent' && where.uid === 0 && !isOwnOfRoot(own, local);
  if (own.is === 'file' && !isForeign) return { found: own, notes: [] };
  const usual = readAt(systemFile, systemFile);
  const system = usual.is === 'absent' ? null : usual;
  const fault = own.is === 'fault' && !isForeign ? own : null;
  const notes = [
    ...(isForeign
      ? [`${local} is ignored, because root does not own it. To use it nevertheless, name it with --config.`]
      : []),
    ...(fault !== null && system !== null
      ? [`${local} ${fault.fault.message} ${systemFile} is used instead.`]
      : []),
  ];
  const found = system ?? fault;
  if (found !== null) return { found, notes };
  if (hasSettings(env)) return { found: { is: 'nothing' }, notes };
  const message =
    `no configuration found, neither ./app.ini (in ${cwd}) nor ${systemFile}. ` +
    'Create one, for example from app.ini.example, or name one with --config FILE or SOFTQUOTA_CONFIG.';
  return { found: { is: 'fault', fault: { message } }, notes };
}

/** `variable`: the variable of the environment that names the file. */
function readAt(path: string, shown: string, variable: string | null = null): FoundConfig {
  const file = readTextFile(path, mostBytes);
  if (file.ok) return { is: 'file', path, shown, text: file.text, uid: file.uid };
  const place = variable === null ? { file: shown } : { variable, file: shown };
  const fault = { ...place, message: `cannot be used: ${file.problem}.` };
  return { is: file.absent ? 'absent' : 'fault', fault };
}

/** Returns true if root owns the file, and also its name, which may be a symbolic link. */
function isOwnOfRoot(found: FoundConfig, path: string): boolean {
  const named = lstatSync(path, { throwIfNoEntry: false })?.uid;
  return found.is === 'file' && found.uid === 0 && named === 0;
}

type TextFile =
  | { readonly ok: true; readonly text: string; readonly uid: number }
  | { readonly ok: false; readonly absent: boolean; readonly problem: string };

const problems = {
  link: 'its links lead in a circle',
  directory: 'it is a directory, not a file',
  special: 'it is not a regular file',
} as const;

/** The whole text of a regular file of at most `mostBytes`, without a byte order mark. */
function readTextFile(path: string, mostBytes: number): TextFile {
  const fault = (problem: string, absent = false): TextFile => ({ ok: false, absent, problem });
  if (path.includes('\0')) return fault('its name has a NUL character');
  try {
    beforeFollow(path);
    const file = readBounded(path, { follow: true, mostBytes });
    if (file.kind === 'absent') return fault('there is no such file', true);
    if (file.kind !== 'file') return fault(problems[file.kind]);
    if (!file.whole) return fault(`it is larger than ${mostBytes / 1024} KiB`);
    const text = new TextDecoder('utf-8', { fatal: true }).decode(file.bytes);
    return { ok: true, text, uid: file.stats.uid };
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return fault('it is not UTF-8 text');
    if (code === null) throw error;
    const isDenied = code === 'EACCES' || code === 'EPERM';
    if (saysHangs(error)) return fault('its disk does not answer');
    return fault(isDenied ? 'this user has no permission to read it' : `it cannot be read (${code})`);
  }
}
