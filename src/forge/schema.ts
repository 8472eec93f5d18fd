/** The tables and columns that a reader needs, looked for before anything is read. */

import type { ForgeDatabase } from './database.ts';
import { ForgeFault } from './fault.ts';

/** Columns by table; `new or old`: a table that has another name in older versions. */
export type NeededColumns = Readonly<Record<string, readonly string[]>>;

/** The names of all tables, those of older versions among them. */
export function tableNames(needed: NeededColumns): readonly string[] {
  return Object.keys(needed).flatMap(namesOf);
}

function namesOf(table: string): readonly string[] {
  return table.split(' or ');
}

/** Throws a `ForgeFault` that names everything that is missing. */
export async function checkSchema(db: ForgeDatabase, needed: NeededColumns, forge: string): Promise<void> {
  const present = await db.columns(tableNames(needed));
  const missing = Object.entries(needed).flatMap(([table, columns]) => {
    const there = namesOf(table)
      .map(name => present.get(name))
      .find(one => one !== undefined);
    if (there === undefined) return [`the table ${table}`];
    return columns.filter(column => !there.has(column)).map(column => `${table}.${column}`);
  });
  if (missing.length === 0) return;
  throw new ForgeFault(
    'schema',
    `the database is not as ${forge} has it: ${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing, or may not be read`,
    'if the forge is being upgraded, wait; else give the right to read these, or see docs/forges for the versions that softquota reads',
  );
}
