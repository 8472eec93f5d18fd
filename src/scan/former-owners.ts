/**
 * The owners that a unit's directory belonged to before: a table of the scan cache, by what tells the
 * directory from all others.
 *
 * Somebody who renames themselves in a forge is a new owner on the disk, and has the directories of the old
 * one. A directory keeps device, inode and time of birth through a rename; one that is made again has another
 * time of birth, whatever its inode is.
 */

import type { DatabaseSync } from 'node:sqlite';
import { ownerKey } from '../quota/index.ts';

/** The table, beside those that are there. */
export const formerOwnersTable = `
  CREATE TABLE IF NOT EXISTS owners (
    identity TEXT PRIMARY KEY, path BLOB NOT NULL, owner TEXT NOT NULL, key TEXT NOT NULL, since INTEGER NOT NULL,
    former TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS owners_by_key ON owners (key);
`;

/** An owner that a directory belonged to before. */
export interface FormerOwner {
  readonly name: string;
  /** The time when it was first seen with another owner, in milliseconds since 1970. */
  readonly until: number;
}

/** A unit as a walk has found it. */
export interface FoundUnit {
  /** Device, inode and time of birth of its directory. */
  readonly identity: string;
  readonly path: Uint8Array;
  readonly owner: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/**
 * The most names that somebody who is renamed again and again is known by: the first ones, which may have had
 * a quota, and the last.
 */
const mostFormer = 4;

/**
 * An owner is new for so long after the first of their units was met: what was pushed under the new name may
 * be walked before what came along.
 */
const newForMs = 600_000;

/**
 * Remembers whose a directory is, and gives those whose it was before that of a new owner, the first one
 * first. None where the owner had others before: then the directory was only handed over. Writes only what
 * changed.
 */
export type FormerOwners = (found: FoundUnit) => readonly FormerOwner[];

export function formerOwnersIn(database: DatabaseSync): FormerOwners {
  const rowOf = database.prepare('SELECT path, owner, key, former FROM owners WHERE identity = ?');
  const put = database.prepare('INSERT OR REPLACE INTO owners VALUES (?, ?, ?, ?, ?, ?)');
  const move = database.prepare('UPDATE owners SET path = ? WHERE identity = ?');
  // Directories that came from the same owner came along.
  const hadOthers = database.prepare(`
    SELECT 1 FROM owners
    WHERE key = ? AND since < ? AND NOT EXISTS (SELECT 1 FROM json_each(former) WHERE value ->> 'name' = ?)
    LIMIT 1
  `);
  return ({ identity, path, owner, now }) => {
    // The setting for upper case is not known here, so a change of case alone is never reported.
    const key = ownerKey(owner, true);
    const row = rowOf.get(identity);
    if (row === undefined) {
      put.run(identity, path, owner, key, now, '[]');
      return [];
    }
    const before = String(row.owner);
    // It is what was put there.
    const known = JSON.parse(String(row.former)) as readonly FormerOwner[];
    if (row.key === key) {
      const isThere = row.path instanceof Uint8Array && Buffer.compare(row.path, path) === 0;
      if (!isThere) move.run(path, identity);
      return known;
    }
    const isNew = hadOthers.get(key, now - newForMs, before) === undefined;
    const first = known.slice(0, mostFormer - 1);
    const all = isNew ? [...first, { name: before, until: now }] : [];
    const former = all.filter(({ name }) => ownerKey(name, true) !== key);
    put.run(identity, path, owner, key, now, JSON.stringify(former));
    return former;
  };
}
