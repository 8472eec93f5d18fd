/** Reads the lines of a set from a body that comes in pieces: each is a JSON object for one unit. */

import { isUtf8 } from 'node:buffer';
import { SoftquotaError } from '../../errors.ts';
import { isLeaf, type Leaf, leaves, nameFault } from '../../quota/index.ts';
import { excerpt } from '../../text.ts';

interface ReportedUnit {
  readonly owner: string;
  readonly subject: Leaf;
  readonly unit: string;
  readonly bytes: number;
}

export interface UnitLine {
  readonly line: number;
  readonly unit: ReportedUnit;
}

/** Limit of a line, more than three names in their longest spelling. */
const longestLineBytes = 16 * 1024;
const newline = 0x0a;

const expected = '{"owner": a name, "subject": a leaf, "unit": a name, "bytes": a whole number}';
const fields: ReadonlySet<string> = new Set(['owner', 'subject', 'unit', 'bytes']);

export class UnitLines {
  /** The beginning of a line whose end has not come yet, in pieces. */
  #begun: Uint8Array[] = [];
  #begunBytes = 0;
  /** The number of the last line that has ended. */
  #line = 0;
  #units = 0;
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  /** Returns the units whose lines have ended. Throws `bad_parameter`, naming the line, and `too_large`. */
  *take(chunk: Uint8Array): Generator<UnitLine> {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      const unit = this.#end(chunk.subarray(start, end));
      start = end + 1;
      if (unit !== null) yield { line: this.#line, unit };
    }
    this.#begin(chunk.subarray(start));
  }

  /** Returns the unit of a last line without a newline. */
  *end(): Generator<UnitLine> {
    const unit = this.#end(new Uint8Array());
    if (unit !== null) yield { line: this.#line, unit };
  }

  #begin(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#mustFit(bytes);
    // Copied, since the piece that it came in is much larger.
    this.#begun.push(bytes.slice());
    this.#begunBytes += bytes.length;
  }

  #end(rest: Uint8Array): ReportedUnit | null {
    this.#mustFit(rest);
    const text = Buffer.concat([...this.#begun, rest]);
    this.#begun = [];
    this.#begunBytes = 0;
    this.#line += 1;
    if (!isUtf8(text)) throw lineFault(this.#line, 'it is not UTF-8');
    const line = text.toString().trim();
    if (line === '') return null;
    if (++this.#units > this.#most) {
      const message = `line ${this.#line}: a source has at most ${this.#most.toLocaleString('en')} units`;
      throw new SoftquotaError('too_large', message);
    }
    return unitIn(line, this.#line);
  }

  #mustFit(more: Uint8Array): void {
    if (this.#begunBytes + more.length <= longestLineBytes) return;
    throw lineFault(this.#line + 1, `it has more than ${longestLineBytes} bytes, where one unit is expected`);
  }
}

function unitIn(text: string, line: number): ReportedUnit {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    throw lineFault(line, `it is no JSON, where ${expected} is expected`);
  }
  if (typeof found !== 'object' || found === null || Array.isArray(found)) {
    throw lineFault(line, `it is no JSON object, where ${expected} is expected`);
  }
  for (const field in found) {
    if (!fields.has(field))
      throw lineFault(line, `${excerpt(field)} is no field, where ${expected} is expected`);
  }
  const { owner, subject, unit, bytes } = found as Readonly<Record<string, unknown>>;
  return {
    owner: nameIn('owner', owner, line),
    subject: leafIn(subject, line),
    unit: nameIn('unit', unit, line),
    bytes: bytesIn(bytes, line),
  };
}

function nameIn(field: string, value: unknown, line: number): string {
  if (typeof value !== 'string')
    throw lineFault(line, `${field} is ${shownValue(value)}, where a name is expected`);
  const why = nameFault(value);
  if (why !== null) throw lineFault(line, `${field} is ${excerpt(value)}, which is no name: ${why}`);
  return value;
}

function leafIn(value: unknown, line: number): Leaf {
  if (typeof value === 'string' && isLeaf(value)) return value;
  const one = leaves.join(', ');
  throw lineFault(line, `subject is ${shownValue(value)}, where a leaf is expected: ${one}`);
}

function bytesIn(value: unknown, line: number): number {
  // -0 is 0.
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value + 0;
  throw lineFault(line, `bytes is ${shownValue(value)}, where a whole number from 0 to 2^53 - 1 is expected`);
}

export function lineFault(line: number, message: string): SoftquotaError {
  return new SoftquotaError('bad_parameter', `line ${line}: ${message}`);
}

function shownValue(value: unknown): string {
  if (value === undefined) return 'missing';
  return typeof value === 'string' ? excerpt(value) : excerpt(JSON.stringify(value)).slice(1, -1);
}
