/**
 * Data that a real Gitea 1.27.3 wrote, on three databases, and how many bytes each owner has there: counted
 * from what was uploaded and from walks of the repositories, never from a database.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';
import type { Test } from 'tap';
import { z } from 'zod';
import { type DatabaseServer, startMariadb, startPostgres } from './servers.ts';

const directory = new URL('./fixtures/gitea-1.27/', import.meta.url);

const bytesByName = z.record(z.string(), z.number());

const expectedSchema = z.object({
  owners: z.record(z.string(), bytesByName),
  types: z.record(z.string(), z.string()),
  renamed_users: z.record(z.string(), z.string()),
  repositories: z.record(z.string(), z.object({ private: z.boolean() })),
  packages_sum_over_files: bytesByName,
});

export type Expected = z.infer<typeof expectedSchema>;

export const engines = ['sqlite', 'postgres', 'mysql'] as const;
export type Engine = (typeof engines)[number];

export function expectedOf(engine: Engine): Expected {
  return expectedSchema.parse(
    JSON.parse(readFileSync(new URL(`expected-${engine}.json`, directory), 'utf8')),
  );
}

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
