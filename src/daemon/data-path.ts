/**
 * DATA_PATH: the directory with the daemon's store and some small files that only its user may read: the name
 * of this host, the keys that encrypt secrets, and the names of the keys in force.
 */

import { randomBytes, randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Config, guardedNames, type LoadedConfig } from '../config/index.ts';
import { syncDirectory, withDraft } from '../draft.ts';
import { messageOf, SoftquotaError, systemCode } from '../errors.ts';
import { keysMissing } from '../health/index.ts';
import { type SecretKeys, secretKeysOf } from '../identity/index.ts';
import { type Backup, type Restored, restore } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import { openStore } from '../store/index.ts';

/** Only the daemon's own user can use new files; sockets get their modes after they are made. */
const privateUmask = 0o077;

/** Makes the directory if it is missing, and all new files private from now on. Throws `configuration`. */
export function prepareDataPath(dataPath: string): void {
  process.umask(privateUmask);
  try {
    mkdirSync(dataPath, { recursive: true, mode: 0o700 });
  } catch (cause) {
    const why = messageOf(cause);
    const message = `[server] DATA_PATH = ${dataPath}: cannot be created: ${why}`;
    throw new SoftquotaError('configuration', message, { cause });
  }
}

export function storeFile(dataPath: string): string {
  return join(dataPath, 'softquota.db');
}

interface Kept<T> {
  readonly file: string;
  /** Returns the value in the file's text; null if the text holds none of this kind. */
  read(text: string): T | null;
  /** Error for a file without such a value, said after its name: `holds no host's name; remove it ...` */
  readonly unread: string;
}

/** Reads a value, or makes it. Two daemons that start at once get the same one. Throws as `keptIn` does. */
function keptOnce<T>(kept: Kept<T>, make: () => string): T {
  const known = keptIn(kept);
  if (known !== null) return known;
  const { file } = kept;
  try {
    withDraft(file, `${make()}\n`, 0o600, draft => linkSync(draft, file));
    syncDirectory(dirname(file));
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw unusable(file, error);
  }
  const found = keptIn(kept);
  if (found !== null) return found;
  throw new SoftquotaError('configuration', `${file} was removed as soon as it was created`);
}

/** Reads a value; null if there is no file. Throws `configuration` if the file cannot be read or is wrong. */
function keptIn<T>({ file, read, unread }: Kept<T>): T | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw unusable(file, error);
  }
  const found = read(text);
  if (found === null) throw new SoftquotaError('configuration', `${file} ${unread}`);
  return found;
}

function unusable(file: string, cause: unknown): SoftquotaError {
  const message = `${file} cannot be read or created: ${messageOf(cause)}`;
  return new SoftquotaError('configuration', message, { cause });
}

const form = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * The random host id, for use without `[server] HOST_ID`. Throws `configuration` if it can be neither read
 * nor made.
 */
export function hostIdIn(dataPath: string): string {
  return nameIn(join(dataPath, 'host.id'), ', or set [server] HOST_ID');
}

/** The secret that proves that this host had its name before. Throws as `hostIdIn` does. */
export function hostTokenIn(dataPath: string): string {
  return nameIn(join(dataPath, 'host.token'), '');
}

function nameIn(file: string, otherwise: string): string {
  const read = (text: string) => (form.test(text.trim()) ? text.trim() : null);
  const unread = `does not contain a host name (letters, digits, ".", "_", "-"); remove it to create a new one${otherwise}`;
  return keptOnce({ file, read, unread }, randomUUID);
}

const madeBytes = 48;
const shortest = 32;

/**
 * The keys of SECRET_KEY, then those in `secret.key`: one on each line, the newest first. The file is made if
 * SECRET_KEY is not set; once that is set, the keys in the file still decrypt. Throws `configuration`.
 */
export function secretKeysIn({ server, security }: Config): SecretKeys {
  const given = security.secretKeys;
  const kept = {
    file: join(server.dataPath, 'secret.key'),
    read: keysIn,
    unread: `does not contain keys: expected at least ${shortest} characters on each line. Restore the file, or remove it to create a new key: then all stored secrets have to be entered again`,
  };
  const make = () => randomBytes(madeBytes).toString('base64url');
  return secretKeysOf(given.length === 0 ? keptOnce(kept, make) : [...given, ...(keptIn(kept) ?? [])]);
}

function keysIn(text: string): readonly string[] | null {
  const keys = text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '');
  return keys.length > 0 && keys.every(key => key.length >= shortest) ? keys : null;
}

/**
 * Stores the names of the keys in force, so that a cut app.ini can be told from one that never had more keys.
 * A key that disappears is missing, also after restarts, until it is back or an administrator accepts that.
 * The constructor throws `configuration` if the names cannot be read.
 */
export class KeptKeys {
  readonly #file: string;
  readonly #log: Log;
  /** Names of the keys that are not in app.ini any more, such as `[quota.default] TOTAL`. */
  missing: readonly string[] = [];
  #inForce: readonly string[] = [];

  /** `written`: undefined for a temporary configuration, whose keys are not stored. */
  constructor(dataPath: string, written: LoadedConfig | undefined, log: Log) {
    this.#file = join(dataPath, 'app.ini.keys');
    this.#log = log;
    if (written === undefined) return;
    const read = (text: string) => text.split('\n').filter(name => name !== '');
    this.missing = keptIn({ file: this.#file, read, unread: '' }) ?? [];
    this.take(written);
  }

  /** Stores the keys of the configuration that is in force from now on. */
  take(written: LoadedConfig): void {
    this.#inForce = guardedNames(written);
    this.missing = this.missing.filter(name => !this.#inForce.includes(name));
    if (this.missing.length > 0) this.#log.warn({ keys: this.missing }, keysMissing(this.missing));
    this.#keep();
  }

  /** Accepts that the missing keys have their defaults. */
  accept(): void {
    this.missing = [];
    this.#keep();
  }

  #keep(): void {
    const text = [...this.#inForce, ...this.missing].map(name => `${name}\n`).join('');
    try {
      withDraft(this.#file, text, 0o600, draft => renameSync(draft, this.#file));
    } catch (error) {
      this.#log.warn({ file: this.#file, err: error }, 'the names of the keys in force cannot be kept');
    }
  }
}

/**
 * Writes the backup to the store in DATA_PATH, which is made if it is missing. Rejects with `store_refused`,
 * also while a daemon has the store open, and with `conflict` as `restore` does.
 */
export async function restoreInto(
  dataPath: string,
  backup: Backup,
  options: { readonly replace: boolean },
): Promise<Restored> {
  prepareDataPath(dataPath);
  becomeOwnerOf(dataPath);
  const store = await openStore({ file: storeFile(dataPath) });
  try {
    return await restore(store, backup, options);
  } finally {
    await store.close();
  }
}

/** Drops root's rights for those of the directory's owner: the daemon could not open a store of root's. */
function becomeOwnerOf(dataPath: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(dataPath);
  if (uid === 0) return;
  process.setgroups?.([]);
  process.setgid?.(gid);
  process.setuid?.(uid);
}
