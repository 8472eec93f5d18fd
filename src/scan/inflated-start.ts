/**
 * Inflates only the first bytes of a zlib stream (RFC 1950, RFC 1951).
 *
 * A pack may have millions of deltas, and the first bytes of each give the size of its result. Node's zlib
 * allocates a state with a window for each stream, which takes ten times as long.
 */

/** The stream is damaged, or the input ends before the wanted bytes. */
export class DamagedStream extends Error {}

/**
 * Inflates the stream that begins at `from` in `input`, until `output` is full or the stream ends. Returns
 * the number of bytes written. Throws `DamagedStream`. Does not verify the checksum.
 */
export function inflateStart(input: Uint8Array, from: number, output: Uint8Array): number {
  const bits = new BitReader(input, from + zlibHeaderBytes);
  const head = (input[from] ?? 0) * 256 + (input[from + 1] ?? 0);
  const usesDeflate = ((head >> 8) & 0xf) === 8;
  const hasDictionary = (head & 0x20) !== 0;
  if (!usesDeflate || hasDictionary || head % 31 !== 0) throw new DamagedStream();
  let length = 0;
  for (let isLast = false; !isLast && length < output.length; ) {
    isLast = bits.take(1) === 1;
    const kind = bits.take(2);
    if (kind === 0) length = copyStored(bits, output, length);
    else if (kind === 1) length = inflateBlock(bits, fixedLiterals, fixedDistances, output, length);
    else if (kind === 2) length = inflateDynamic(bits, output, length);
    else throw new DamagedStream();
  }
  return length;
}

const zlibHeaderBytes = 2;
const longestCode = 15;
const mostLiterals = 288;
const mostDistances = 32;
const endOfBlock = 256;
const lastLength = 285;
const mostLengthCodes = 19;
/** The order in which a block lists the lengths of its code length codes (RFC 1951, 3.2.7). */
const lengthCodeOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

class BitReader {
  readonly #input: Uint8Array;
  #at: number;
  /** Bits that were read but not yet taken, the next one lowest. Zeros follow the end of the input. */
  held = 0;
  #heldBits = 0;

  constructor(input: Uint8Array, at: number) {
    this.#input = input;
    this.#at = at;
  }

  /** Reads on until `held` has at least `count` bits, at most 16. */
  hold(count: number): void {
    while (this.#heldBits < count) {
      this.held |= (this.#input[this.#at] ?? 0) << this.#heldBits;
      this.#at += 1;
      this.#heldBits += 8;
    }
  }

  /** Removes bits from `held`. Throws `DamagedStream` if the input has ended before them. */
  drop(count: number): void {
    this.held >>>= count;
    this.#heldBits -= count;
    if (this.#at - (this.#heldBits >> 3) > this.#input.length) throw new DamagedStream();
  }

  /** Takes up to 16 bits, the lowest first. */
  take(count: number): number {
    this.hold(count);
    const taken = this.held & ((1 << count) - 1);
    this.drop(count);
    return taken;
  }

  /** Drops the rest of the current byte. */
  align(): void {
    this.drop(this.#heldBits & 7);
  }
}

/** A canonical Huffman code: how many codes there are of each length, and their symbols in order. */
class HuffmanCode {
  readonly #counts = new Uint16Array(longestCode + 1);
  readonly #symbols: Uint16Array;
  readonly #places = new Uint16Array(longestCode + 2);

  constructor(mostSymbols: number) {
    this.#symbols = new Uint16Array(mostSymbols);
  }

  /** Sets the code length of each symbol, from symbol 0 on; with length 0 a symbol has no code. */
  set(lengths: Uint8Array): this {
    const counts = this.#counts.fill(0);
    for (let at = 0; at < lengths.length; at++) {
      const length = lengths[at] ?? 0;
      counts[length] = (counts[length] ?? 0) + 1;
    }
    counts[0] = 0;
    let left = 1;
    this.#places[1] = 0;
    for (let length = 1; length <= longestCode; length++) {
      left = 2 * left - (counts[length] ?? 0);
      if (left < 0) throw new DamagedStream();
      this.#places[length + 1] = (this.#places[length] ?? 0) + (counts[length] ?? 0);
    }
    for (let symbol = 0; symbol < lengths.length; symbol++) {
      const length = lengths[symbol] ?? 0;
      if (length === 0) continue;
      const place = this.#places[length] ?? 0;
      this.#symbols[place] = symbol;
      this.#places[length] = place + 1;
    }
    return this;
  }

  next(bits: BitReader): number {
    bits.hold(longestCode);
    let { held } = bits;
    let code = 0;
    let first = 0;
    let place = 0;
    for (let length = 1; length <= longestCode; length++) {
      code |= held & 1;
      held >>= 1;
      const count = this.#counts[length] ?? 0;
      if (code - count < first) {
        bits.drop(length);
        return this.#symbols[place + code - first] ?? 0;
      }
      place += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    throw new DamagedStream();
  }
}

const fixedLiterals = new HuffmanCode(mostLiterals).set(
  new Uint8Array(mostLiterals).fill(8).fill(9, 144).fill(7, 256).fill(8, 280),
);
const fixedDistances = new HuffmanCode(mostDistances).set(new Uint8Array(mostDistances).fill(5));

// Reused by all blocks that bring their own codes.
const literalCode = new HuffmanCode(mostLiterals);
const distanceCode = new HuffmanCode(mostDistances);
const lengthCode = new HuffmanCode(mostLengthCodes);
const lengthsOfLengths = new Uint8Array(mostLengthCodes);
const codeLengths = new Uint8Array(mostLiterals + mostDistances);

function copyStored(bits: BitReader, output: Uint8Array, begun: number): number {
  bits.align();
  const count = bits.take(16);
  const inverse = bits.take(16);
  if (count + inverse !== 0xffff) throw new DamagedStream();
  const end = Math.min(output.length, begun + count);
  for (let at = begun; at < end; at++) output[at] = bits.take(8);
  return end;
}

function inflateDynamic(bits: BitReader, output: Uint8Array, begun: number): number {
  const literals = bits.take(5) + 257;
  const distances = bits.take(5) + 1;
  const lengthCodes = bits.take(4) + 4;
  if (literals > mostLiterals) throw new DamagedStream();
  lengthsOfLengths.fill(0);
  for (let at = 0; at < lengthCodes; at++) lengthsOfLengths[lengthCodeOrder[at] ?? 0] = bits.take(3);
  lengthCode.set(lengthsOfLengths);
  const all = literals + distances;
  for (let at = 0; at < all; ) {
    const symbol = lengthCode.next(bits);
    const isRepeated = symbol === 16;
    if (isRepeated && at === 0) throw new DamagedStream();
    const length = symbol < 16 ? symbol : isRepeated ? (codeLengths[at - 1] ?? 0) : 0;
    const times = symbol < 16 ? 1 : timesOf(symbol, bits);
    if (at + times > all) throw new DamagedStream();
    codeLengths.fill(length, at, at + times);
    at += times;
  }
  literalCode.set(codeLengths.subarray(0, literals));
  distanceCode.set(codeLengths.subarray(literals, all));
  return inflateBlock(bits, literalCode, distanceCode, output, begun);
}

function timesOf(symbol: number, bits: BitReader): number {
  if (symbol === 16) return 3 + bits.take(2);
  return symbol === 17 ? 3 + bits.take(3) : 11 + bits.take(7);
}

function inflateBlock(
  bits: BitReader,
  literals: HuffmanCode,
  distances: HuffmanCode,
  output: Uint8Array,
  begun: number,
): number {
  let length = begun;
  while (length < output.length) {
    const symbol = literals.next(bits);
    if (symbol === endOfBlock) return length;
    if (symbol < endOfBlock) {
      output[length] = symbol;
      length += 1;
      continue;
    }
    const end = Math.min(output.length, length + copiedLength(symbol, bits));
    const distance = copiedDistance(distances.next(bits), bits);
    if (distance > length) throw new DamagedStream();
    for (; length < end; length++) output[length] = output[length - distance] ?? 0;
  }
  return length;
}

function copiedLength(symbol: number, bits: BitReader): number {
  if (symbol > lastLength) throw new DamagedStream();
  if (symbol === lastLength) return 258;
  const place = symbol - endOfBlock - 1;
  if (place < 8) return 3 + place;
  const extra = (place >> 2) - 1;
  return 3 + ((4 + (place & 3)) << extra) + bits.take(extra);
}

function copiedDistance(symbol: number, bits: BitReader): number {
  if (symbol >= 30) throw new DamagedStream();
  if (symbol < 2) return 1 + symbol;
  const extra = (symbol >> 1) - 1;
  return 1 + ((2 + (symbol & 1)) << extra) + bits.take(extra);
}
