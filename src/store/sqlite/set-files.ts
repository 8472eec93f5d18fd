/**
 * Takes over the sets of sources that earlier versions kept in files of their own, and removes these files.
 *
 * A file that cannot be taken over stays; its set does not count until its source reports it again.
 */

import { hash } from 'node:crypto';
import { existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { messageOf } from '../../errors.ts';
import { inTransaction } from './rows.ts';

/** A file that could not be taken over. */
export interface RefusedFile {
  readonly file: string;
  readonly why: string;
}

/** `PRAGMA application_id` of a file with a complete set: "sqtu". */
const applicationId = 0x73717475;
const nameOfWhole = /^[0-9a-f]{40}\.db$/;

export function takeSetFiles(db: DatabaseSync, directory: string): readonly RefusedFile[] {
  if (!existsSync(directory)) return [];
  const refused: RefusedFile[] = [];
  for (const name of readdirSync(directory)) {
    const file = join(directory, name);
    try {
      // A file with another name was unfinished when the daemon was killed.
      if (nameOfWhole.test(name) && !namesOfKept(db).has(name)) takeOver(db, file);
      rmSync(file);
    } catch (error) {
      refused.push({ file, why: messageOf(error) });
    }
  }
  if (refused.length === 0) rmdirSync(directory);
  return refused;
}

/** The files of sources that have a set in the store. */
function namesOfKept(db: DatabaseSync): ReadonlySet<string> {
  const rows = db.prepare('SELECT source FROM unit_sets WHERE reported_at IS NOT NULL').all();
  return new Set(rows.map(({ source }) => `${hash('sha256', String(source)).slice(0, 40)}.db`));
}

function takeOver(db: DatabaseSync, file: string): void {
  db.prepare('ATTACH DATABASE ? AS old').run(file);
  try {
    if (db.prepare('PRAGMA old.application_id').get()?.application_id !== applicationId) {
      throw new TypeError('it is no set of units');
    }
    const finding = db.prepare('PRAGMA old.quick_check(1)').get()?.quick_check;
    if (finding !== 'ok') throw new TypeError(`it is damaged: ${finding}`);
    inTransaction(db, () => db.exec(copy));
  } finally {
    db.exec('DETACH DATABASE old');
  }
}

/** Copies a set. Owners come in the order of the store's own rows. */
const copy = `
INSERT INTO unit_sets (source, reported_at, stale_after_ms)
  SELECT source, reported_at, stale_after_ms FROM old.about;
INSERT INTO set_units (set_number, folded, owner, leaf, name, bytes)
  SELECT last_insert_rowid(), owners.folded, owners.name, leaves.name, units.name, units.bytes
    FROM (SELECT id, folded, name FROM old.owners ORDER BY folded) AS owners
    CROSS JOIN old.units AS units ON units.owner = owners.id
    JOIN old.leaves AS leaves ON leaves.id = units.leaf;
`;
