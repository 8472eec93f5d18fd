/**
 * Reads one JSON document (RFC 8259), a slice at a time.
 *
 * JSON.parse is one step, and with a reviver 1 MiB of small numbers holds the event loop for half a second. This reader
 * does so many values and stops, so that others get their turn. It takes what JSON.parse takes, but for what only an
 * attacker sends: documents with more than `mostDepth` levels, texts with more than `mostCharacters`, and more values than
 * the caller allows.
 */

/** What cannot be read. The message holds nothing of the text, which may be a secret. */
export class JsonFault extends Error {
  override readonly name = 'JsonFault';
}

export interface ReaderOptions {
  /** Makes a value of a number, from the characters it is written in. */
  readonly number: (source: string) => unknown;
  /** Counts lists and objects, and what is in them. */
  readonly mostValues: number;
}

export const mostDepth = 200;

/** A text with escapes is decoded in one step. */
export const mostCharacters = 4 * 1024 * 1024;

type Container = unknown[] | Record<string, unknown>;

/** Never match anything but what starts where they are told to, and never step back. */
const spaces = /[ \t\n\r]*/y;
const plainText = /[^"\\\0-\x1f]*/y;
const digits = /\d*/y;

const words: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
]);

export class JsonReader {
  readonly #text: string;
  readonly #options: ReaderOptions;
  #at = 0;
  #values = 0;
  /** Those that are open, the innermost last. */
  readonly #open: Container[] = [];
  /** The names that the open objects wait to set; '' for lists. */
  readonly #names: string[] = [];
  #result: unknown;
  #isDone = false;

  constructor(text: string, options: ReaderOptions) {
    this.#text = text;
    this.#options = options;
  }

  /** The document, once `read` has returned true. */
  get result(): unknown {
    return this.#result;
  }

  /** Reads up to so many values more. Returns true at the end of the document. Throws `JsonFault`. */
  read(values: number): boolean {
    const end = this.#values + values;
    while (!this.#isDone && this.#values < end) this.#value();
    return this.#isDone;
  }

  /** Reads one value, or the beginning of a list or an object, with the closings behind it. */
  #value(): void {
    if (++this.#values > this.#options.mostValues) {
      throw new JsonFault(`it has more than ${this.#options.mostValues} values`);
    }
    const character = this.#next();
    if (character === '[' || character === '{') {
      this.#begin(character === '[' ? [] : {});
      return;
    }
    this.#put(this.#scalar(character));
    this.#close();
  }

  #begin(container: Container): void {
    if (this.#open.length === mostDepth) throw new JsonFault('it is nested too deeply');
    this.#at++;
    this.#open.push(container);
    this.#names.push('');
    if (this.#next() === (Array.isArray(container) ? ']' : '}')) this.#close(true);
    else if (!Array.isArray(container)) this.#name();
  }

  /** Reads what follows a value: a comma, or the ends of containers. */
  #close(isEmpty = false): void {
    let isAtEnd = isEmpty;
    for (;;) {
      const container = this.#open.at(-1);
      const character = this.#next();
      if (container === undefined) {
        if (character !== '') throw mistake();
        this.#isDone = true;
        return;
      }
      this.#at++;
      if (character === ',' && !isAtEnd) {
        if (!Array.isArray(container)) {
          this.#next();
          this.#name();
        }
        return;
      }
      if (character !== (Array.isArray(container) ? ']' : '}')) throw mistake();
      this.#open.pop();
      this.#names.pop();
      this.#put(container);
      isAtEnd = false;
    }
  }

  #name(): void {
    if (this.#text[this.#at] !== '"') throw mistake();
    this.#names[this.#names.length - 1] = this.#string();
    if (this.#next() !== ':') throw mistake();
    this.#at++;
  }

  #put(value: unknown): void {
    const container = this.#open.at(-1);
    if (container === undefined) this.#result = value;
    else if (Array.isArray(container)) container.push(value);
    else setOwn(container, this.#names.at(-1) ?? '', value);
  }

  #scalar(character: string): unknown {
    if (character === '"') return this.#string();
    if (character === '-' || isDigit(character)) return this.#options.number(this.#number());
    for (const [word, value] of words) {
      if (!this.#text.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return value;
    }
    throw mistake();
  }

  #string(): string {
    const start = this.#at++;
    let hasEscapes = false;
    for (;;) {
      this.#skip(plainText);
      const character = this.#text[this.#at++];
      if (character === '"') break;
      if (character !== '\\') throw mistake();
      hasEscapes = true;
      this.#at++;
    }
    if (this.#at - start > mostCharacters)
      throw new JsonFault(`a text has more than ${mostCharacters} characters`);
    if (!hasEscapes) return this.#text.slice(start + 1, this.#at - 1);
    try {
      // A text between quotes is nothing else.
      return JSON.parse(this.#text.slice(start, this.#at)) as string;
    } catch {
      throw mistake();
    }
  }

  /** RFC 8259, section 6. */
  #number(): string {
    const start = this.#at;
    if (this.#text[this.#at] === '-') this.#at++;
    const isZero = this.#text[this.#at] === '0';
    if (this.#digits() > 1 && isZero) throw mistake();
    if (this.#text[this.#at] === '.') {
      this.#at++;
      this.#digits();
    }
    if (this.#text[this.#at] === 'e' || this.#text[this.#at] === 'E') {
      this.#at++;
      if (this.#text[this.#at] === '+' || this.#text[this.#at] === '-') this.#at++;
      this.#digits();
    }
    return this.#text.slice(start, this.#at);
  }

  /** At least one. */
  #digits(): number {
    const length = this.#skip(digits);
    if (length === 0) throw mistake();
    return length;
  }

  /** The character behind what is blank; '' at the end. */
  #next(): string {
    this.#skip(spaces);
    return this.#text[this.#at] ?? '';
  }

  #skip(what: RegExp): number {
    const start = this.#at;
    what.lastIndex = start;
    what.test(this.#text);
    this.#at = what.lastIndex;
    return this.#at - start;
  }
}

/** As JSON.parse does: `__proto__` is a name like any other. */
function setOwn(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}

function isDigit(character: string): boolean {
  return character >= '0' && character <= '9';
}

function mistake(): JsonFault {
  return new JsonFault('it has a mistake, is cut short, or has more text after it');
}
