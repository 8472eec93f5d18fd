/**
 * Reads a request: its address, its body and its parameters; and makes replies.
 *
 * Parameters are in the query, in a form, or in JSON; the body takes precedence over the query. This is
 * written by hand because every push waits for it: a query of a few names takes no more than a few splits.
 */

import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { posix } from 'node:path';
import { JsonFault, readJson } from '../bounded/index.ts';
import { badParameter, SoftquotaError } from '../errors.ts';
import { decodePath } from '../layout/index.ts';
import { jsonOf } from '../parsed.ts';
import { isLeaf, type Leaf, leaves, nameFault } from '../quota/index.ts';
import { excerpt, printable } from '../text.ts';

export type Parameters = ReadonlyMap<string, string>;

const longestBodyBytes = 64 * 1024;

/** Limit of the parameters of a request: each one costs a lookup. */
const mostParameters = 100;

const none: Parameters = new Map();

export function requestAddress(request: IncomingMessage): string {
  const url = request.url ?? '/';
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

/**
 * Reads the whole body. A longer one is read to its end, because a client does not read the answer while it
 * sends. Rejects with `too_large` or `bad_parameter`.
 */
export function bodyOf(request: IncomingMessage, mostBytes = longestBodyBytes): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= mostBytes) chunks.push(chunk);
      else chunks.length = 0;
    });
    request.once('end', () => {
      if (length <= mostBytes) resolve(Buffer.concat(chunks));
      else reject(tooLong(mostBytes));
    });
    request.once('error', cause => reject(badParameter('the body is incomplete', { cause })));
  });
}

/** Nearly all requests are shorter; these never wait. */
const shortBytes = 16 * 1024;
/** Number of long requests that are held at the same time. */
const mostLong = 64;

/** Limits the memory for long requests: when too many are held, further ones wait unread. */
export class BodyRoom {
  #long = 0;
  readonly #waiting = new Set<() => void>();

  /**
   * Reads a body, and keeps its place until it is used. Rejects as `bodyOf` and `use` do, or if the client
   * disconnects while it waits.
   */
  async read<Answer>(
    request: IncomingMessage,
    mostBytes: number | undefined,
    use: (body: Buffer) => Answer | Promise<Answer>,
  ): Promise<Answer> {
    const leave = await this.#enter(request);
    try {
      return await use(await bodyOf(request, mostBytes));
    } finally {
      leave();
    }
  }

  /** Resolves with a function that frees the place. */
  async #enter(request: IncomingMessage): Promise<() => void> {
    const length = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY);
    if (length <= shortBytes) return () => {};
    if (this.#long >= mostLong) await this.#turn(request);
    else this.#long++;
    return () => this.#leave();
  }

  /** Waits until another request hands over its place. */
  #turn(request: IncomingMessage): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const enter = () => {
      request.off('close', gone);
      resolve();
    };
    const gone = () => {
      this.#waiting.delete(enter);
      reject(badParameter('the asker has gone'));
    };
    request.once('close', gone);
    this.#waiting.add(enter);
    return promise;
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#long--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}

function tooLong(mostBytes: number): SoftquotaError {
  return new SoftquotaError('too_large', `the body has more than ${mostBytes} bytes`);
}

/**
 * Returns the parameters of query and body as texts; JSON values of the names in `nested` are serialized.
 * Throws `bad_parameter` and `too_large`.
 */
export function parametersOf(request: IncomingMessage, body: Buffer | null, nested?: Nested): Parameters {
  const query = queryOf(request);
  if (body === null || body.length === 0) return query;
  const type = typeOf(request);
  if (type === 'form') return new Map([...query, ...parseForm(body.toString('latin1'))]);
  // Without a limit on the number of values, only a short body may be parsed in one go.
  if (nested === undefined && body.length > longestBodyBytes) throw tooLong(longestBodyBytes);
  return new Map([...query, ...parseJson(body, nested)]);
}

/** Parameters that may be whole JSON values, and the limit of values in all of them together. */
export interface Nested {
  readonly names: ReadonlySet<string>;
  readonly mostValues: number;
}

function queryOf({ url = '' }: IncomingMessage): Parameters {
  const start = url.indexOf('?');
  return start === -1 ? none : parseForm(url.slice(start + 1));
}

function typeOf({ headers }: IncomingMessage): 'form' | 'json' {
  const contentType = headers['content-type'] ?? '';
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase();
  if (type === 'application/x-www-form-urlencoded') return 'form';
  if (type === 'application/json') return 'json';
  throw badParameter(
    `Content-Type is "${contentType}", where application/x-www-form-urlencoded or application/json is expected`,
  );
}

/** Parses a query or a form whose characters are bytes. Throws `bad_parameter`. */
function parseForm(text: string): Parameters {
  if (text === '') return none;
  const found = new Map<string, string>();
  for (const pair of text.split('&', mostParameters + 1)) {
    if (pair === '') continue;
    const end = pair.indexOf('=');
    add(found, decode(end === -1 ? pair : pair.slice(0, end)), end === -1 ? '' : decode(pair.slice(end + 1)));
  }
  return found;
}

/** Parses a JSON object. Without `nested`, numbers keep their spelling, so that none is rounded. */
function parseJson(body: Buffer, nested: Nested | undefined): Parameters {
  if (!isUtf8(body)) throw badParameter('the body is not UTF-8');
  const text = body.toString();
  const whole = nested === undefined ? jsonIn(text) : nestedIn(text, nested);
  if (typeof whole !== 'object' || whole === null || Array.isArray(whole)) {
    throw badParameter('the body is not a JSON object');
  }
  const found = flat(whole, nested?.names);
  // Finding the spelling of numbers takes a call for each value, so it is done only if there is a number.
  const hasNumbers = Object.values(whole).some(value => typeof value === 'number');
  return nested === undefined && hasNumbers ? asWritten(text, found) : found;
}

function jsonIn(text: string): unknown {
  const found = jsonOf(text);
  if (found === undefined) throw badParameter('the body is not JSON');
  return found;
}

function nestedIn(text: string, { mostValues }: Nested): unknown {
  try {
    return readJson(text, mostValues);
  } catch (error) {
    throw error instanceof JsonFault ? badParameter(`the body is not JSON: ${error.message}`) : error;
  }
}

function flat(whole: object, nested: ReadonlySet<string> | undefined): Parameters {
  const found = new Map<string, string>();
  for (const [name, value] of Object.entries(whole)) {
    if (value === null) continue;
    if (typeof value === 'string') add(found, name, value);
    else if (typeof value === 'number') add(found, name, String(value));
    else if (nested?.has(name)) add(found, name, JSON.stringify(value));
    else throw badParameter(`${name} is not a text and not a number`);
  }
  return found;
}

function asWritten(text: string, parameters: Parameters): Parameters {
  const written = new Map(parameters);
  JSON.parse(text, (name, value: unknown, context?: { readonly source?: string }) => {
    if (typeof value === 'number' && context?.source !== undefined) written.set(name, context.source);
    return value;
  });
  return written;
}

function add(found: Map<string, string>, name: string, value: string): void {
  if (found.has(name)) throw badParameter(`${name} is given more than once`);
  if (found.size === mostParameters) throw badParameter(`there are more than ${mostParameters} parameters`);
  found.set(name, value);
}

/**
 * Decodes percent-encoding in place: a call for each code would block the event loop for 100 ms with a body
 * of 1 MiB. Node passes bytes beyond ASCII one by one; bytes that are not UTF-8 are encoded as in paths of
 * layout.
 */
function decode(text: string): string {
  if (!/[%+\x80-\xff]/.test(text)) return text;
  const bytes = Buffer.from(text, 'latin1');
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1, length += 1) {
    let byte = bytes[at] as number;
    if (byte === plus) byte = space;
    else if (byte === percent) {
      byte = 16 * (digits[bytes[at + 1] ?? 0] as number) + (digits[bytes[at + 2] ?? 0] as number);
      if (Number.isNaN(byte)) throw badParameter('a "%" is not followed by two hexadecimal digits');
      at += 2;
    }
    bytes[length] = byte;
  }
  return decodePath(bytes.subarray(0, length));
}

const plus = 0x2b;
const space = 0x20;
const percent = 0x25;

/** Value of each byte as a hexadecimal digit; NaN for other bytes. */
const digits = Array.from({ length: 256 }, (_, byte) => Number.parseInt(String.fromCharCode(byte), 16));

/** An answer on a socket: JSON for programs, text for people. */
export interface Reply {
  readonly status: number;
  /** Only one of the two functions is called. */
  readonly json: () => unknown;
  readonly text: () => string;
  /** Set if the answer is a decision. */
  readonly decision?: 'allowed' | 'refused';
}

export function replyWith(status: number, json: unknown, text: string): Reply {
  return { status, json: () => json, text: () => text };
}

/**
 * Makes the reply for an error, in one line that is safe to print. An unexpected error goes to `unforeseen`,
 * and its text stays secret.
 */
export function faultReply(error: unknown, unforeseen: (error: unknown) => void): Reply {
  if (error instanceof SoftquotaError) {
    // The message may quote the request.
    const message = printable(error.message);
    return replyWith(error.status, { code: error.code, message }, `${message}\n`);
  }
  unforeseen(error);
  const message = 'internal error; the log of the daemon has details';
  return replyWith(500, { code: 'internal', message }, `${message}\n`);
}

/** Limit of a path without its final NUL. Finding a path's unit takes a step for each name in it. */
const longestPathBytes = 4095;

/* Each function below throws `bad_parameter`, which names the fault. */

export function required(parameters: Parameters, name: string): string {
  const value = parameters.get(name);
  if (value === undefined || value === '') throw badParameter(`${name} is missing`);
  return value;
}

/** Reads the name of an owner or of a reported unit. */
export function nameParameter(parameters: Parameters, name: 'actor' | 'owner' | 'unit'): string {
  const value = required(parameters, name);
  const why = nameFault(value);
  if (why !== null) throw badParameter(`${name} is ${excerpt(value)}, which is no name: ${why}`);
  return value;
}

/** Reads an absolute path, and removes double slashes, `.` and `..`. */
export function pathIn(text: string): string {
  if (!text.startsWith('/'))
    throw badParameter(`path is ${excerpt(text)}, where an absolute path is expected`);
  if (text.includes('\0')) throw badParameter('path holds a NUL');
  if (Buffer.byteLength(text) > longestPathBytes)
    throw badParameter(`path has more than ${longestPathBytes} bytes`);
  const path = posix.normalize(text);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

export function leafIn(parameters: Parameters): Leaf {
  const subject = required(parameters, 'subject');
  if (isLeaf(subject)) return subject;
  throw badParameter(`subject is ${excerpt(subject)}, where a leaf is expected: ${leaves.join(', ')}`);
}

/** Reads a size in bytes, from 0 to 2^53 - 1. */
export function bytesIn(parameters: Parameters, name: string): number {
  return wholeNumber(name, required(parameters, name), /^\d+$/, 'a whole number of bytes from 0 to 2^53 - 1');
}

export function deltaIn(parameters: Parameters): number {
  const expected = 'a whole number of bytes from -(2^53 - 1) to 2^53 - 1';
  return wholeNumber('delta', required(parameters, 'delta'), /^[-+]?\d+$/, expected);
}

function wholeNumber(name: string, text: string, form: RegExp, expected: string): number {
  const number = form.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(number))
    throw badParameter(`${name} is ${excerpt(text)}, where ${expected} is expected`);
  // Turns -0 into 0.
  return number + 0;
}
