/**
 * Opens the store's file, creates it if there is none, and refuses a file that is not a sound store.
 *
 * A refused file keeps every byte, and so does its -wal. SQLite would carry the log of a crashed daemon over
 * into a file when it closes it, so such a file is first checked through a connection that cannot write.
 *
 * A file appears whole or not at all: it is made under another name and then linked to its own.
 */

import { randomBytes } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  linkSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { syncDirectory } from '../../draft.ts';
import { messageOf, SoftquotaError } from '../../errors.ts';
import { damaged, lacksIndexRoom, refusalOf } from './faults.ts';
import { historian } from './history.ts';
import { recordsIn } from './records.ts';
import { inTransaction } from './rows.ts';
import { applicationId, oldestVersion, schema, schemaVersion, upgradeFrom } from './schema.ts';
import { unitSets } from './unit-sets.ts';

/**
 * Settings: commits are on the disk before they are answered, no other process gets in, and the log shrinks.
 */
const settings = `
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA synchronous = FULL;
PRAGMA temp_store = MEMORY;
PRAGMA journal_size_limit = ${8 * 1024 * 1024};
`;

/** Settings of a new thread, which answers them with `open` or `refused`. */
export interface ThreadSettings {
  readonly file: string;
  /** Tells whether a missing file is created or refused. */
  readonly missing: 'create' | 'refuse';
}

export function openDatabase({ file, missing }: ThreadSettings): DatabaseSync {
  let db: DatabaseSync | null = null;
  try {
    if (!exists(file)) {
      if (missing === 'refuse') throw new Error('it has gone since it was opened first');
      create(file);
    }
    checkFile(file);
    const checked = existsSync(`${file}-wal`) && checkedReadOnly(file);
    db = new DatabaseSync(file);
    db.exec(settings);
    if (!checked) checkContent(db, file);
    db.exec('PRAGMA journal_mode = WAL');
    upgrade(db);
    removeUnfinished(file);
    return db;
  } catch (error) {
    db?.close();
    throw refusalOf(file, error);
  }
}

function exists(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false }) !== undefined;
}

/** Creates the file. If another daemon does so at the same time, one of the two files stays. */
function create(file: string): void {
  if (existsSync(`${file}-wal`)) {
    throw damaged(file, `the file is missing, while ${file}-wal, which belongs to it, is there`);
  }
  const unfinished = `${file}.new-${randomBytes(6).toString('hex')}`;
  try {
    closeSync(openSync(unfinished, 'wx', 0o600));
    const db = new DatabaseSync(unfinished);
    try {
      db.exec(`PRAGMA journal_mode = MEMORY; BEGIN; ${schema} COMMIT; PRAGMA journal_mode = WAL`);
    } finally {
      db.close();
    }
    linkSync(unfinished, file);
    syncDirectory(dirname(file));
  } catch (error) {
    if (!exists(file)) throw error;
  } finally {
    rmSync(unfinished, { force: true });
  }
}

/** Removes unfinished files of a daemon that was killed. The lock on the file is held. */
function removeUnfinished(file: string): void {
  const directory = dirname(file);
  for (const name of readdirSync(directory)) {
    if (name.startsWith(`${basename(file)}.new-`)) rmSync(join(directory, name), { force: true });
  }
}

/** Checks the file without SQLite, which might start by repairing the file of another program. */
function checkFile(file: string): void {
  const { size } = statFile(file);
  accessSync(file, constants.R_OK | constants.W_OK);
  accessSync(dirname(file), constants.W_OK | constants.X_OK);
  const header = Buffer.alloc(100);
  if (size < header.length) throw damaged(file, `it has only ${size} bytes`);
  const handle = openSync(file, 'r');
  try {
    readSync(handle, header);
  } finally {
    closeSync(handle);
  }
  if (header.toString('latin1', 0, 16) !== 'SQLite format 3\0') {
    throw damaged(file, 'it is no SQLite database');
  }
  if (header.readUInt32BE(68) !== applicationId) {
    throw new SoftquotaError(
      'store_refused',
      `${file} is a database of another program. It was left as it is. Move it aside, or give softquota ` +
        'a DATA_PATH of its own.',
    );
  }
  // SQLite would read the missing part of a page as zeros. A log may hold the whole page.
  const pageSize = header.readUInt16BE(16);
  if (size % pageSize !== 0 && !existsSync(`${file}-wal`)) throw damaged(file, 'its last page is cut off');
}

function statFile(file: string): { readonly size: number } {
  const stat = statSync(file);
  if (stat.isFile()) return stat;
  throw new Error(stat.isDirectory() ? 'it is a directory' : 'it is no regular file');
}

/**
 * Checks the content, the log included, through a connection that can change neither.
 *
 * Returns false if that is not possible: it needs an index beside the file, for which a full disk has no
 * room, and a full disk must not keep a daemon from starting.
 */
function checkedReadOnly(file: string): boolean {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    checkContent(db, file);
    return true;
  } catch (error) {
    if (lacksIndexRoom(error)) return false;
    throw error;
  } finally {
    db.close();
    rmSync(`${file}-shm`, { force: true });
  }
}

function checkContent(db: DatabaseSync, file: string): void {
  const version = versionOf(db);
  if (version > schemaVersion) {
    throw new SoftquotaError(
      'store_refused',
      `${file} was written by a newer softquota: it has version ${version}, and this one knows up to ` +
        `${schemaVersion}. It was left as it is. Start the newer softquota again, or put back a backup made before.`,
    );
  }
  if (version < 1) throw damaged(file, `its version is ${version}, which there never was`);
  if (version < oldestVersion) {
    throw new SoftquotaError(
      'store_refused',
      `${file} was written by a softquota before 0.1, with version ${version}; this one reads ${oldestVersion} and later. ` +
        'It was left as it is. Start with another DATA_PATH.',
    );
  }
  const finding = String(db.prepare('PRAGMA quick_check(1)').get()?.quick_check);
  // Some findings begin with a line that names the database within SQLite.
  if (finding !== 'ok') throw damaged(file, finding.replace(/^\*\*\* .*\n/, ''));
  // An older version is read only after its upgrade.
  if (version < schemaVersion) return;
  try {
    handlersIn(db, file);
  } catch (error) {
    throw damaged(file, messageOf(error), error);
  }
}

/** Makes the handlers of a thread, by name; `apply` writes. Throws if a table or a column is missing. */
export function handlersIn(db: DatabaseSync, file: string) {
  const { apply, readers } = recordsIn(db, file);
  return { apply, handlers: { ...readers, ...historian(db), ...unitSets(db, file) } };
}

function upgrade(db: DatabaseSync): void {
  const statements = upgradeFrom(versionOf(db));
  if (statements === '') return;
  inTransaction(db, () => db.exec(statements));
}

function versionOf(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.user_version);
}
