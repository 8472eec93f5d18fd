/**
 * Reads the index of a pack (version 2, see gitformat-pack(5)): a table with the number of ids that begin
 * with each byte or a smaller one, the ids in order, a checksum of each entry, and where in the pack each
 * entry begins.
 */

import { OpenedFile } from '../bounded/index.ts';
import { beforeLook, encodePath } from '../layout/index.ts';

/** A file of git cannot be understood: it is damaged, of an unknown kind, or too large. */
export class CannotTell extends Error {}

const signature = Buffer.from([0xff, 0x74, 0x4f, 0x63, 0, 0, 0, 2]);
const tableEntries = 256;
const idsBegin = signature.length + 4 * tableEntries;
const sumBytes = 4;
const offsetBytes = 4;
const farOffsetBytes = 8;
/** An offset with this bit is an index into the second table, which has the long offset. */
const farBit = 2 ** 31;
/** Limit of entries: a thread keeps some bytes for each. */
const mostEntries = 20_000_000;

export class PackIndex {
  readonly count: number;
  readonly #path: string;
  readonly #file: OpenedFile;
  readonly #idBytes: number;
  #offsets: PackOffsets | null = null;

  private constructor(path: string, file: OpenedFile, idBytes: number) {
    this.#path = path;
    this.#file = file;
    this.#idBytes = idBytes;
    beforeLook(path);
    const head = file.read(Buffer.alloc(idsBegin), 0);
    if (head.length < idsBegin || !head.subarray(0, signature.length).equals(signature))
      throw new CannotTell('an index of a pack is of an unknown kind');
    this.count = head.readUInt32BE(idsBegin - 4);
    if (this.count > mostEntries) throw new CannotTell(`a pack has more than ${mostEntries} objects`);
    if (file.bytes < this.#farOffsetsBegin + 2 * idBytes) throw new CannotTell('an index of a pack is cut');
  }

  /** Opens an index. Throws `CannotTell`, also if there is no regular file, or the system's error. */
  static open(path: string, idBytes: number): PackIndex {
    beforeLook(path);
    const file = OpenedFile.open(encodePath(path));
    if (file === null) throw new CannotTell('a pack has no index');
    try {
      return new PackIndex(path, file, idBytes);
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** The checksum at the end of the pack that this index is for. */
  get packSum(): Buffer {
    return this.#read(this.#idBytes, this.#file.bytes - 2 * this.#idBytes);
  }

  /** Returns the offset in the pack of the entry whose id is at this place. */
  offsetAt(place: number): number {
    this.#offsets ??= this.#readOffsets();
    return this.#offsets.at(place);
  }

  #readOffsets(): PackOffsets {
    const near = this.#read(offsetBytes * this.count, this.#offsetsBegin);
    const farBytes = this.#file.bytes - 2 * this.#idBytes - this.#farOffsetsBegin;
    if (farBytes > farOffsetBytes * this.count) throw new CannotTell('an index of a pack is too long');
    return new PackOffsets(near, this.#read(farBytes, this.#farOffsetsBegin));
  }

  idAt(place: number): Buffer {
    return this.#read(this.#idBytes, idsBegin + place * this.#idBytes);
  }

  /** The place of an object among the ids; null: it is not in the pack. */
  find(id: Buffer): number | null {
    const first = id[0] ?? 0;
    const countAt = (byte: number): number =>
      byte < 0 ? 0 : this.#read(4, signature.length + 4 * byte).readUInt32BE();
    let from = countAt(first - 1);
    let to = Math.min(countAt(first), this.count);
    while (from < to) {
      const middle = Math.floor((from + to) / 2);
      const order = Buffer.compare(id, this.idAt(middle));
      if (order === 0) return middle;
      if (order < 0) to = middle;
      else from = middle + 1;
    }
    return null;
  }

  close(): void {
    this.#file.close();
  }

  get #offsetsBegin(): number {
    return idsBegin + this.count * (this.#idBytes + sumBytes);
  }

  get #farOffsetsBegin(): number {
    return this.#offsetsBegin + this.count * offsetBytes;
  }

  #read(length: number, position: number): Buffer {
    beforeLook(this.#path);
    const read = this.#file.read(Buffer.allocUnsafe(length), position);
    if (read.length < length) throw new CannotTell('an index of a pack is cut');
    return read;
  }
}

/** The offsets of all entries of a pack. */
class PackOffsets {
  readonly #near: DataView;
  readonly #far: Buffer;

  constructor(near: Buffer, far: Buffer) {
    this.#near = new DataView(near.buffer, near.byteOffset, near.length);
    this.#far = far;
  }

  at(place: number): number {
    const near = this.#near.getUint32(offsetBytes * place);
    if (near < farBit) return near;
    const far = (near - farBit) * farOffsetBytes;
    if (far + farOffsetBytes > this.#far.length)
      throw new CannotTell('an index of a pack leads outside of it');
    return this.#far.readUInt32BE(far) * 2 ** 32 + this.#far.readUInt32BE(far + 4);
  }
}
