/** Asks a forge's database once what it is, without reading what it has. */

import { messageOf } from '../errors.ts';
import { chosenAddressOf } from './chosen-address.ts';
import type { ForgeDatabase } from './database.ts';
import { ForgeFault } from './fault.ts';
import { openForgeDatabase } from './open.ts';
import { checkSchema } from './schema.ts';
import { schemaOf } from './schemas.ts';
import type { ForgeSettings } from './settings.ts';

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
    db = await openForgeDatabase(chosenAddressOf(settings, env));
    const { needed, versionTable } = schemaOf(settings, env);
    await checkSchema(db, needed, settings.kind);
    return { database: db.product, schemaVersion: await schemaVersion(db, versionTable) };
  } catch (error) {
    if (error instanceof ForgeFault) throw error;
    const mend = 'see the log of the database, then try again';
    throw new ForgeFault('unreachable', messageOf(error), mend, { cause: error });
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
