/** The database that a forge's own configuration file names. */

import type { DatabaseAddress } from './address.ts';
import { databaseOfAppIni } from './app-ini.ts';
import { databaseOfGitlab } from './gitlab/config.ts';
import type { ForgeKind } from './settings.ts';

/** Throws a `ForgeFault` that names the file and the key. */
export function databaseOfConfig(kind: ForgeKind, file: string, env: NodeJS.ProcessEnv): DatabaseAddress {
  return kind === 'gitlab' ? databaseOfGitlab(file, env) : databaseOfAppIni(kind, file, env);
}

/** The SQLite file that a forge's configuration names; null if it names a server. Throws a `ForgeFault`. */
export function sqliteFileOf(kind: ForgeKind, file: string, env: NodeJS.ProcessEnv): string | null {
  const address = databaseOfConfig(kind, file, env);
  return address.engine === 'sqlite' ? address.path : null;
}
