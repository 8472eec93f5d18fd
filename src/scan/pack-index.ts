/**
 * The objects in a pack, from its index (version 2, see gitformat-pack(5)): their names in order, after a table
 * of how many begin with each byte or a smaller one, and where in the pack each of them begins.
 */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { beforeLook, locationOf } from '../layout/index.ts';

export interface PackIndex {
  readonly objects: number;
  /** The names that begin with this byte, one after the other, and the place of the first one among all. */
  namesFrom(firstByte: number): { readonly names: Buffer; readonly first: number };
  /** Where in the pack each object begins, in the order of names; null where a pack has more than 2 GiB. */
  offsets(): readonly number[] | null;
  close(): void;
}

const signature = Buffer.from([0xff, 0x74, 0x4f, 0x63, 0, 0, 0, 2]);
const tableEntries = 256;
const entryBytes = 4;
const sumBytes = 4;
/** What is not smaller tells where in another table the offset is. */
const elsewhere = 2 ** 31;
const namesBegin = signature.length + tableEntries * entryBytes;

/** Opens an index with names of so many bytes; throws the system's error, null where it is no such index. */
export function openPackIndex(path: string, nameBytes: number): PackIndex | null {
  beforeLook(path);
  const file = openSync(locationOf(path, !path.isWellFormed()), 'r');
  try {
    const head = readAt(file, 0, namesBegin);
    const counts = head === null ? null : countsIn(head);
    const objects = counts?.at(-1) ?? 0;
    const isWhole = fstatSync(file).size >= namesBegin + objects * nameBytes;
    if (counts === null || !isWhole) {
      closeSync(file);
      return null;
    }
    return {
      objects,
      namesFrom: firstByte => {
        const first = counts[firstByte - 1] ?? 0;
        const count = (counts[firstByte] ?? 0) - first;
        const names = readAt(file, namesBegin + first * nameBytes, count * nameBytes);
        return { names: names ?? Buffer.alloc(0), first };
      },
      offsets: () => {
        const table = readAt(file, namesBegin + objects * (nameBytes + sumBytes), objects * entryBytes);
        if (table === null) return null;
        const offsets = Array.from({ length: objects }, (_, at) => table.readUInt32BE(at * entryBytes));
        return offsets.every(offset => offset < elsewhere) ? offsets : null;
      },
      close: () => closeSync(file),
    };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** Null where these are no numbers that grow. */
function countsIn(head: Buffer): number[] | null {
  if (!head.subarray(0, signature.length).equals(signature)) return null;
  const counts = Array.from({ length: tableEntries }, (_, index) =>
    head.readUInt32BE(signature.length + index * entryBytes),
  );
  return counts.every((count, index) => count >= (counts[index - 1] ?? 0)) ? counts : null;
}

/** Null where the file ends before. */
function readAt(file: number, position: number, length: number): Buffer | null {
  const bytes = Buffer.allocUnsafe(length);
  return length === 0 || readSync(file, bytes, 0, length, position) === length ? bytes : null;
}

/** Tells whether a name is among names of one length that are in order. */
export function hasName(names: Buffer, name: Uint8Array): boolean {
  let from = 0;
  let to = names.length / name.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    const order = Buffer.compare(name, names.subarray(middle * name.length, (middle + 1) * name.length));
    if (order === 0) return true;
    if (order < 0) to = middle;
    else from = middle + 1;
  }
  return false;
}
