/** A table in pages by ascending ids, so that no statement is long and no page is asked for twice. */

import type { ForgeDatabase, Row } from './database.ts';

/**
 * Gives each row, whose first column is its id, with the id as a number. `mostRows`: to ask for at once; as
 * many as the database gives, unless said.
 */
export async function eachRow(
  db: ForgeDatabase,
  table: string,
  columns: readonly string[],
  take: (id: number, row: Row) => void,
  mostRows = Number.POSITIVE_INFINITY,
): Promise<void> {
  const names = columns.map(name => db.quoted(name)).join(', ');
  const id = db.quoted('id');
  const sql = `SELECT ${names} FROM ${db.quoted(table)} WHERE ${id} > ? ORDER BY ${id} LIMIT`;
  let after = -1;
  for (;;) {
    const most = Math.min(mostRows, db.pageRows);
    const rows = await db.rows(`${sql} ${most}`, [after]);
    for (const row of rows) {
      const own = Number(row[0]);
      take(own, row);
      after = own;
    }
    if (rows.length < most) return;
  }
}

/** Reads a number that drivers give as a number, as text or not at all. */
export function numberAt(row: Row, index: number): number {
  const value = row[index];
  return value === null || value === undefined ? 0 : Number(value);
}

export function textAt(row: Row, index: number): string {
  const value = row[index];
  return typeof value === 'string' ? value : value === null || value === undefined ? '' : String(value);
}

/** Reads a flag, which SQLite and MySQL keep as a number. */
export function flagAt(row: Row, index: number): boolean {
  const value = row[index];
  return value === true || value === 1 || value === '1' || value === 't' || value === 1n;
}
