/** Address of the database that the settings name. */

import { type DatabaseAddress, parseDatabaseAddress } from './address.ts';
import { ForgeFault } from './fault.ts';
import { databaseOfConfig } from './forge-config.ts';
import type { ForgeSettings } from './settings.ts';

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
