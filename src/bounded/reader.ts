/**
 * Reads one JSON document (RFC 8259), a slice at a time.
 *
 * JSON.parse is one step, and with a reviver 1 MiB of small numbers holds the event loop for half a second.
 * This reader does so many values and characters and stops, so that others get their turn. It takes what
 * JSON.parse takes, but for what only an attacker sends: documents with more than `mostDepth` levels, objects
 * with more than `mostNames`, texts with more than `mostCharacters`, numbers and blanks with more than
 * `mostInARow`, and more values than the caller allows.
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

/** The longest text, since each is decoded in one step. */
export const mostCharacters = 256 * 1024;

/** Digits or blanks, which are passed over in one step. */
export const mostInARow = 1024 * 1024;

/**
 * The most names of one object, with those that come again: each time that the engine enlarges an object, it
 * does so in one step.
 */
export const mostNames = 10_000;

/** A step reads no more characters, but for the value that it is at. */
const charactersAtOnce = 16 * 1024;

type Container = unknown[] | Record<string, unknown>;

/** The characters that stand for something else in a text, or must not stand there. */
const notPlain = /[\\\0-\x1f]/;

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
  /** How many names each of them has had. */
  readonly #counts: number[] = [];
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

  /**
   * Reads up to so many values more, or fewer long ones. Returns true at the end of the document. Throws
   * `JsonFault`.
   */
  read(values: number): boolean {
    const end = this.#values + values;
    const endAt = this.#at + charactersAtOnce;
    while (!this.#isDone && this.#values < end && this.#at < endAt) this.#value();
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
    this.#counts.push(0);
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
      this.#counts.pop();
      this.#put(container);
      isAtEnd = false;
    }
  }

  #name(): void {
    if (this.#text[this.#at] !== '"') throw mistake();
    const last = this.#names.length - 1;
    const count = (this.#counts[last] ?? 0) + 1;
    if (count > mostNames) throw new JsonFault(`an object has more than ${mostNames} names`);
    this.#counts[last] = count;
    this.#names[last] = this.#string();
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
    const start = this.#at;
    this.#at = this.#endOfString(start);
    const raw = this.#text.slice(start, this.#at);
    if (!notPlain.test(raw)) return raw.slice(1, -1);
    try {
      // A text between quotes is nothing else.
      return JSON.parse(raw) as string;
    } catch {
      throw mistake();
    }
  }

  /**
   * Where the text ends that starts here: behind the first quote that no odd number of backslashes is before.
   */
  #endOfString(start: number): number {
    for (let from = start + 1; ; ) {
      const quote = this.#text.indexOf('"', from);
      if (quote === -1) throw mistake();
      mustBeShort('text', quote - start - 1, mostCharacters);
      let backslashes = 0;
      while (this.#text[quote - 1 - backslashes] === '\\') backslashes++;
      from = quote + 1;
      if (backslashes % 2 === 0) return from;
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
    const start = this.#at;
    while (isDigit(this.#text[this.#at] ?? '')) this.#skip('number', start);
    if (this.#at === start) throw mistake();
    return this.#at - start;
  }

  /** The character behind what is blank; '' at the end. */
  #next(): string {
    const start = this.#at;
    for (;;) {
      const character = this.#text[this.#at] ?? '';
      if (character !== ' ' && character !== '\n' && character !== '\r' && character !== '\t')
        return character;
      this.#skip('run of blanks', start);
    }
  }

  #skip(what: 'number' | 'run of blanks', start: number): void {
    this.#at++;
    mustBeShort(what, this.#at - start, mostInARow);
  }
}

function mustBeShort(what: 'text' | 'number' | 'run of blanks', characters: number, most: number): void {
  if (characters > most) throw new JsonFault(`a ${what} has more than ${most} characters`);
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
