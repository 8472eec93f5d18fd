/**
 * DATA_PATH: what the daemon keeps on this host. Values that are made once are each in a small file there
 * that only the daemon's own user may read: the names of this host, and the keys that secrets are encrypted
 * with.
 */

import { randomBytes, randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Config, guardedNames, type LoadedConfig } from '../config/index.ts';
import { syncDirectory, withDraft } from '../draft.ts';
import { messageOf, SoftquotaError, systemCode } from '../errors.ts';
import { keysMissing } from '../health/index.ts';
import { type Backup, type Restored, restore } from '../ledger/index.ts';
import type { Log } from '../log.ts';
import { type SecretKeys, secretKeysOf } from '../oauth/index.ts';
import { openStore } from '../store/index.ts';

/** Nobody but the daemon's own user gets at what it makes; sockets are opened wider once they stand. */
const privateUmask = 0o077;

/** Makes the directory where there is none; throws `configuration`. From then on new files are private. */
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

/** Also when two daemons start at once, all have the value of one of them. Throws as `keptIn` does. */
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

/** Null: there is no such file. Throws `configuration` where it cannot be read, or holds something else. */
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
 * Gives the host id where `[server] HOST_ID` is not given. Throws `configuration` where it can be neither
 * read nor made.
 */
export function hostIdIn(dataPath: string): string {
  return nameIn(join(dataPath, 'host.id'), ', or set [server] HOST_ID');
}

/** Secret that proves this host to be the one that had its name before. Throws as `hostIdIn` does. */
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
 * The given keys come first. `secret.key` has one on each line, the newest first; it is made where none is
 * given, and what was encrypted with it stays readable after one is. Throws `configuration`.
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
 * The keys that were last in force, by name: they tell an app.ini that was cut from one that never had more.
 * One that went is missing, over restarts, until it is back or somebody accepts that. A start throws
 * `configuration` where the names cannot be read.
 */
export class KeptKeys {
  readonly #file: string;
  readonly #log: Log;
  /** Names of the keys that are not in app.ini any more, such as `[quota.default] TOTAL`. */
  missing: readonly string[] = [];
  #inForce: readonly string[] = [];

  /** `written`: undefined if the configuration is of no file that stays; then nothing is kept. */
  constructor(dataPath: string, written: LoadedConfig | undefined, log: Log) {
    this.#file = join(dataPath, 'app.ini.keys');
    this.#log = log;
    if (written === undefined) return;
    const read = (text: string) => text.split('\n').filter(name => name !== '');
    this.missing = keptIn({ file: this.#file, read, unread: '' }) ?? [];
    this.take(written);
  }

  /** Takes what is in force from now on. */
  take(written: LoadedConfig): void {
    this.#inForce = guardedNames(written);
    this.missing = this.missing.filter(name => !this.#inForce.includes(name));
    if (this.missing.length > 0) this.#log.warn({ keys: this.missing }, keysMissing(this.missing));
    this.#keep();
  }

  /** The missing keys are to have their defaults. */
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
 * Puts the backup into the embedded store below DATA_PATH, which is made where there is none. Rejects with
 * `store_refused`, also while a daemon has the store open, and with `conflict` as `restore` does.
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

/** A store that root makes would be one that the daemon cannot open. */
function becomeOwnerOf(dataPath: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(dataPath);
  if (uid === 0) return;
  process.setgroups?.([]);
  process.setgid?.(gid);
  process.setuid?.(uid);
}
