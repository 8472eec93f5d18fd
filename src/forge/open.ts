/** Connects to a forge's database, whatever its engine is. */

import type { DatabaseAddress } from './address.ts';
import type { ForgeDatabase } from './database.ts';

/** The drivers are loaded only if they are needed. Rejects with a `ForgeFault`. */
export async function openForgeDatabase(address: DatabaseAddress): Promise<ForgeDatabase> {
  switch (address.engine) {
    case 'sqlite': {
      const { openSqlite } = await import('./sqlite.ts');
      return openSqlite(address.path);
    }
    case 'postgres': {
      const { openPostgres } = await import('./postgres.ts');
      return openPostgres(address);
    }
    case 'mysql': {
      const { openMysql } = await import('./mysql.ts');
      return openMysql(address);
    }
  }
}
