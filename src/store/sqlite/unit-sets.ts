/** The sets that sources report, as rows. A set without a time of completion is still being made. */

import { statfsSync } from 'node:fs';
import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite';
import type { SoftquotaError } from '../../errors.ts';
import { ownerKey } from '../../quota/index.ts';
import { printable } from '../../text.ts';
import type { LargeUnit } from '../record-store.ts';
import { leafValue } from '../share.ts';
import type { NewUnitSet, UnitQuery, UnitSetRecord, UnitSum } from '../store.ts';
import { away } from './faults.ts';
import { chunksOf, inTransaction } from './rows.ts';
import { lineFault, type UnitLine, UnitLines } from './unit-lines.ts';

const unitColumns = 'folded, owner, leaf, name, bytes';
/**
 * Space on the disk that a set leaves for other writes: with a full log not even staged units could be
 * deleted.
 */
const leastRoomBytes = 64 * 1024 * 1024;
/** Units staged in one transaction, for which other writes wait. */
const unitsInPart = 10_000;

/** A set that is being made. */
interface Staging {
  readonly lines: UnitLines;
  readonly foldCase: boolean;
  /** First spellings of owners' names, by the keys that compare names. */
  readonly owners: Map<string, string>;
  /** Units that are not in the store yet. */
  waiting: UnitLine[];
  units: number;
}

/** Makes the handlers for sets; `set` is the number of one. Throws if a table or a column is missing. */
export function unitSets(db: DatabaseSync, file: string) {
  const whole = 'SELECT number FROM unit_sets WHERE source = ? AND reported_at IS NOT NULL';
  const brokenOff =
    'SELECT number FROM unit_sets WHERE reported_at IS NULL AND number NOT IN (SELECT value FROM json_each(?))';
  const list = db.prepare(
    'SELECT number, source, reported_at, stale_after_ms FROM unit_sets WHERE reported_at IS NOT NULL',
  );
  const sums = db.prepare(
    'SELECT owner, leaf, count(*) AS units, total(bytes) AS bytes FROM set_units ' +
      'WHERE set_number = ? GROUP BY folded, owner, leaf ORDER BY folded, owner, leaf',
  );
  const units = db.prepare(
    `SELECT leaf, name, bytes FROM set_units WHERE set_number = (${whole}) AND folded = ? AND (? OR owner = ?) ` +
      'AND leaf IN (SELECT value FROM json_each(?)) ORDER BY bytes DESC, name LIMIT ?',
  );
  const putSet = db.prepare('INSERT INTO unit_sets (source) VALUES (?) RETURNING number');
  const putUnit = db.prepare(
    'INSERT INTO staged_units (set_number, line, folded, owner, leaf, name, bytes) VALUES (?, ?, ?, ?, ?, ?, ?)',
  );
  // Inserting rows in the order of the table takes a tenth of the time.
  const sort = db.prepare(
    `INSERT OR IGNORE INTO set_units (set_number, ${unitColumns}) SELECT set_number, ${unitColumns} ` +
      `FROM staged_units WHERE set_number = ? ORDER BY ${unitColumns}`,
  );
  const repeated = db.prepare(
    'SELECT line, owner, leaf, name FROM (SELECT *, row_number() OVER ' +
      '(PARTITION BY folded, owner, leaf, name ORDER BY line) AS nth FROM staged_units WHERE set_number = ?) ' +
      'WHERE nth = 2 ORDER BY line LIMIT 1',
  );
  const unstage = db.prepare('DELETE FROM staged_units WHERE set_number = ?');
  const complete = db.prepare('UPDATE unit_sets SET reported_at = ?, stale_after_ms = ? WHERE number = ?');
  const dropWhole = dropper(db, whole);
  const dropBrokenOff = dropper(db, brokenOff);

  /** By the number of the set. */
  const stagings = new Map<number, Staging>();

  function stagingOf(set: number): Staging {
    const found = stagings.get(set);
    if (found === undefined) throw away(file, 'the thread that made this set has ended');
    return found;
  }

  /**
   * Deletes unfinished sets that nobody makes any more: their thread has ended, or they could not be deleted
   * earlier.
   */
  function sweep(): void {
    dropBrokenOff(JSON.stringify([...stagings.keys()]));
  }

  function begin({ source, foldCase, most }: NewUnitSet): number {
    let number = 0;
    inTransaction(db, () => {
      sweep();
      number = Number(putSet.get(source)?.number);
    });
    stagings.set(number, { lines: new UnitLines(most), foldCase, owners: new Map(), waiting: [], units: 0 });
    return number;
  }

  function take(set: number, units: Iterable<UnitLine>): void {
    const staging = stagingOf(set);
    for (const unit of units) {
      staging.units += 1;
      staging.waiting.push(unit);
      if (staging.waiting.length === unitsInPart) stage(set, staging);
    }
  }

  function stage(set: number, staging: Staging): void {
    const { bavail, bsize } = statfsSync(file);
    if (bavail * bsize < leastRoomBytes) throw away(file, 'the disk has less than 64 MB of room for a set');
    const part = staging.waiting;
    staging.waiting = [];
    inTransaction(db, () => {
      for (const one of part) put(set, staging, one);
    });
  }

  function put(set: number, { foldCase, owners }: Staging, { line, unit }: UnitLine): void {
    const { owner, subject, bytes } = unit;
    const key = ownerKey(owner, foldCase);
    const name = owners.get(key) ?? owner.normalize('NFC');
    owners.set(key, name);
    putUnit.run(set, line, ownerKey(owner, true), name, subject, unit.unit, bytes);
  }

  function end(set: number): void {
    const staging = stagingOf(set);
    take(set, staging.lines.end());
    stage(set, staging);
    inTransaction(db, () => {
      if (sort.run(set).changes !== staging.units) throw repetition(repeated.get(set) ?? {});
      unstage.run(set);
    });
  }

  function keep(set: number, { source, reportedAt, staleAfterMs }: UnitSetRecord): void {
    stagingOf(set);
    inTransaction(db, () => {
      dropWhole(source);
      complete.run(reportedAt, staleAfterMs, set);
    });
    stagings.delete(set);
  }

  function discard(set: number): void {
    stagings.delete(set);
    inTransaction(db, sweep);
  }

  return {
    listSets: () => chunksOf({ file, table: 'unit_sets' }, list.iterate(), setOf),
    sumSet: (set: number) => chunksOf({ file, table: 'set_units' }, sums.iterate(set), sumOf),
    unitsOfSource: (query: UnitQuery) =>
      chunksOf({ file, table: 'set_units' }, units.iterate(...valuesOf(query)), unitOf),
    beginSet: (set: NewUnitSet) => [[begin(set)]],
    takeUnits: (set: number, chunk: Uint8Array) => take(set, stagingOf(set).lines.take(chunk)),
    endSet: end,
    keepSet: keep,
    discardSet: discard,
    removeSource: (source: string) => inTransaction(db, () => dropWhole(source)),
  };
}

/** Makes a function that deletes the sets chosen by a query with one value. */
function dropper(db: DatabaseSync, chosen: string): (value: string) => void {
  const statements = [
    `DELETE FROM staged_units WHERE set_number IN (${chosen})`,
    `DELETE FROM set_units WHERE set_number IN (${chosen})`,
    `DELETE FROM unit_sets WHERE number IN (${chosen})`,
  ].map(sql => db.prepare(sql));
  return value => {
    for (const statement of statements) statement.run(value);
  };
}

function repetition({ line, owner, leaf, name }: TableRow): SoftquotaError {
  const what = `${printable(String(name))} of ${printable(String(owner))} (${leaf})`;
  return lineFault(Number(line), `${what} stands in an earlier line, where each unit is expected once`);
}

function valuesOf({ source, ownerKey: key, foldCase, leaves, most }: UnitQuery): readonly SQLInputValue[] {
  return [source, ownerKey(key, true), Number(foldCase), key, JSON.stringify(leaves), most];
}

type TableRow = Readonly<Record<string, SQLOutputValue>>;

const setOf = (row: TableRow): UnitSetRecord & { readonly number: number } => ({
  number: Number(row.number),
  source: String(row.source),
  reportedAt: Number(row.reported_at),
  staleAfterMs: Number(row.stale_after_ms),
});

const sumOf = (row: TableRow): UnitSum => ({
  owner: String(row.owner),
  leaf: leafValue(row.leaf),
  units: Number(row.units),
  bytes: Number(row.bytes),
});

const unitOf = (row: TableRow): LargeUnit => ({
  kind: 'reported',
  name: String(row.name),
  leaf: leafValue(row.leaf),
  bytes: Number(row.bytes),
});
