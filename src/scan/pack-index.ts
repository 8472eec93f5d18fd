/**
 * The objects in a pack, from its index (version 2, see gitformat-pack(5)): their names in order, after a table
 * of how many begin with each byte or a smaller one, and where in the pack each of them begins.
 */

import { readBounded } from '../bounded/index.ts';
import { beforeLook, encodePath } from '../layout/index.ts';

export interface PackIndex {
  readonly objects: number;
  /** The size of the index itself. */
  readonly bytes: number;
  /** The names that begin with this byte, one after the other, and the place of the first one among all. */
  namesFrom(firstByte: number): { readonly names: Buffer; readonly first: number };
  /** Where in the pack each object begins, in the order of names; null where a pack has more than 2 GiB. */
  offsets(): readonly number[] | null;
}

const signature = Buffer.from([0xff, 0x74, 0x4f, 0x63, 0, 0, 0, 2]);
const tableEntries = 256;
const entryBytes = 4;
const namesBegin = signature.length + tableEntries * entryBytes;
const sumBytes = 4;
/** An offset of this size or more is a place in another table, which has the offset. */
const elsewhere = 2 ** 31;

/**
 * Reads an index with names of so many bytes. Null where it is no such index, or is larger than `mostBytes`;
 * throws the system's error.
 */
export function readPackIndex(path: string, nameBytes: number, mostBytes: number): PackIndex | null {
  beforeLook(path);
  const file = readBounded(encodePath(path), { mostBytes });
  if (file.kind !== 'file' || !file.whole) return null;
  const { bytes } = file;
  const counts = countsIn(bytes);
  const objects = counts?.at(-1) ?? 0;
  const offsetsBegin = namesBegin + objects * (nameBytes + sumBytes);
  if (counts === null || bytes.length < offsetsBegin + objects * entryBytes) return null;
  return {
    objects,
    bytes: bytes.length,
    namesFrom: firstByte => {
      const first = counts[firstByte - 1] ?? 0;
      const end = counts[firstByte] ?? first;
      return { names: bytes.subarray(namesBegin + first * nameBytes, namesBegin + end * nameBytes), first };
    },
    offsets: () => {
      const offsets = Array.from({ length: objects }, (_, at) =>
        bytes.readUInt32BE(offsetsBegin + at * entryBytes),
      );
      return offsets.every(offset => offset < elsewhere) ? offsets : null;
    },
  };
}

/** Null where these are no numbers that grow. */
function countsIn(bytes: Buffer): number[] | null {
  if (bytes.length < namesBegin || !bytes.subarray(0, signature.length).equals(signature)) return null;
  const counts = Array.from({ length: tableEntries }, (_, index) =>
    bytes.readUInt32BE(signature.length + index * entryBytes),
  );
  return counts.every((count, index) => count >= (counts[index - 1] ?? 0)) ? counts : null;
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
