/** The LFS objects that one repository alone has, by the forge's rows. */

import { type ForgeDatabase, numberAt, type Row, textAt } from './database.ts';

export interface LfsObject {
  /** The SHA-256 of its contents, 64 hexadecimal digits. */
  readonly oid: string;
  readonly bytes: number;
}

/** A repository with more shows its largest: those that are worth a look. */
export const mostLfsObjects = 20_000;

interface LfsRows {
  readonly table: string;
  readonly repository: string;
  /** The column by which an index has the rows of a repository in order. */
  readonly key: 'id' | 'oid';
}

/** The most rows of a statement: none keeps a lock for long. */
const mostRows = 500;

/** The largest objects for which only this repository has a row. `name`: `owner/name` in lower case. */
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

/** The number of a repository of Gitea, Forgejo or Gogs; null: it has none. */
async function repositoryIdOf(db: ForgeDatabase, name: string): Promise<number | null> {
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
