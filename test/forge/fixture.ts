/**
 * Data that a real Gitea 1.27.3 wrote, on three databases, and how many bytes each owner has there: counted
 * from what was uploaded and from walks of the repositories, never from a database. The repositories are those
 * beside the SQLite file; all else is the same in each.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';
import type { Test } from 'tap';
import { z } from 'zod';
import { type DatabaseServer, startMariadb, startPostgres } from './servers.ts';

const directory = new URL('./fixtures/gitea-1.27/', import.meta.url);

const names = z.array(z.string());

export const expected = z
  .object({
    /** Bytes by owner and leaf, without zeros. */
    owners: z.record(z.string(), z.record(z.string(), z.number())),
    types: z.record(z.string(), z.string()),
    repositories: z.object({ public: names, private: names }),
  })
  .parse(JSON.parse(readFileSync(new URL('expected.json', directory), 'utf8')));

export const engines = ['sqlite', 'postgres', 'mysql'] as const;
export type Engine = (typeof engines)[number];

export function fixture(name: string): Buffer {
  return gunzipSync(readFileSync(new URL(name, directory)));
}

/** The archive of the data directory, as it is. */
export const dataArchive = new URL('data.tar.gz', directory);

/** Runs statements on a SQLite file, as the forge does. */
export type RunSql = (sql: string) => void;

/** Writes Gitea's SQLite file. */
export function writeSqlite(path: string): RunSql {
  writeFileSync(path, fixture('sqlite.db.gz'));
  return sqlIn(path);
}

export function sqlIn(path: string): RunSql {
  return sql => {
    const db = new DatabaseSync(path, { timeout: 5000 });
    db.exec(sql);
    db.close();
  };
}

/** The two lines of SQL that give a reader its rights, as docs/forges/gitea.md has them. */
export const grants = {
  postgres: [
    "CREATE ROLE softquota LOGIN PASSWORD 'secret'",
    'GRANT SELECT ON ALL TABLES IN SCHEMA public TO softquota',
  ],
  mysql: ["CREATE USER softquota@'%' IDENTIFIED BY 'secret'", "GRANT SELECT ON gitea.* TO softquota@'%'"],
} as const;

/** A server with these tables, Gitea's unless given, and a user who may only read them. */
export async function startServer(
  t: Test,
  engine: 'postgres' | 'mysql',
  tables: string | Buffer = fixture(`${engine}.sql.gz`),
): Promise<DatabaseServer> {
  const server = engine === 'postgres' ? await startPostgres(t) : await startMariadb(t);
  await server.sql('CREATE DATABASE gitea;');
  await server.sql(tables, 'gitea');
  await server.sql(`${grants[engine].join(';\n')};`, 'gitea');
  return server;
}
