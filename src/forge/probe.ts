/** Asks a forge's database once what it is, without reading what it has. */

import type { ForgeDatabase } from './database.ts';
import { forgeFaultOf } from './fault.ts';
import type { ForgeSettings } from './messages.ts';
import { openForgeDatabase, schemaOf } from './open.ts';

interface ForgeProbe {
  /** The name and version of the database. */
  readonly database: string;
  /** The forge's own number of its tables' state; null if it has none. */
  readonly schemaVersion: number | null;
}

/** Throws a `ForgeFault` if the database cannot be read, or lacks a table or a column. */
export async function probeForge(settings: ForgeSettings, env: NodeJS.ProcessEnv): Promise<ForgeProbe> {
  let db: ForgeDatabase | null = null;
  try {
    const schema = schemaOf(settings, env);
    db = await openForgeDatabase(settings, schema, env);
    return { database: db.product, schemaVersion: await schemaVersion(db, schema.versionTable) };
  } catch (error) {
    throw forgeFaultOf(error, 'see the log of the database, then try again');
  } finally {
    await db?.close().catch(() => {});
  }
}

async function schemaVersion(db: ForgeDatabase, table: string): Promise<number | null> {
  const columns = (await db.columns([table])).get(table);
  if (columns === undefined || !columns.has('version')) return null;
  const [row] = await db.rows(`SELECT MAX(${db.quoted('version')}) FROM ${db.quoted(table)}`, []);
  const version = Number(row?.[0]);
  return Number.isSafeInteger(version) ? version : null;
}
