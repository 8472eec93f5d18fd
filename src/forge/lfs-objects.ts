/** LFS objects that only one repository has, according to the forge's rows. */

import { type ForgeDatabase, numberAt, type Row, textAt } from './database.ts';

export interface LfsObject {
  /** SHA-256 of the content: 64 hexadecimal digits. */
  readonly oid: string;
  readonly bytes: number;
}

/** Limit of the listed objects of a repository: the largest ones. */
export const mostLfsObjects = 20_000;

interface LfsRows {
  readonly table: string;
  readonly repository: string;
  /** Column by which an index orders the rows of a repository. */
  readonly key: 'id' | 'oid';
}

/** Limit of the rows of a statement, so that none holds a lock for long. */
const mostRows = 500;

/**
 * Returns the largest objects for which no other repository has a row. `name` is `owner/name` in lower case.
 */
export async function lfsObjectsOf(
  db: ForgeDatabase,
  names: LfsRows,
  name: string,
): Promise<readonly LfsObject[]> {
  const repositoryId = await repositoryIdOf(db, name);
  if (repositoryId === null) return [];
  const [table, repository, key, oid, size] = [names.table, names.repository, names.key, 'oid', 'size'].map(
    each => db.quoted(each),
  );
  const most = Math.min(mostRows, db.pageRows);
  let found: LfsObject[] = [];
  let after: number | string = names.key === 'id' ? -1 : '';
  for (;;) {
    const rows = await db.rows(
      `SELECT ${oid}, ${size}, ${key} FROM ${table} WHERE ${repository} = ? AND ${key} > ? ORDER BY ${key} LIMIT ${most}`,
      [repositoryId, after],
    );
    const page = rows.map(objectIn);
    const places = page.map(() => '?').join(', ');
    const others =
      page.length === 0
        ? []
        : await db.rows(
            `SELECT DISTINCT ${oid} FROM ${table} WHERE ${oid} IN (${places}) AND ${repository} <> ?`,
            [...page.map(each => each.oid), repositoryId],
          );
    const shared = new Set(others.map(row => textAt(row, 0)));
    found.push(...page.filter(each => !shared.has(each.oid)));
    const last = rows.at(-1);
    const isOver = last === undefined || rows.length < most;
    if (isOver || found.length > 2 * mostLfsObjects)
      found = found.sort((a, b) => b.bytes - a.bytes).slice(0, mostLfsObjects);
    if (isOver) return found;
    after = names.key === 'id' ? numberAt(last, 2) : textAt(last, 2);
  }
}

export function objectIn(row: Row): LfsObject {
  return { oid: textAt(row, 0), bytes: numberAt(row, 1) };
}

/** Finds the id of a repository of Gitea, Forgejo or Gogs; null if there is none. */
async function repositoryIdOf(db: ForgeDatabase, name: string): Promise<number | null> {
  const [owner = '', own = ''] = name.split('/');
  const rows = await db.rows(
    `SELECT r.id, u.name FROM repository r JOIN ${db.quoted('user')} u ON u.id = r.owner_id WHERE r.lower_name = ?`,
    [own],
  );
  const found = rows.find(row => textAt(row, 1).toLowerCase() === owner);
  return found === undefined ? null : numberAt(found, 0);
}
