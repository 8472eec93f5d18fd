/**
 * Counts the LFS objects of Gogs, whose rows have no id: pages go by repository, and by object inside one.
 */

import type { ForgeDatabase, Row } from '../database.ts';
import type { RowOwners } from '../forge-schema.ts';
import { LfsSums } from '../lfs-sums.ts';
import { numberAt, textAt } from '../pages.ts';
import type { PartSums } from '../sums.ts';
import { gogsTables } from './tables.ts';

export async function countGogsLfs(db: ForgeDatabase, whose: RowOwners): Promise<PartSums> {
  const lfs = new LfsSums(whose);
  await eachObject(db, row => lfs.add(textAt(row, 1), numberAt(row, 2), numberAt(row, 0)));
  return lfs.sums();
}

/** Statements that every database answers from the primary key, however many objects one repository has. */
async function eachObject(db: ForgeDatabase, take: (row: Row) => void): Promise<void> {
  const [repository, oid] = ['repo_id', 'oid'].map(name => db.quoted(name));
  const columns = gogsTables.lfs_object.map(name => db.quoted(name)).join(', ');
  const select = `SELECT ${columns} FROM ${db.quoted('lfs_object')} WHERE`;
  const order = `ORDER BY ${repository}, ${oid} LIMIT`;
  let after = { repository: -1, oid: '' };
  const page = async (where: string, values: readonly (number | string)[]): Promise<boolean> => {
    const most = db.pageRows;
    const rows = await db.rows(`${select} ${where} ${order} ${most}`, values);
    for (const row of rows) take(row);
    const last = rows.at(-1);
    if (last !== undefined) after = { repository: numberAt(last, 0), oid: textAt(last, 1) };
    return rows.length === most;
  };
  while (await page(`${repository} > ?`, [after.repository])) {
    while (await page(`${repository} = ? AND ${oid} > ?`, [after.repository, after.oid]));
  }
}
