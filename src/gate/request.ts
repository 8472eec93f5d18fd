/**
 * Reads a request: its address, its parameters, what kind of answer it wants.
 *
 * Parameters come in the query, as a form, or as JSON; the body goes before the query. Written by hand,
 * because every push waits for it: a query of a few names takes no more than a few splits.
 */

import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { SoftquotaError } from '../errors.ts';
import { decodePath } from '../layout/index.ts';

export type Parameters = ReadonlyMap<string, string>;

export const longestBodyBytes = 64 * 1024;

const none: Parameters = new Map();
const noNames: ReadonlySet<string> = new Set();

/** The address without its query. */
export function addressOf(request: IncomingMessage): string {
  const url = request.url ?? '/';
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

/** Whether the lines for a person are wanted. Programs that take anything readable, JSON first, want JSON. */
export function wantsText(request: IncomingMessage): boolean {
  const accept = request.headers.accept ?? '';
  return accept.includes('text/plain') && !accept.includes('application/json');
}

/** Whether a body follows. */
export function hasBody(request: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  return encoding !== undefined || (length !== undefined && length !== '0');
}

/**
 * The whole body. What is too long is read to its end all the same, and forgotten: who is cut off while
 * it sends does not listen. Rejects with `too_large`, or `bad_parameter` where the asker went away.
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
      else reject(new SoftquotaError('too_large', `the body has more than ${mostBytes} bytes`));
    });
    request.once('error', cause =>
      reject(new SoftquotaError('bad_parameter', 'the body breaks off', { cause })),
    );
  });
}

/**
 * The parameters of query and body; throws `bad_parameter`. Those in `nested` may be anything where the body is JSON, and
 * stand as their JSON text.
 */
export function parametersOf(
  request: IncomingMessage,
  body: Buffer | null,
  nested: ReadonlySet<string> = noNames,
): Parameters {
  const url = request.url ?? '';
  const start = url.indexOf('?');
  const query = start === -1 ? none : parseForm(url.slice(start + 1));
  if (body === null || body.length === 0) return query;
  return new Map([...query, ...parseBody(body, request.headers['content-type'] ?? '', nested)]);
}

function parseBody(body: Buffer, contentType: string, nested: ReadonlySet<string>): Parameters {
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase();
  if (type === 'application/x-www-form-urlencoded') return parseForm(body.toString('latin1'));
  if (type === 'application/json') return parseJson(body, nested);
  throw bad(
    `Content-Type is "${contentType}", where application/x-www-form-urlencoded or application/json is expected`,
  );
}

function parseForm(text: string): Parameters {
  if (text === '') return none;
  const found = new Map<string, string>();
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const end = pair.indexOf('=');
    add(found, decode(end === -1 ? pair : pair.slice(0, end)), end === -1 ? '' : decode(pair.slice(end + 1)));
  }
  return found;
}

/** JSON as flat parameters: texts, and numbers as they are written, so that none is rounded. */
function parseJson(body: Buffer, nested: ReadonlySet<string>): Parameters {
  if (!isUtf8(body)) throw bad('the body is not UTF-8');
  const found = new Map<string, string>();
  let whole: unknown;
  try {
    whole = JSON.parse(body.toString(), (_key, value: unknown, context?: { readonly source?: string }) =>
      typeof value === 'number' ? new WrittenNumber(context?.source ?? String(value)) : value,
    );
  } catch {
    throw bad('the body is not JSON');
  }
  if (typeof whole !== 'object' || whole === null || Array.isArray(whole)) {
    throw bad('the body is not a JSON object');
  }
  for (const [name, value] of Object.entries(whole)) {
    if (value === null) continue;
    if (typeof value === 'string') add(found, name, value);
    else if (value instanceof WrittenNumber) add(found, name, value.text);
    else if (nested.has(name)) add(found, name, JSON.stringify(value));
    else throw bad(`${name} is neither a text nor a number`);
  }
  return found;
}

class WrittenNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Where it lies within something else. */
  toJSON(): number {
    return Number(this.text);
  }
}

function add(found: Map<string, string>, name: string, value: string): void {
  if (found.has(name)) throw bad(`${name} is given more than once`);
  found.set(name, value);
}

/** Percent-decoding. Node hands over bytes beyond ASCII one by one; such as are no UTF-8 stand as in layout's paths. */
function decode(text: string): string {
  if (!/[%+\x80-\xff]/.test(text)) return text;
  const spaced = text.replaceAll('+', ' ');
  if (!/[\x80-\xff]/.test(spaced)) {
    try {
      return decodeURIComponent(spaced);
    } catch {
      // It is malformed, or no UTF-8.
    }
  }
  if (/%(?![0-9a-f]{2})/i.test(spaced)) throw bad('a "%" is not followed by two hexadecimal digits');
  const bytes = spaced.replace(/%(..)/g, (_all, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  return decodePath(Buffer.from(bytes, 'latin1'));
}

function bad(message: string): SoftquotaError {
  return new SoftquotaError('bad_parameter', message);
}
