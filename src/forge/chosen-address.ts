/** Address of the database that the settings name. */

import { type DatabaseAddress, parseDatabaseAddress } from './address.ts';
import { databaseOfAppIni } from './app-ini.ts';
import { ForgeFault } from './fault.ts';
import { databaseOfGitlab } from './gitlab/config.ts';
import type { ForgeKind, ForgeSettings } from './settings.ts';

/** Throws a `ForgeFault` if the settings name no database. */
export function chosenAddressOf(
  { kind, database, configFile }: ForgeSettings,
  env: NodeJS.ProcessEnv,
): DatabaseAddress {
  if (database !== null) {
    const parsed = parseDatabaseAddress(database);
    if (parsed.ok) return parsed.address;
    throw new ForgeFault(
      'configuration',
      `[forge] DATABASE is ${parsed.problem}`,
      'correct [forge] DATABASE',
    );
  }
  if (configFile !== null) return databaseOfConfig(kind, configFile, env);
  throw new ForgeFault('configuration', '[forge] names no database', 'set [forge] CONFIG or DATABASE');
}

/** Throws a `ForgeFault` that names the file and the key. */
function databaseOfConfig(kind: ForgeKind, file: string, env: NodeJS.ProcessEnv): DatabaseAddress {
  return kind === 'gitlab' ? databaseOfGitlab(file, env) : databaseOfAppIni(kind, file, env);
}

/** The SQLite file that a forge's configuration names; null if it names a server. Throws a `ForgeFault`. */
export function sqliteFileOf(kind: ForgeKind, file: string, env: NodeJS.ProcessEnv): string | null {
  const address = databaseOfConfig(kind, file, env);
  return address.engine === 'sqlite' ? address.path : null;
}
