/**
 * Finds a forge's database through its app.ini.
 *
 * The file is read again for each connection, so a changed password needs no reload. Environment variables in
 * the form of the forges' container images take precedence over the file. A value between backticks is taken
 * literally, such as a password with `#` or `;`; elsewhere these begin a comment. Names ignore case.
 */

import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { readBounded } from '../bounded/index.ts';
import { messageOf } from '../errors.ts';
import { printable } from '../text.ts';
import { type DatabaseAddress, defaultPorts, ForgeFault, tlsModeOf } from './database.ts';
import type { ForgeKind } from './messages.ts';

type Environment = Readonly<Record<string, string | undefined>>;

type IniKind = Exclude<ForgeKind, 'gitlab'>;

const prefixes = ['GITEA', 'FORGEJO'] as const;

export function databaseOfAppIni(kind: IniKind, file: string, env: Environment): DatabaseAddress {
  const value = valuesOf(kind, file, env);
  const type = (kind === 'gogs' ? value('database', 'TYPE') : null) ?? value('database', 'DB_TYPE');
  switch (type ?? (kind === 'gogs' ? 'postgres' : 'sqlite3')) {
    case 'sqlite':
    case 'sqlite3':
      return { engine: 'sqlite', path: sqlitePath(kind, file, value, env) };
    case 'postgres':
      return serverOf(file, 'postgres', value);
    case 'mysql':
      return serverOf(file, 'mysql', value);
    default:
      throw faultIn(
        file,
        `[database] ${kind === 'gogs' ? 'TYPE' : 'DB_TYPE'} = ${printable(type ?? '')} is none of sqlite3, postgres, mysql`,
      );
  }
}

/** Returns true if the forge shows pages only after a sign-in, or if its file cannot be read. */
export function hidesAllPages(kind: IniKind, file: string | null, env: Environment): boolean {
  if (file === null) return false;
  try {
    const value = valuesOf(kind, file, env);
    const said = ['service', 'auth'].map(section => value(section, 'REQUIRE_SIGNIN_VIEW') ?? '');
    return said.some(text => /^(?:1|t|true|yes|on)$/i.test(text));
  } catch {
    return true;
  }
}

export function gogsAttachments(file: string | null, env: Environment): string {
  if (file === null) {
    throw new ForgeFault(
      'configuration',
      '[forge] names no app.ini of Gogs, which says where its attachments are',
      'set [forge] CONFIG, besides DATABASE',
    );
  }
  const value = valuesOf('gogs', file, env);
  return outside(file, resolve(gogsHome(file, env), value('attachment', 'PATH') ?? 'data/attachments'));
}

const stores = {
  lfs: { section: 'lfs', hash: 2 },
  attachments: { section: 'attachment', hash: 1 },
  packages: { section: 'packages', hash: 2 },
  actions_artifacts: { section: 'actions', hash: 0 },
} as const;

/** A directory of Gitea and Forgejo, in which the beginning of a file's name gives its subdirectory. */
export type GiteaStore = keyof typeof stores;

/**
 * Returns a function for the paths of files in these directories. It returns null if app.ini cannot tell the
 * directory, or if the name is not valid.
 */
export function giteaFiles(
  kind: IniKind,
  file: string | null,
  env: Environment,
): (store: GiteaStore, name: string) => string | null {
  const directories = new Map<GiteaStore, string | null>();
  const directoryOf = (store: GiteaStore, config: string): string | null => {
    try {
      const value = valuesOf(kind, config, env);
      const { work, data } = directoriesOf(config, value);
      const named = [value(stores[store].section, 'PATH'), value(`storage.${store}`, 'PATH')];
      const content = store === 'lfs' ? value('server', 'LFS_CONTENT_PATH') : null;
      return resolve(work, named.find(path => path !== null) ?? content ?? `${data}/${store}`);
    } catch (error) {
      // The path is only told to people; nothing else depends on it.
      if (error instanceof ForgeFault) return null;
      throw error;
    }
  };
  return (store, name) => {
    if (file === null || !/^[\w-]+(?:[./]\w+)*$/.test(name)) return null;
    if (!directories.has(store)) directories.set(store, directoryOf(store, file));
    const directory = directories.get(store) ?? null;
    if (directory === null) return null;
    const { hash } = stores[store];
    const levels = hash === 0 ? [] : [name.slice(0, hash), name.slice(hash, 2 * hash)];
    return resolve(directory, ...levels, store === 'lfs' ? name.slice(2 * hash) : name);
  };
}

function directoriesOf(file: string, value: IniValues): { readonly work: string; readonly data: string } {
  const work = value('', 'WORK_PATH') ?? /^(.*)\/custom\/conf\/[^/]+$/.exec(file)?.[1] ?? dirname(file);
  return { work, data: resolve(work, value('server', 'APP_DATA_PATH') ?? 'data') };
}

function valuesOf(kind: IniKind, file: string, env: Environment): IniValues {
  const written = readIniText(textOf(file));
  return (section, key) => {
    const text =
      kind === 'gogs'
        ? expanded(file, section, key, written(section, key), env)
        : (fromEnvironment(env, section, key) ?? written(section, key));
    return text === null ? null : plain(file, section, key, text);
  };
}

function serverOf(file: string, engine: 'postgres' | 'mysql', value: IniValues): DatabaseAddress {
  const { host, port } = hostAndPort(value('database', 'HOST') ?? '127.0.0.1', defaultPorts[engine]);
  const database = value('database', 'NAME');
  const user = value('database', 'USER');
  if (database === null || user === null) throw faultIn(file, '[database] NAME or USER is missing');
  const tls = tlsModeOf(value('database', 'SSL_MODE') ?? 'disable');
  if (tls === null) throw faultIn(file, '[database] SSL_MODE is not known');
  const password = value('database', 'PASSWORD') ?? value('database', 'PASSWD');
  return { engine, host, port, user, password, database, tls, schema: value('database', 'SCHEMA') };
}

/** Splits `host`, `host:port` or `[::1]:port`; a path of a socket is a host, too. */
function hostAndPort(text: string, usual: number): { readonly host: string; readonly port: number } {
  if (text.startsWith('/')) return { host: text, port: usual };
  const match = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(text);
  if (match === null) return { host: text, port: usual };
  return { host: match[1] ?? match[2] ?? text, port: Number(match[3] ?? usual) };
}

const names = { gitea: ['gitea.db'], forgejo: ['forgejo.db', 'gitea.db'] } as const;

/**
 * Finds the database as the forge does: PATH is relative to the working directory; the default is in `data`.
 */
function sqlitePath(kind: IniKind, file: string, value: IniValues, env: Environment): string {
  const path = value('database', 'PATH');
  if (kind === 'gogs') return outside(file, resolve(gogsHome(file, env), path ?? 'data/gogs.db'));
  const { work, data } = directoriesOf(file, value);
  if (path !== null) return resolve(work, path);
  // Forgejo's own name comes first; installations that were Gitea before have the other one.
  const [first = '', second = first] = names[kind].map(name => `${data}/${name}`);
  return existsSync(first) || !existsSync(second) ? first : second;
}

/** Returns the working directory of Gogs. Its container image has the file in `/data/gogs/conf`. */
function gogsHome(file: string, env: Environment): string {
  const named = env.GOGS_WORK_DIR ?? '';
  return named === '' ? (/^(.*?)(?:\/custom)?\/conf\/[^/]+$/.exec(file)?.[1] ?? dirname(file)) : named;
}

/** Converts a path inside a container: its `/data` is the volume in which the file is. */
function outside(file: string, path: string): string {
  const volume = /^(.*)\/gogs\/conf\/[^/]+$/.exec(file)?.[1];
  if (volume === undefined || !path.startsWith('/data/') || existsSync(path)) return path;
  return `${volume}${path.slice('/data'.length)}`;
}

function textOf(file: string): string {
  return textOfConfig(
    file,
    what => faultIn(file, what),
    `give the daemon's user read permission for ${printable(file)}, or set [forge] DATABASE instead of CONFIG`,
  );
}

/**
 * Reads a variable such as `GITEA__database__PASSWD`. With `__FILE` at its end it names a file with the
 * value. A dot in a section is `_0X2E_`.
 */
function fromEnvironment(env: Environment, section: string, key: string): string | undefined {
  if (section === '') return undefined;
  for (const prefix of prefixes) {
    const name = `${prefix}__${section.replaceAll('.', '_0X2E_')}__${key}`.toUpperCase();
    const found = Object.entries(env).find(([one]) => one.toUpperCase() === name)?.[1];
    if (found !== undefined) return found;
    const file = Object.entries(env).find(([one]) => one.toUpperCase() === `${name}__FILE`)?.[1];
    if (file !== undefined) return textOf(file).replace(/\r?\n$/, '');
  }
  return undefined;
}

/** Expands `$NAME` and `${NAME}`, by which Gogs refers to environment variables. */
function expanded(
  file: string,
  section: string,
  key: string,
  text: string | null,
  env: Environment,
): string | null {
  if (text === null) return null;
  return text.replace(/\$(?:\{(\w+)\}|(\w+))/g, (_, braced?: string, bare?: string) => {
    const name = braced ?? bare ?? '';
    const found = env[name];
    if (found !== undefined) return found;
    throw faultIn(file, `[${section}] ${key} has the variable ${name}, which the daemon's environment lacks`);
  });
}

function plain(file: string, section: string, key: string, value: string): string | null {
  if (/%\([^)]*\)s/.test(value)) {
    throw faultIn(file, `[${section}] ${key} refers to another value, which softquota does not follow`);
  }
  return value === '' ? null : value;
}

function faultIn(file: string, what: string): ForgeFault {
  return new ForgeFault(
    'configuration',
    `${printable(file)}: ${what}`,
    'correct [forge] CONFIG in app.ini, or set [forge] DATABASE',
  );
}

/**
 * Reads a configuration file. `faultIn` makes the fault if it is missing, not a file, or too large; `mend` is
 * the advice if it cannot be read.
 */
export function textOfConfig(file: string, faultIn: (what: string) => ForgeFault, mend: string): string {
  try {
    const read = readBounded(file, { follow: true });
    if (read.kind !== 'file') throw faultIn(read.kind === 'absent' ? 'is not there' : 'is not a file');
    if (!read.whole) throw faultIn('is over 1 MiB');
    return read.bytes.toString();
  } catch (error) {
    if (error instanceof ForgeFault) throw error;
    const message = `${printable(file)} cannot be read: ${messageOf(error)}`;
    throw new ForgeFault('rights', message, mend, { cause: error });
  }
}

/**
 * Returns the value of a key in a section; null if there is none. The section is empty at the beginning of
 * the file.
 */
type IniValues = (section: string, key: string) => string | null;

export function readIniText(text: string): IniValues {
  const values = new Map<string, string>();
  let section = '';
  for (const line of text.split(/\r?\n/).map(one => one.trim())) {
    if (line === '' || line.startsWith('#') || line.startsWith(';')) continue;
    const heading = /^\[([^\]]*)\]/.exec(line)?.[1];
    if (heading !== undefined) {
      section = heading.trim();
      continue;
    }
    const split = line.search(/[=:]/);
    if (split === -1) continue;
    values.set(idOf(section, line.slice(0, split).trim()), valueIn(line.slice(split + 1).trim()));
  }
  return (wanted, key) => values.get(idOf(wanted, key)) ?? null;
}

function valueIn(written: string): string {
  const quote = written.charAt(0);
  if (quote === '`' || quote === '"' || quote === "'") {
    const end = written.indexOf(quote, 1);
    if (end !== -1) return written.slice(1, end);
  }
  const comment = written.search(/[#;]/);
  return (comment === -1 ? written : written.slice(0, comment)).trim();
}

function idOf(section: string, key: string): string {
  return `${section}\0${key}`.toLowerCase();
}
