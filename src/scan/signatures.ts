/** The signatures of units: a table of the scan cache. */

import type { DatabaseSync } from 'node:sqlite';
import type { Signature } from './signature.ts';

/** Hundreds of them may be in memory at a time. */
const smallBytes = 16_384;

/** The table, beside those that are there. */
export const signaturesTable = `
  CREATE TABLE IF NOT EXISTS signatures (
    path BLOB PRIMARY KEY, digest TEXT NOT NULL, tree TEXT NOT NULL, found TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
`;

interface Signatures {
  /** Null where there is none that can be read, or none that is small if that is asked for. */
  read(path: Uint8Array, size?: 'small'): Signature | null;
  /** Writes only what changed. */
  write(path: Uint8Array, signature: Signature): void;
}

export function signaturesIn(database: DatabaseSync): Signatures {
  const rowOf = database.prepare('SELECT digest, tree, found FROM signatures WHERE path = ?');
  const smallRowOf = database.prepare(
    `SELECT digest, tree, found FROM signatures WHERE path = ? AND octet_length(tree) <= ${smallBytes}`,
  );
  for (const statement of [rowOf, smallRowOf]) statement.setReturnArrays(true);
  const digestOf = database.prepare('SELECT digest FROM signatures WHERE path = ?');
  const put = database.prepare('INSERT OR REPLACE INTO signatures VALUES (?, ?, ?, ?)');
  return {
    read: (path, size) => {
      // SQLite gives what was asked for; Node's types know no rows that are arrays.
      const row = (size === 'small' ? smallRowOf : rowOf).get(path) as unknown[] | undefined;
      if (row === undefined) return null;
      const [digest, tree, found] = row;
      return signatureOf(String(digest), String(tree), String(found));
    },
    write: (path, { digest, parents, names, bytes, files, directories, objectBytes }) => {
      if (digestOf.get(path)?.digest === digest) return;
      // Names that are not UTF-8 have lone surrogates, which JSON escapes and SQLite would not keep.
      const tree = JSON.stringify([parents, names]);
      const found = [bytes, files, directories, objectBytes];
      put.run(path, digest, tree, JSON.stringify(found));
    },
  };
}

/** Returns null for a damaged row. A row that can be read but is wrong has another digest. */
function signatureOf(digest: string, tree: string, found: string): Signature | null {
  try {
    const [parents, names]: unknown[] = JSON.parse(tree);
    const [bytes, files, directories, objectBytes]: unknown[] = JSON.parse(found);
    if (!isListOf(parents, isWhole) || !isListOf(names, isText)) return null;
    if (!isWhole(bytes) || !isWhole(files) || !isWhole(directories) || !isWhole(objectBytes)) return null;
    return { digest, parents, names, bytes, files, directories, objectBytes };
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
