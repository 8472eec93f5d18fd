/** Reads a file that somebody else may have put there. */

import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  type Stats,
  statSync,
} from 'node:fs';
import { systemCode } from '../errors.ts';

type NoFile = 'absent' | 'link' | 'directory' | 'special';

export type BoundedFile =
  | { readonly kind: NoFile }
  | {
      readonly kind: 'file';
      readonly bytes: Buffer;
      /** False if the file is longer than `bytes`. */
      readonly whole: boolean;
      readonly stats: Stats;
    };

const mostFileBytes = 1024 * 1024;

const { O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const chunkBytes = 64 * 1024;

/**
 * Finds out the kind of what is at a path, and reads the first `mostBytes` of a regular file. A pipe or a
 * device is never opened, since that may wait or start something; if one takes the place of a file meanwhile,
 * opening it does not wait. With `follow`, a link is followed. Throws the system's error if the file exists
 * and cannot be read.
 */
export function readBounded(
  path: string | Buffer,
  { follow = false, mostBytes = mostFileBytes } = {},
): BoundedFile {
  const descriptor = openFile(path, follow);
  if (typeof descriptor !== 'number') return { kind: descriptor };
  try {
    const stats = fstatSync(descriptor);
    const kind = kindOf(stats);
    if (kind !== 'file') return { kind };
    const bytes = readUpTo(descriptor, mostBytes + 1);
    return { kind, bytes: bytes.subarray(0, mostBytes), whole: bytes.length <= mostBytes, stats };
  } finally {
    closeSync(descriptor);
  }
}

/** Opens a file, or returns the kind of anything else; something else may still have taken its place. */
function openFile(path: string | Buffer, follow: boolean): number | NoFile {
  try {
    const kind = kindOf(follow ? statSync(path) : lstatSync(path));
    if (kind !== 'file') return kind;
    return openSync(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | (follow ? 0 : O_NOFOLLOW));
  } catch (error) {
    const kind = kindByCode[systemCode(error) ?? ''];
    if (kind !== undefined) return kind;
    throw error;
  }
}

/** A regular file that can be read at any position while it is open. No link is followed. */
export class OpenedFile {
  readonly bytes: number;
  readonly #descriptor: number;

  private constructor(descriptor: number, bytes: number) {
    this.#descriptor = descriptor;
    this.bytes = bytes;
  }

  /** Returns null if there is no regular file. Throws the system's error if it cannot be read. */
  static open(path: string | Buffer): OpenedFile | null {
    const descriptor = openFile(path, false);
    if (typeof descriptor !== 'number') return null;
    const stats = fstatSync(descriptor);
    if (kindOf(stats) === 'file') return new OpenedFile(descriptor, stats.size);
    closeSync(descriptor);
    return null;
  }

  /** Fills `buffer` from `position` on, and returns the filled part; shorter only at the end of the file. */
  read(buffer: Buffer, position: number): Buffer {
    let length = 0;
    while (length < buffer.length) {
      const read = readSync(this.#descriptor, buffer, length, buffer.length - length, position + length);
      if (read === 0) break;
      length += read;
    }
    return buffer.subarray(0, length);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

const kindByCode: Readonly<Record<string, 'absent' | 'link' | 'special'>> = {
  ENOENT: 'absent',
  ENOTDIR: 'absent',
  ELOOP: 'link',
  ENXIO: 'special',
};

function kindOf(stats: Stats): NoFile | 'file' {
  if (stats.isFile()) return 'file';
  if (stats.isSymbolicLink()) return 'link';
  return stats.isDirectory() ? 'directory' : 'special';
}

function readUpTo(descriptor: number, most: number): Buffer {
  const chunks: Buffer[] = [];
  for (let length = 0; length < most; ) {
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, most - length));
    const read = readSync(descriptor, chunk, 0, chunk.length, null);
    if (read === 0) break;
    chunks.push(chunk.subarray(0, read));
    length += read;
  }
  return Buffer.concat(chunks);
}
