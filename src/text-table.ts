/**
 * Texts by the numbers of rows, and the rows by their texts, packed: a million paths are a few blocks of
 * bytes and not a million objects that a collection of garbage looks at.
 *
 * The hash is seeded: whoever chooses names cannot choose where they collide.
 */

import { randomInt } from 'node:crypto';
import { grown, noRow } from './columns.ts';
import { HashedRows, mixed } from './hashed-rows.ts';
import { decodeWtf8, encodeWtf8 } from './wtf8.ts';

const blockBytes = 2 ** 20;
/** Below this length a loop is faster than a call of the native function. */
const short = 64;
/** Rows that are moved out of sparse blocks with each text that is added. */
const movedAtOnce = 8;

interface Block {
  readonly bytes: Buffer;
  /** Number of its bytes that were given out, and of texts that are still in it. */
  end: number;
  texts: number;
}

export class TextTable {
  readonly #seed = randomInt(2 ** 32);
  /** By the hashes of their texts. */
  readonly #rows = new HashedRows();
  /** The bytes of the text that was asked for last. */
  #asked = Buffer.allocUnsafeSlow(4096);
  /** Row by row: the block of the text and its place in it, its length and 1 (0: none). */
  #blockOf = new Int32Array(0);
  #places = new Int32Array(0);
  #sizes = new Int32Array(0);
  #blocks: (Block | null)[] = [];
  #freeBlocks: number[] = [];
  #filling = noRow;
  #usedBytes = 0;
  #liveBytes = 0;
  /** The row that is looked at next for moving. */
  #cursor = 0;

  get size(): number {
    return this.#rows.size;
  }

  /** Prepares for about so many texts, in the rows from 0 on. */
  expect(texts: number): void {
    this.#rows.expect(texts);
    this.#roomFor(texts - 1);
  }

  has(row: number): boolean {
    return (this.#sizes[row] ?? 0) > 0;
  }

  /** Number of bytes that the blocks take. */
  get blockBytes(): number {
    return this.#blocks.reduce((sum, block) => sum + (block?.bytes.length ?? 0), 0);
  }

  /** Gives the row that has this text, or `noRow`. */
  find(text: string): number {
    const length = this.#encode(text);
    return this.#find(length, this.#hashOf(length));
  }

  /** Tells whether a row has this text, without the effort of `find`; false for all that is not ASCII. */
  isAscii(row: number, text: string): boolean {
    if (this.#sizes[row] !== text.length + 1) return false;
    const bytes = this.#blocks[this.#blockOf[row] ?? 0]?.bytes;
    const place = this.#places[row] ?? 0;
    if (bytes === undefined) return false;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code > 0x7f || bytes[place + at] !== code) return false;
    }
    return true;
  }

  /**
   * Gives the innermost row wanted whose text is this path or a directory above it, or `noRow`; the path is
   * read once for all of them.
   */
  findAbove(path: string, isWanted: (row: number) => boolean): number {
    const length = this.#encode(path);
    const bytes = this.#asked;
    const ends: number[] = [];
    const hashes: number[] = [];
    let state = this.#seed;
    for (let at = 0; at < length; at += 1) {
      if (bytes[at] === slash && at > 0) {
        ends.push(at);
        hashes.push(mixed(state));
      }
      state = stepped(state, bytes[at] ?? 0);
    }
    ends.push(length);
    hashes.push(mixed(state));
    for (let at = ends.length - 1; at >= 0; at -= 1) {
      const row = this.#find(ends[at] ?? 0, hashes[at] ?? 0);
      if (row !== noRow && isWanted(row)) return row;
    }
    return noRow;
  }

  /** The text of a row that has one. */
  text(row: number): string {
    const bytes = this.#blocks[this.#blockOf[row] ?? 0]?.bytes;
    const place = this.#places[row] ?? 0;
    const text = bytes?.toString('utf8', place, place + this.#lengthOf(row));
    // That stands for what UTF-8 has no bytes for, too.
    const whole = text?.includes('\ufffd') ? decodeWtf8(this.#bytesOf(row)) : text;
    if (whole === null || whole === undefined) throw new Error(`row ${row} holds no text`);
    return whole;
  }

  /** Tells whether the text of a row contains this one, in UTF-8, without making it. */
  contains(row: number, part: Uint8Array): boolean {
    const bytes = this.#blocks[this.#blockOf[row] ?? 0]?.bytes;
    const place = this.#places[row] ?? 0;
    const last = place + this.#lengthOf(row) - part.length;
    if (bytes === undefined || !this.has(row)) return false;
    for (let from = place; from <= last; from += 1) {
      let same = 0;
      while (same < part.length && bytes[from + same] === part[same]) same += 1;
      if (same === part.length) return true;
    }
    return false;
  }

  /** Gives a text to a row that has none; no row has that text. */
  add(row: number, text: string): void {
    const length = this.#encode(text);
    this.#roomFor(row);
    this.#keep(row, this.#asked.subarray(0, length));
    this.#rows.add(row, this.#hashOf(length));
    this.#tidy();
  }

  /**
   * Gives texts to rows that have none, from the first on, which follow each other; no row has one of them.
   * They are WTF-8, one behind the other, and each ends where `ends` says.
   */
  append(first: number, texts: Uint8Array, ends: Int32Array): void {
    if (ends.length === 0) return;
    this.#roomFor(first + ends.length - 1);
    const index = this.#blockWith(texts.length);
    const place = this.#fill(index, texts, ends.length);
    let begin = 0;
    let row = first;
    for (const end of ends) {
      this.#blockOf[row] = index;
      this.#places[row] = place + begin;
      this.#sizes[row] = end - begin + 1;
      this.#rows.add(row, this.#hashIn(texts, begin, end));
      begin = end;
      row += 1;
    }
  }

  remove(row: number): void {
    this.#rows.remove(row);
    this.#release(row);
    this.#sizes[row] = 0;
  }

  /** Puts a text where it is looked for and added from; gives its length in bytes. */
  #encode(text: string): number {
    const most = 3 * text.length;
    if (most > this.#asked.length) this.#asked = Buffer.allocUnsafeSlow(2 * most);
    if (text.length <= short && this.#encodeAscii(text)) return text.length;
    if (text.isWellFormed()) return this.#asked.write(text);
    const bytes = encodeWtf8(text);
    this.#asked.set(bytes);
    return bytes.length;
  }

  /** False: it has other characters. */
  #encodeAscii(text: string): boolean {
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code > 0x7f) return false;
      this.#asked[at] = code;
    }
    return true;
  }

  #hashOf(length: number): number {
    return this.#hashIn(this.#asked, 0, length);
  }

  #hashIn(bytes: Uint8Array, begin: number, end: number): number {
    let state = this.#seed;
    for (let at = begin; at < end; at += 1) state = stepped(state, bytes[at] ?? 0);
    return mixed(state);
  }

  /** Finds the first bytes of those that are asked for. */
  #find(length: number, hash: number): number {
    let row = this.#rows.first(hash);
    while (row !== noRow && !this.#isText(row, length)) row = this.#rows.after(row, hash);
    return row;
  }

  #isText(row: number, length: number): boolean {
    if (this.#sizes[row] !== length + 1) return false;
    const block = this.#blocks[this.#blockOf[row] ?? 0]?.bytes;
    const place = this.#places[row] ?? 0;
    if (block === undefined) return false;
    if (length > short) return block.compare(this.#asked, 0, length, place, place + length) === 0;
    for (let at = 0; at < length; at += 1) if (block[place + at] !== this.#asked[at]) return false;
    return true;
  }

  #bytesOf(row: number): Buffer {
    const place = this.#places[row] ?? 0;
    const block = this.#blocks[this.#blockOf[row] ?? 0];
    return block?.bytes.subarray(place, place + this.#lengthOf(row)) ?? Buffer.alloc(0);
  }

  #lengthOf(row: number): number {
    return Math.max((this.#sizes[row] ?? 0) - 1, 0);
  }

  #roomFor(row: number): void {
    if (row < this.#sizes.length) return;
    this.#blockOf = grown(this.#blockOf, row + 1);
    this.#places = grown(this.#places, row + 1);
    this.#sizes = grown(this.#sizes, row + 1);
  }

  #keep(row: number, bytes: Uint8Array): void {
    const index = this.#blockWith(bytes.length);
    this.#blockOf[row] = index;
    this.#places[row] = this.#fill(index, bytes, 1);
    this.#sizes[row] = bytes.length + 1;
  }

  /** Puts the bytes of so many texts into a block that has room for them; gives their place. */
  #fill(index: number, bytes: Uint8Array, texts: number): number {
    const block = this.#blocks[index];
    if (block === undefined || block === null) throw new Error('there is no such block');
    const place = block.end;
    block.bytes.set(bytes, place);
    block.end += bytes.length;
    block.texts += texts;
    this.#liveBytes += bytes.length;
    this.#usedBytes += bytes.length;
    return place;
  }

  /** A text never lies in two blocks; one that is longer than a block has one of its own. */
  #blockWith(bytes: number): number {
    const filling = this.#blocks[this.#filling];
    if (filling && filling.end + bytes <= filling.bytes.length) return this.#filling;
    const before = this.#filling;
    this.#filling = this.#freeBlocks.pop() ?? this.#blocks.length;
    const block = { bytes: Buffer.allocUnsafeSlow(Math.max(bytes, blockBytes)), end: 0, texts: 0 };
    this.#blocks[this.#filling] = block;
    this.#dropIfEmpty(before);
    return this.#filling;
  }

  #release(row: number): void {
    const index = this.#blockOf[row] ?? 0;
    const block = this.#blocks[index];
    const bytes = this.#lengthOf(row);
    if (!block) return;
    block.texts -= 1;
    this.#liveBytes -= bytes;
    this.#dropIfEmpty(index);
  }

  #dropIfEmpty(index: number): void {
    const block = this.#blocks[index];
    if (!block || block.texts > 0 || index === this.#filling) return;
    this.#usedBytes -= block.end;
    this.#blocks[index] = null;
    this.#freeBlocks.push(index);
  }

  /** Moves texts together, some with each addition, once less than half of the bytes given out is in use. */
  #tidy(): void {
    if (this.#usedBytes < 2 * this.#liveBytes + blockBytes) return;
    for (let moved = 0; moved < movedAtOnce; moved += 1) {
      const row = this.#cursor;
      this.#cursor = (row + 1) % this.#sizes.length;
      if (this.#sizes[row] === 0 || this.#blockOf[row] === this.#filling) continue;
      const bytes = this.#bytesOf(row);
      this.#release(row);
      this.#keep(row, bytes);
    }
  }
}

const slash = 0x2f;

/** FNV-1a's step. */
function stepped(state: number, byte: number): number {
  return Math.imul(state ^ byte, 0x01000193);
}
