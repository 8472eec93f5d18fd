/** Reads the file of a set. What no set can hold is damage, never a guess. */

import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { isLeaf, type Leaf, ownerKey } from '../../quota/index.ts';
import type { LargeUnit } from '../record-store.ts';
import type { UnitQuery, UnitSetRecord, UnitSum } from '../unit-sources.ts';
import { applicationId } from './schema.ts';

/** Rows handed over at a time. */
const chunkRows = 1000;

type Row = Readonly<Record<string, SQLOutputValue>>;

/** Throws where the file is no set. */
export function openSet(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const mark = db.prepare('PRAGMA application_id').get()?.application_id;
    if (mark !== applicationId) throw new TypeError('it is no set of units');
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

export function recordIn(db: DatabaseSync): UnitSetRecord {
  const row = db.prepare('SELECT source, reported_at, stale_after_ms FROM about').get() ?? {};
  return {
    source: text(row, 'source'),
    reportedAt: whole(row, 'reported_at'),
    staleAfterMs: whole(row, 'stale_after_ms'),
  };
}

/** Those of an owner together. */
export function* sumsIn(db: DatabaseSync): Generator<readonly UnitSum[]> {
  const rows = db.prepare(
    'SELECT owners.name AS owner, leaves.name AS leaf, units, bytes FROM sums ' +
      'JOIN owners ON owners.id = sums.owner JOIN leaves ON leaves.id = sums.leaf ORDER BY sums.owner',
  );
  let chunk: UnitSum[] = [];
  for (const row of rows.iterate()) {
    chunk.push({
      owner: text(row, 'owner'),
      leaf: leaf(row),
      units: whole(row, 'units'),
      bytes: whole(row, 'bytes'),
    });
    if (chunk.length < chunkRows) continue;
    yield chunk;
    chunk = [];
  }
  yield chunk;
}

/** Largest first. `[users] CASE` may be another one than when the set was made. */
export function* unitsIn(
  db: DatabaseSync,
  { ownerKey: wanted, leaves, most }: Omit<UnitQuery, 'source'>,
  foldCase: boolean,
): Generator<readonly LargeUnit[]> {
  const owners = db
    .prepare('SELECT id, name FROM owners WHERE folded = ?')
    .all(ownerKey(wanted, true))
    .filter(row => ownerKey(text(row, 'name'), foldCase) === wanted)
    .map(row => whole(row, 'id'));
  const list = (values: readonly (string | number)[]) => JSON.stringify(values);
  const rows = db.prepare(
    `SELECT leaves.name AS leaf, units.name AS name, bytes FROM units JOIN leaves ON leaves.id = units.leaf
       WHERE owner IN (SELECT value FROM json_each(?)) AND leaves.name IN (SELECT value FROM json_each(?))
       ORDER BY bytes DESC, units.name LIMIT ?`,
  );
  let chunk: LargeUnit[] = [];
  for (const row of rows.iterate(list(owners), list(leaves), most)) {
    chunk.push({ kind: 'reported', name: text(row, 'name'), leaf: leaf(row), bytes: whole(row, 'bytes') });
    if (chunk.length < chunkRows) continue;
    yield chunk;
    chunk = [];
  }
  yield chunk;
}

function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw new TypeError(`${column} is no text`);
  return value;
}

function whole(row: Row, column: string): number {
  const value = row[column];
  if (!Number.isSafeInteger(value)) throw new TypeError(`${column} is no whole number`);
  return Number(value);
}

function leaf(row: Row): Leaf {
  const value = row.leaf;
  if (typeof value !== 'string' || !isLeaf(value)) throw new TypeError('leaf is no leaf');
  return value;
}
