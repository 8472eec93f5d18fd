/**
 * Makes the file of a set: units as they come, then their sums, and what the set is.
 *
 * SQLite writes no journal of it, since a file that was not finished is thrown away whole.
 */

import { rmSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { SoftquotaError } from '../../errors.ts';
import { type Leaf, leafIndex, leaves, ownerKey } from '../../quota/index.ts';
import { printable } from '../../text/index.ts';
import type { UnitSetRecord, UnitSum } from '../unit-sources.ts';
import { replaceFile, setFile, unfinishedFile } from './files.ts';
import { lineFault, type ReportedUnit, UnitLines } from './lines.ts';
import { sumsIn } from './read.ts';
import { applicationId, schema } from './schema.ts';

/** A set of a million units comes in any order, and is sorted in here. */
const cacheKib = 16 * 1024;

export class SetBuilder {
  readonly source: string;
  readonly #foldCase: boolean;
  readonly #directory: string;
  readonly #file: string;
  readonly #lines = new UnitLines();
  readonly #db: DatabaseSync;
  readonly #putOwner: StatementSync;
  readonly #putUnit: StatementSync;
  /** Numbers of owners, by what their names compare by. */
  readonly #owners = new Map<string, number>();

  constructor(directory: string, source: string, foldCase: boolean) {
    this.source = source;
    this.#foldCase = foldCase;
    this.#directory = directory;
    this.#file = unfinishedFile(directory, source);
    this.#db = new DatabaseSync(this.#file);
    this.#db.exec(
      `PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; ` +
        `PRAGMA cache_size = -${cacheKib}; ${schema} BEGIN`,
    );
    this.#putOwner = this.#db.prepare('INSERT INTO owners (id, folded, name) VALUES (?, ?, ?)');
    this.#putUnit = this.#db.prepare(
      'INSERT OR IGNORE INTO units (owner, leaf, name, bytes) VALUES (?, ?, ?, ?)',
    );
    const putLeaf = this.#db.prepare('INSERT INTO leaves (id, name) VALUES (?, ?)');
    for (const [id, leaf] of leaves.entries()) putLeaf.run(id, leaf);
  }

  take(chunk: Uint8Array): void {
    for (const { line, unit } of this.#lines.take(chunk)) this.#put(line, unit);
  }

  /** Gives the sums, those of an owner together; the set is whole once all are given. */
  *finish(record: UnitSetRecord): Generator<readonly UnitSum[]> {
    for (const { line, unit } of this.#lines.end()) this.#put(line, unit);
    this.#mustFit();
    this.#db.exec(
      'INSERT INTO sums SELECT owner, leaf, count(*), sum(bytes) FROM units GROUP BY owner, leaf ORDER BY owner, leaf',
    );
    this.#db
      .prepare('INSERT INTO about (one, source, reported_at, stale_after_ms) VALUES (1, ?, ?, ?)')
      .run(record.source, record.reportedAt, record.staleAfterMs);
    this.#db.exec(`COMMIT; PRAGMA application_id = ${applicationId}`);
    yield* sumsIn(this.#db);
    this.#db.close();
  }

  keep(): void {
    replaceFile(setFile(this.#directory, this.source), this.#file, this.#directory);
  }

  discard(): void {
    if (this.#db.isOpen) this.#db.close();
    rmSync(this.#file, { force: true });
  }

  #put(line: number, { owner, subject, unit, bytes }: ReportedUnit): void {
    if (this.#putUnit.run(this.#ownerId(owner), leafIndex(subject), unit, bytes).changes !== 0) return;
    throw lineFault(
      line,
      `${described(owner, subject, unit)} stands in an earlier line, where each unit is expected once`,
    );
  }

  #ownerId(owner: string): number {
    const key = ownerKey(owner, this.#foldCase);
    const known = this.#owners.get(key);
    if (known !== undefined) return known;
    const id = this.#owners.size + 1;
    this.#owners.set(key, id);
    this.#putOwner.run(id, ownerKey(owner, true), owner.normalize('NFC'));
    return id;
  }

  /** Sums of whole numbers are exact as long as they fit, so that the first one past 2^53 - 1 is noticed. */
  #mustFit(): void {
    const found = this.#db
      .prepare(
        `SELECT name FROM (SELECT owner FROM units GROUP BY owner HAVING total(bytes) > ${Number.MAX_SAFE_INTEGER} LIMIT 1)
           JOIN owners ON id = owner`,
      )
      .get()?.name;
    if (found === undefined) return;
    throw new SoftquotaError(
      'sum_too_large',
      `the units of ${printable(String(found))} pass 2^53 - 1 bytes together`,
    );
  }
}

function described(owner: string, leaf: Leaf, unit: string): string {
  return `${printable(unit)} of ${printable(owner)} (${leaf})`;
}
