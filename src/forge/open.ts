/** Connects to the configured database of any engine, and checks its tables. */

import { databaseOfAppIni, giteaFiles, gogsAttachments, hidesAllPages } from './app-ini.ts';
import {
  type DatabaseAddress,
  type ForgeDatabase,
  ForgeFault,
  forgeFaultOf,
  grantFor,
  parseDatabaseAddress,
} from './database.ts';
import type { ForgeSchema, NeededColumns } from './forge-schema.ts';
import { giteaSchema } from './gitea.ts';
import { databaseOfGitlab } from './gitlab/config.ts';
import { praefectTables, withReplicas } from './gitlab/praefect.ts';
import { gitlabSchema } from './gitlab/schema.ts';
import { gogsSchema } from './gogs.ts';
import type { ForgeKind, ForgeSettings } from './messages.ts';

export function schemaOf(
  { kind, configFile, ownerLevel }: ForgeSettings,
  env: NodeJS.ProcessEnv,
): ForgeSchema {
  if (kind === 'gitlab') return gitlabSchema(ownerLevel);
  const areHidden = () => hidesAllPages(kind, configFile, env);
  return kind === 'gogs'
    ? gogsSchema(() => gogsAttachments(configFile, env), areHidden)
    : giteaSchema(giteaFiles(kind, configFile, env), areHidden);
}

/** Throws a `ForgeFault` if no database is configured or reached, or if a table or column is missing. */
export async function openForgeDatabase(
  settings: ForgeSettings,
  { needed }: ForgeSchema,
  env: NodeJS.ProcessEnv,
): Promise<ForgeDatabase> {
  const address = chosenAddress(settings, env);
  const db = await openedAt(address);
  try {
    await checkTables(db, needed, settings.kind, grantFor(address));
    return settings.praefect === null ? db : await withPraefect(db, settings.praefect);
  } catch (error) {
    await db.close();
    throw error;
  }
}

async function withPraefect(
  db: ForgeDatabase,
  { address: text, storage }: NonNullable<ForgeSettings['praefect']>,
): Promise<ForgeDatabase> {
  const address = addressIn(text, 'PRAEFECT');
  const praefect = await openedAt(address);
  try {
    await checkTables(praefect, praefectTables, 'Praefect', grantFor(address));
    return withReplicas(db, praefect, storage);
  } catch (error) {
    await praefect.close();
    throw error;
  }
}

/** Connects; a driver is loaded only if it is needed. */
async function openedAt(address: DatabaseAddress): Promise<ForgeDatabase> {
  switch (address.engine) {
    case 'sqlite':
      return (await import('./sqlite.ts')).openSqlite(address.path);
    case 'postgres':
      return (await import('./postgres.ts')).openPostgres(address);
    case 'mysql':
      return (await import('./mysql.ts')).openMysql(address);
  }
}

function chosenAddress(
  { kind, database, configFile }: ForgeSettings,
  env: NodeJS.ProcessEnv,
): DatabaseAddress {
  if (database !== null) return addressIn(database, 'DATABASE');
  if (configFile !== null) return databaseOfConfig(kind, configFile, env);
  throw new ForgeFault('configuration', '[forge] names no database', 'set [forge] CONFIG or DATABASE');
}

function addressIn(text: string, key: string): DatabaseAddress {
  const parsed = parseDatabaseAddress(text);
  if (parsed.ok) return parsed.value;
  throw new ForgeFault('configuration', `[forge] ${key} is ${parsed.problem}`, `correct [forge] ${key}`);
}

function databaseOfConfig(kind: ForgeKind, file: string, env: NodeJS.ProcessEnv): DatabaseAddress {
  return kind === 'gitlab' ? databaseOfGitlab(file, env) : databaseOfAppIni(kind, file, env);
}

/**
 * Returns the SQLite file that a forge's configuration names; null if it names a server. Throws a
 * `ForgeFault`.
 */
export function sqliteFileOf(kind: ForgeKind, file: string, env: NodeJS.ProcessEnv): string | null {
  const address = databaseOfConfig(kind, file, env);
  return address.engine === 'sqlite' ? address.path : null;
}

/** Lists the names of all tables, including those of older versions. */
export function tableNames(needed: NeededColumns): readonly string[] {
  return Object.keys(needed).flatMap(namesOf);
}

function namesOf(table: string): readonly string[] {
  return table.split(' or ');
}

async function checkTables(
  db: ForgeDatabase,
  needed: NeededColumns,
  forge: string,
  grant: string | null,
): Promise<void> {
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
    `if the forge is being upgraded, wait; else give the right to read these${grant === null ? '' : ` (${grant})`}, or see docs/forges for the versions that softquota reads`,
  );
}

interface ForgeProbe {
  readonly database: string;
  /** Version of the forge's schema; null if it has none. */
  readonly schemaVersion: number | null;
}

/** Throws a `ForgeFault` if the database cannot be read, or lacks a table or a column. */
export async function probeForge(settings: ForgeSettings, env: NodeJS.ProcessEnv): Promise<ForgeProbe> {
  let db: ForgeDatabase | null = null;
  try {
    const schema = schemaOf(settings, env);
    db = await openForgeDatabase(settings, schema, env);
    return { database: db.product, schemaVersion: await forgeSchemaVersion(db, schema.versionTable) };
  } catch (error) {
    throw forgeFaultOf(error, 'see the log of the database, then try again');
  } finally {
    await db?.close().catch(() => {});
  }
}

/** Returns null if there is no version, or if it cannot be read. */
export async function forgeSchemaVersion(db: ForgeDatabase, table: string): Promise<number | null> {
  const columns = (await db.columns([table])).get(table);
  if (columns === undefined || !columns.has('version')) return null;
  const [row] = await db.rows(`SELECT MAX(${db.quoted('version')}) FROM ${db.quoted(table)}`, []);
  const version = Number(row?.[0]);
  return Number.isSafeInteger(version) ? version : null;
}
