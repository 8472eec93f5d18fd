/** The signatures of units: a table of the scan cache. */

import type { DatabaseSync } from 'node:sqlite';
import type { Signature } from './signature.ts';

/** The table, beside those that are there. */
export const signaturesTable = `
  CREATE TABLE IF NOT EXISTS signatures (
    path BLOB PRIMARY KEY, digest TEXT NOT NULL, tree TEXT NOT NULL, found TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
`;

export interface Signatures {
  /** Null where there is none that can be read. */
  read(path: Uint8Array): Signature | null;
  /** Writes only what changed. */
  write(path: Uint8Array, signature: Signature): void;
}

export function signaturesIn(database: DatabaseSync): Signatures {
  const rowOf = database.prepare('SELECT digest, tree, found FROM signatures WHERE path = ?');
  const digestOf = database.prepare('SELECT digest FROM signatures WHERE path = ?');
  const put = database.prepare('INSERT OR REPLACE INTO signatures VALUES (?, ?, ?, ?)');
  return {
    read: path => {
      const row = rowOf.get(path);
      return row === undefined ? null : signatureOf(String(row.digest), String(row.tree), String(row.found));
    },
    write: (path, { digest, parents, names, bytes, files, directories, objectBytes, formerOwners }) => {
      if (digestOf.get(path)?.digest === digest) return;
      // Names that are not UTF-8 have lone surrogates, which JSON escapes and SQLite would not keep.
      const tree = JSON.stringify([parents, names]);
      const found = [bytes, files, directories, objectBytes, formerOwners];
      put.run(path, digest, tree, JSON.stringify(found));
    },
  };
}

/** Returns null for a damaged row. A row that can be read but is wrong has another digest. */
function signatureOf(digest: string, tree: string, found: string): Signature | null {
  try {
    const [parents, names]: unknown[] = JSON.parse(tree);
    const [bytes, files, directories, objectBytes, formerOwners]: unknown[] = JSON.parse(found);
    if (!isListOf(parents, isWhole) || !isListOf(names, isText)) return null;
    if (!isWhole(bytes) || !isWhole(files) || !isWhole(directories)) return null;
    if (!isWhole(objectBytes) || !isWhole(formerOwners)) return null;
    return { digest, parents, names, bytes, files, directories, objectBytes, formerOwners };
  } catch {
    return null;
  }
}

function isListOf<Item>(value: unknown, isItem: (item: unknown) => item is Item): value is Item[] {
  return Array.isArray(value) && value.every(isItem);
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
