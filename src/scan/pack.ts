/**
 * Reads the heads of a pack's entries (see gitformat-pack(5)): the type of each object and its unpacked size.
 * The rest of large entries is not read, and a delta is inflated only as far as the size of its result.
 */

import { OpenedFile } from '../bounded/index.ts';
import { beforeLook, encodePath } from '../layout/index.ts';
import { DamagedStream, inflateStart } from './inflated-start.ts';
import { CannotTell, PackIndex } from './pack-index.ts';

interface PackedBlob {
  /** The unpacked size. */
  readonly bytes: number;
  /** The place of its id in the index. */
  readonly place: number;
}

/**
 * The places of all entries in the index, sorted by the block of the pack in which they begin. `starts`: the
 * start of each block in `places`.
 */
interface Blocks {
  readonly starts: Uint32Array;
  readonly places: Uint32Array;
}

const headerBytes = 12;
const packVersions = [Buffer.from('PACK\0\0\0\x02'), Buffer.from('PACK\0\0\0\x03')];
/** Stands for no type; git does not use 0. */
const none = 0;
const commit = 1;
const blob = 3;
const tag = 4;
const ofsDelta = 6;
const refDelta = 7;
/** Enough for any head and the first bytes of a delta as zlib writes them. */
const longestHead = 1024;
/** Limit for odd entries: a head may be padded, and a stream may begin with blocks that hold nothing. */
const longestPadded = 64 * 1024;
const blockBytes = 256 * 1024;
const mostBlocks = 2 ** 23;
/** Limit of entries in a block that are read one by one, and not with the whole block. */
const fewEntries = 16;
/** Limit of a chain of deltas; git itself makes at most 4,095. */
const mostSteps = 100_000;
const mostExact = 2 ** 53;
/** Entries between two checks of the deadline, where nothing is read. */
const entriesEach = 100_000;
/** Limit of deltas whose types are remembered. */
const mostTypes = 1_000_000;

export class Pack {
  readonly index: PackIndex;
  readonly #path: string;
  readonly #file: OpenedFile;
  readonly #idBytes: number;
  readonly #mayGoOn: () => void;
  /** Types of deltas whose bases were followed, by offset; `none` if these lead to nothing. */
  readonly #types = new Map<number, number>();
  readonly #short = Buffer.allocUnsafe(longestHead);
  #long: Buffer | null = null;

  private constructor(
    path: string,
    file: OpenedFile,
    index: PackIndex,
    idBytes: number,
    mayGoOn: () => void,
  ) {
    this.#path = path;
    this.#mayGoOn = mayGoOn;
    this.#file = file;
    this.index = index;
    this.#idBytes = idBytes;
    const header = file.read(Buffer.alloc(headerBytes), 0);
    const isKnown = packVersions.some(each => header.subarray(0, 8).equals(each));
    const isWhole = header.length === headerBytes && file.bytes >= headerBytes + idBytes;
    if (!isKnown || !isWhole || header.readUInt32BE(8) !== index.count)
      throw new CannotTell('a pack is damaged, or of an unknown kind');
    const sum = file.read(Buffer.alloc(idBytes), file.bytes - idBytes);
    if (!sum.equals(index.packSum)) throw new CannotTell('an index is that of another pack');
  }

  /**
   * Opens `PATH.pack` and `PATH.idx`. Throws `CannotTell`, or the system's error. `mayGoOn` is called now and
   * then, and throws `CannotTell` once the time is over.
   */
  static open(path: string, idBytes: number, mayGoOn: () => void): Pack {
    beforeLook(`${path}.pack`);
    const file = OpenedFile.open(encodePath(`${path}.pack`));
    if (file === null) throw new CannotTell('a pack is no regular file');
    let index: PackIndex | null = null;
    try {
      index = PackIndex.open(`${path}.idx`, idBytes);
      return new Pack(`${path}.pack`, file, index, idBytes, mayGoOn);
    } catch (error) {
      index?.close();
      file.close();
      throw error;
    }
  }

  /**
   * Finds the blobs that are larger than `overBytes` unpacked; if there are more than `most`, only the
   * largest. `attempt` runs each step, so that an entry that cannot be read, or not in time, hides none that
   * was found. Plain entries come first: they cost little, however many deltas there are.
   */
  largeBlobs(overBytes: number, most: number, attempt: (step: () => void) => void): readonly PackedBlob[] {
    let blobs: PackedBlob[] = [];
    let least = overBytes;
    const take = (bytes: number, place: number): void => {
      if (bytes <= least) return;
      blobs.push({ bytes, place });
      if (blobs.length < 2 * most) return;
      blobs = largestOf(blobs, most);
      least = blobs.at(-1)?.bytes ?? least;
    };
    const resultBytes = (head: Buffer, at: number) => this.#resultBytes(head, at);
    attempt(() => {
      this.#mayGoOn();
      const blocks = this.#byBlock();
      const deltasIn = new Uint8Array(blocks.starts.length);
      this.#eachHead(blocks, null, (head, at, offset, place, block) => {
        const type = typeAt(head, at);
        if (isDelta(type)) deltasIn[block] = 1;
        else if (type === blob) attempt(() => take(this.#orPadded(head, at, offset, sizeAt), place));
        else if (type < commit || type > tag)
          attempt(() => {
            throw new CannotTell('a pack has an object of an unknown type');
          });
      });
      this.#eachHead(blocks, deltasIn, (head, at, offset, place) => {
        if (!isDelta(typeAt(head, at))) return;
        attempt(() => {
          const bytes = this.#orPadded(head, at, offset, resultBytes);
          if (bytes > least && this.#typeOf(offset) === blob) take(bytes, place);
        });
      });
    });
    return largestOf(blobs, most);
  }

  close(): void {
    this.index.close();
    this.#file.close();
  }

  /** Calls `take` for each entry, block by block; with `wanted`, only in blocks that are not 0 there. */
  #eachHead(
    { starts, places }: Blocks,
    wanted: Uint8Array | null,
    take: (bytes: Buffer, at: number, offset: number, place: number, block: number) => void,
  ): void {
    const buffer = Buffer.allocUnsafe(blockBytes + longestHead);
    for (let block = 0; block + 1 < starts.length; block++) {
      const from = starts[block] ?? 0;
      const to = starts[block + 1] ?? 0;
      if (from === to || wanted?.[block] === 0) continue;
      this.#mayGoOn();
      const isRead = to - from > fewEntries;
      const begins = block * blockBytes;
      const bytes = isRead ? this.#read(buffer, begins) : buffer;
      for (let next = from; next < to; next++) {
        const place = places[next] ?? 0;
        const offset = this.index.offsetAt(place);
        if (isRead) take(bytes, offset - begins, offset, place, block);
        else take(this.#read(buffer.subarray(0, longestHead), offset), 0, offset, place, block);
      }
    }
  }

  #byBlock(): Blocks {
    const { count } = this.index;
    const end = this.#file.bytes - this.#idBytes;
    const blocks = Math.ceil(this.#file.bytes / blockBytes);
    if (blocks > mostBlocks) throw new CannotTell('a pack is too large');
    const starts = new Uint32Array(blocks + 1);
    for (let place = 0; place < count; place++) {
      if (place % entriesEach === 0) this.#mayGoOn();
      const offset = this.index.offsetAt(place);
      if (offset < headerBytes || offset >= end)
        throw new CannotTell('an index of a pack leads outside of it');
      const block = Math.floor(offset / blockBytes);
      starts[block] = (starts[block] ?? 0) + 1;
    }
    let sum = 0;
    for (let block = 0; block <= blocks; block++) {
      sum += starts[block] ?? 0;
      starts[block] = sum;
    }
    const places = new Uint32Array(count);
    for (let place = 0; place < count; place++) {
      if (place % entriesEach === 0) this.#mayGoOn();
      const block = Math.floor(this.index.offsetAt(place) / blockBytes);
      const start = (starts[block] ?? 0) - 1;
      starts[block] = start;
      places[start] = place;
    }
    return { starts, places };
  }

  /**
   * Calls `tell` for the entry at `at` in `bytes`, and again with more bytes of the file if these are too
   * few.
   */
  #orPadded<Told>(
    bytes: Buffer,
    at: number,
    offset: number,
    tell: (bytes: Buffer, at: number) => Told,
  ): Told {
    try {
      return tell(bytes, at);
    } catch (error) {
      if (!(error instanceof CannotTell)) throw error;
      this.#mayGoOn();
      this.#long ??= Buffer.allocUnsafe(longestPadded);
      return tell(this.#read(this.#long, offset), 0);
    }
  }

  /** The size of the object that a delta makes. */
  #resultBytes(bytes: Buffer, at: number): number {
    const type = typeAt(bytes, at);
    const base = endOfNumber(bytes, at);
    const data = type === refDelta ? base + this.#idBytes : endOfNumber(bytes, base);
    try {
      return (
        secondNumber(bytes, data, shortStart) ??
        secondNumber(bytes, data, longStart) ??
        secondNumber(bytes, data, paddedStart) ??
        damaged()
      );
    } catch (error) {
      throw error instanceof DamagedStream ? new CannotTell('a delta of a pack is damaged') : error;
    }
  }

  /** Returns the type of the object that a delta makes, by following its bases. */
  #typeOf(offset: number): number {
    const followed: number[] = [];
    const baseAt = (bytes: Buffer) => this.#baseOf(bytes, followed.at(-1) ?? offset);
    if (this.#types.size > mostTypes) this.#types.clear();
    let at = offset;
    let type = this.#types.get(at);
    try {
      while (type === undefined) {
        if (followed.length % fewEntries === 0) this.#mayGoOn();
        const bytes = this.#read(this.#short, at);
        const own = typeAt(bytes, 0);
        if (!isDelta(own)) {
          type = own;
          break;
        }
        if (followed.push(at) > mostSteps) throw new CannotTell('the deltas of a pack have no end');
        at = this.#orPadded(bytes, 0, at, baseAt);
        type = this.#types.get(at);
      }
    } finally {
      for (const each of followed) this.#types.set(each, type ?? none);
    }
    if (type === undefined || type === none) throw new CannotTell('the deltas of a pack have no base');
    return type;
  }

  /** Returns the offset of a delta's base. git completes a pack that arrives, so that all bases are in it. */
  #baseOf(bytes: Buffer, offset: number): number {
    const at = endOfNumber(bytes, 0);
    if (typeAt(bytes, 0) === ofsDelta) {
      const base = offset - distanceAt(bytes, at);
      if (base < headerBytes) throw new CannotTell('a delta of a pack has its base outside of it');
      return base;
    }
    const id = bytes.subarray(at, at + this.#idBytes);
    const place = id.length < this.#idBytes ? null : this.index.find(id);
    if (place === null) throw new CannotTell('a delta of a pack has its base outside of it');
    return this.index.offsetAt(place);
  }

  #read(buffer: Buffer, position: number): Buffer {
    beforeLook(this.#path);
    return this.#file.read(buffer, position);
  }
}

function largestOf(found: readonly PackedBlob[], most: number): PackedBlob[] {
  return found.toSorted((a, b) => b.bytes - a.bytes).slice(0, most);
}

// The first bytes of a delta nearly always suffice.
const shortStart = new Uint8Array(8);
const longStart = new Uint8Array(64);
/** Limit for odd deltas: git accepts any number of zeros behind a number. */
const paddedStart = new Uint8Array(4096);

/** The second of the numbers at the beginning of a delta; null: `start` is too short for both. */
function secondNumber(bytes: Buffer, at: number, start: Uint8Array): number | null {
  const inflated = start.subarray(0, inflateStart(bytes, at, start));
  let from = 0;
  while ((inflated[from] ?? 0) >= 0x80) from += 1;
  from += 1;
  let end = from;
  while ((inflated[end] ?? 0) >= 0x80) end += 1;
  return end < inflated.length ? numberAt(inflated, from, 0, 1) : null;
}

function isDelta(type: number): boolean {
  return type === ofsDelta || type === refDelta;
}

function typeAt(bytes: Buffer, at: number): number {
  return ((bytes[at] ?? damaged()) >> 4) & 7;
}

/** The size in the head of an entry: four bits of the first byte, then seven of each. */
function sizeAt(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0;
  return first < 0x80 ? first & 0xf : numberAt(bytes, at + 1, first & 0xf, 16);
}

/**
 * Reads a number: seven bits of each byte, the lowest first, added to `lower`. git accepts zeros behind a
 * number, so these may have any weight. A number that cannot be exact becomes 2^53 - 1.
 */
function numberAt(bytes: Uint8Array, from: number, lower: number, firstWeight: number): number {
  let sum = lower;
  let weight = firstWeight;
  for (let at = from; ; at++) {
    const byte = bytes[at] ?? damaged();
    const digit = byte & 0x7f;
    if (digit > 0) sum = Math.min(sum + digit * weight, mostExact - 1);
    if (byte < 0x80) return sum;
    weight *= 0x80;
  }
}

/** The bytes from a base to its delta: seven bits of each byte, the highest first. */
function distanceAt(bytes: Buffer, from: number): number {
  let distance = (bytes[from] ?? damaged()) & 0x7f;
  for (let at = from; (bytes[at] ?? damaged()) >= 0x80; at++) {
    distance = (distance + 1) * 0x80 + ((bytes[at + 1] ?? damaged()) & 0x7f);
    if (distance >= mostExact) return damaged();
  }
  return distance > 0 ? distance : damaged();
}

function endOfNumber(bytes: Buffer, from: number): number {
  let at = from;
  while ((bytes[at] ?? damaged()) >= 0x80) at += 1;
  return at + 1;
}

function damaged(): never {
  throw new CannotTell('a pack is damaged');
}
