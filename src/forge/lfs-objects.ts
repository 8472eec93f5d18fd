/** The LFS objects that one repository alone has, by the forge's rows. */

import type { ForgeDatabase, Row } from './database.ts';
import { numberAt, textAt } from './pages.ts';

/** An object of git-lfs. */
export interface LfsObject {
  /** The SHA-256 of its contents, 64 hexadecimal digits. */
  readonly oid: string;
  readonly bytes: number;
}

/** A repository with more shows its largest: those that are worth a look. */
export const mostLfsObjects = 20_000;

/** Where rows say which repository has which object. */
export interface LfsRows {
  readonly table: string;
  /** The column with the number of the repository. */
  readonly repository: string;
}

/** The largest objects for which only this repository has a row. */
export async function lfsObjectsOf(
  db: ForgeDatabase,
  { table, repository }: LfsRows,
  repositoryId: number,
): Promise<readonly LfsObject[]> {
  const [rows, whose, oid, size] = [table, repository, 'oid', 'size'].map(name => db.quoted(name));
  const found = await db.rows(
    `SELECT a.${oid}, a.${size} FROM ${rows} a WHERE a.${whose} = ? AND NOT EXISTS (SELECT 1 FROM ${rows} b WHERE b.${oid} = a.${oid} AND b.${whose} <> a.${whose}) ORDER BY a.${size} DESC LIMIT ${mostLfsObjects}`,
    [repositoryId],
  );
  return found.map(objectIn);
}

/** Reads a row of an object's name and size. */
export function objectIn(row: Row): LfsObject {
  return { oid: textAt(row, 0), bytes: numberAt(row, 1) };
}

/**
 * The number of a repository of Gitea, Forgejo or Gogs; null: it has none. `name`: `owner/name` in lower
 * case.
 */
export async function repositoryIdOf(db: ForgeDatabase, name: string): Promise<number | null> {
  const [owner = '', own = ''] = name.split('/');
  const [repository, user, id, ownerId, lower, userName] = [
    'repository',
    'user',
    'id',
    'owner_id',
    'lower_name',
    'name',
  ].map(each => db.quoted(each));
  const rows = await db.rows(
    `SELECT r.${id}, u.${userName} FROM ${repository} r JOIN ${user} u ON u.${id} = r.${ownerId} WHERE r.${lower} = ?`,
    [own],
  );
  const found = rows.find(row => textAt(row, 1).toLowerCase() === owner);
  return found === undefined ? null : numberAt(found, 0);
}
