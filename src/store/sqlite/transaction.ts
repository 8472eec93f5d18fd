import type { DatabaseSync } from 'node:sqlite';

/** Does something in one transaction: all of it is kept, or nothing. */
export function inTransaction(db: DatabaseSync, act: () => void): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    act();
    db.exec('COMMIT');
  } catch (error) {
    // On some faults SQLite has rolled back by itself.
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}
