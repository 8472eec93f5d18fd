/** Addresses of databases: `sqlite:PATH`, `postgres://…`, `mysql://…`. */

import type { Parsed } from '../parsed.ts';

export interface DatabaseServerAddress {
  readonly engine: 'postgres' | 'mysql';
  /** A name or an address, or with a slash at its beginning the place of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string | null;
  readonly database: string;
  /** `require` encrypts, and `verify-full` also checks the server's certificate. */
  readonly tls: TlsMode;
  /** PostgreSQL only; null for the user's search path. */
  readonly schema: string | null;
}

export type DatabaseAddress = { readonly engine: 'sqlite'; readonly path: string } | DatabaseServerAddress;

type TlsMode = 'disable' | 'require' | 'verify-full';

export const defaultPorts = { postgres: 5432, mysql: 3306 } as const;

const tlsModes: readonly TlsMode[] = ['disable', 'require', 'verify-full'];

/** Reads what an administrator wrote. A user or password with special characters is percent-encoded. */
export function parseDatabaseAddress(text: string): Parsed<DatabaseAddress> {
  const sqlite = /^sqlite:(.+)$/s.exec(text);
  if (sqlite?.[1] !== undefined) return sqliteAt(sqlite[1]);
  if (!/^(?:postgres|postgresql|mysql):\/\//i.test(text)) return wrong('not an address of a database');
  if (!URL.canParse(text)) return wrong('not a whole address');
  return serverAt(new URL(text));
}

function sqliteAt(path: string): Parsed<DatabaseAddress> {
  if (!path.startsWith('/') || path.includes('\0')) return wrong('not an absolute path after sqlite:');
  return { ok: true, value: { engine: 'sqlite', path } };
}

function serverAt(url: URL): Parsed<DatabaseAddress> {
  const engine = url.protocol === 'mysql:' ? 'mysql' : 'postgres';
  const parts = [url.hostname, url.username, url.password, url.pathname.slice(1)].map(decoded);
  const [host, user, password, database] = parts;
  if (host === undefined || user === undefined || password === undefined || database === undefined) {
    return wrong('not percent-encoded UTF-8');
  }
  if (user === '') return wrong('an address without a user');
  if (database === '' || database.includes('/')) return wrong('an address without the name of a database');
  const known = engine === 'postgres' ? ['sslmode', 'schema'] : ['sslmode'];
  const unknown = [...url.searchParams.keys()].find(name => !known.includes(name));
  if (unknown !== undefined) return wrong(`an address with "${unknown}", which is not known here`);
  const tls = tlsModeOf(url.searchParams.get('sslmode') ?? 'disable');
  if (tls === null) return wrong(`an address whose sslmode is none of ${tlsModes.join(', ')}`);
  return {
    ok: true,
    value: {
      engine,
      host: host === '' ? 'localhost' : host.replace(/^\[(.*)\]$/, '$1'),
      port: url.port === '' ? defaultPorts[engine] : Number(url.port),
      user,
      password: password === '' ? null : password,
      database,
      tls,
      schema: url.searchParams.get('schema'),
    },
  };
}

/** Reads the modes of libpq, of MySQL and of forges; null for others. */
export function tlsModeOf(text: string): TlsMode | null {
  switch (text.toLowerCase()) {
    case '':
    case 'disable':
    case 'false':
      return 'disable';
    case 'require':
    case 'prefer':
    case 'skip-verify':
      return 'require';
    case 'verify-full':
    case 'verify-ca':
    case 'true':
      return 'verify-full';
    default:
      return null;
  }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function wrong(problem: string): Parsed<DatabaseAddress> {
  return { ok: false, problem };
}

/** Names the database for people, without user and password. */
export function shownAddress(address: DatabaseAddress): string {
  if (address.engine === 'sqlite') return address.path;
  const { engine, host, port, database } = address;
  return host.startsWith('/')
    ? `${engine} ${database} at ${host}`
    : `${engine} ${database} at ${host}:${port}`;
}
