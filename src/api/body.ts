/**
 * Reads a request's body, JSON in UTF-8 within its route's bound. A long one, of up to 16 MiB, is parsed on a
 * thread, one after the other, so that the main thread stays responsive.
 */

import { Worker } from 'node:worker_threads';
import type { Request } from 'express';
import { JsonFault, readExactJson } from '../bounded/index.ts';
import { SoftquotaError } from '../errors.ts';
import { entryUrl } from '../package.ts';
import { SerialQueue, type Work, workInSlices } from '../turns.ts';

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** Limit of a body in bytes, unless the route has a long body, or checks no caller first. */
const usualBytes = mebibyte;

/**
 * Limit of a long body in bytes, enough for several hundred thousand owners. Only administrators send one.
 */
export const longBytes = 16 * mebibyte;

/** Limit of a body in bytes on routes that check no caller first. */
const strangersBytes = 4 * kibibyte;

/** A document with fewer bytes per value on average is refused: it only costs memory. */
const leastBytesPerValue = 16;

export interface SentDocument {
  readonly json: unknown;
  /** True if the value has been checked against its schema already. */
  readonly isRead: boolean;
}

/**
 * Reads the document in a request. `isOpen`: no caller is checked before, so the limit is small. `schema`:
 * that of a body that may be long. Rejects as `sentBody` does, and with `invalid`.
 */
export async function sentDocument(
  request: Request,
  isOpen: boolean,
  schema: LongBodySchema | undefined,
): Promise<SentDocument> {
  const mostBytes = isOpen ? strangersBytes : schema === undefined ? usualBytes : longBytes;
  const body = await sentBody(request, mostBytes);
  if (schema === undefined || body.length <= mostWithoutThread) {
    return { json: jsonInBody(body, mostBytes), isRead: false };
  }
  return { json: await readLongBody({ schema, body }), isRead: true };
}

/**
 * Resolves with the bytes of the JSON body, or with none if there is no body. A body that is too long is read
 * to its end and discarded, because a client does not read the answer while it sends. Rejects with `invalid`
 * if the content type is not JSON, with `body_too_large`, and with `bad_parameter` if the body is incomplete.
 */
async function sentBody(request: Request, mostBytes: number): Promise<Buffer> {
  if (request.headers['content-encoding'] !== undefined) {
    throw new SoftquotaError('invalid', 'body: expected JSON without Content-Encoding');
  }
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length <= mostBytes) chunks.push(chunk);
      else chunks.length = 0;
    }
  } catch (cause) {
    throw new SoftquotaError('bad_parameter', 'body: it is incomplete', { cause });
  }
  if (length > mostBytes) {
    throw new SoftquotaError('body_too_large', `body: expected at most ${shown(mostBytes)}`);
  }
  if (length > 0 && !isJson(request.headers['content-type'])) {
    throw new SoftquotaError('invalid', 'body: expected JSON, with Content-Type: application/json');
  }
  return Buffer.concat(chunks);
}

/** Parses a body of at most `mostBytes`; undefined if it is empty. Throws `invalid` if it is not JSON. */
export function jsonInBody(body: Uint8Array, mostBytes: number): unknown {
  if (body.length === 0) return undefined;
  try {
    return readExactJson(textOf(body), Math.floor(mostBytes / leastBytesPerValue));
  } catch (cause) {
    throw cause instanceof JsonFault ? noDocument(cause.message, cause) : cause;
  }
}

function textOf(body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch (cause) {
    throw noDocument('it is not UTF-8', cause);
  }
}

function isJson(contentType: string | undefined): boolean {
  return /^application\/json *(?:; *charset="?utf-?8"? *)?$/i.test(contentType ?? '');
}

function shown(bytes: number): string {
  return bytes < mebibyte ? `${bytes / kibibyte} KiB` : `${bytes / mebibyte} MiB`;
}

function noDocument(why: string, cause: unknown): SoftquotaError {
  return new SoftquotaError('invalid', `body: expected one JSON document; ${why}`, { cause });
}

/** Schemas of long bodies, by their names in wire. */
export type LongBodySchema = 'newWholePolicy' | 'draftPolicy';

/** Limit in bytes below which parsing on the main thread is faster than starting a thread. */
const mostWithoutThread = 16 * 1024;

export interface LongBodyTask {
  readonly schema: LongBodySchema;
  readonly body: Uint8Array;
}

/** The message of an `invalid` error, or the parsed value in parts. */
export type LongBodyAnswer = { readonly fault: string } | { readonly parts: readonly Part[] };

const bodies = new SerialQueue();

/** Resolves with the parsed value. Rejects with `invalid`. */
function readLongBody(task: LongBodyTask): Promise<unknown> {
  return bodies.run(() => readOnThread(task));
}

async function readOnThread(task: LongBodyTask): Promise<unknown> {
  const worker = new Worker(entryUrl('api/long-body-worker'), { workerData: task, name: 'body' });
  const answer = await new Promise<LongBodyAnswer>((resolve, reject) => {
    worker.once('message', resolve).once('error', reject);
    worker.once('exit', () => reject(new Error('the thread that reads a body has ended')));
  });
  if ('fault' in answer) throw new SoftquotaError('invalid', answer.fault);
  return workInSlices(joined(answer.parts));
}

type Path = readonly (string | number)[];

/** The document with empty lists in place of the long ones, or the next entries of the list at this path. */
interface Part {
  readonly path: Path;
  readonly text: string;
}

/** Length in characters above which a value is divided at its lists. */
const mostCharacters = 64 * 1024;

export function partsOf(whole: unknown): readonly Part[] {
  const parts: Part[] = [];
  const rest = withoutLongLists(whole, [], parts);
  return [{ path: [], text: JSON.stringify(rest) }, ...parts];
}

/**
 * Empties the long lists of a value, and adds their entries to `parts`. Entries of an outer list come before
 * those of the lists inside it.
 */
function withoutLongLists(value: unknown, path: Path, parts: Part[]): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (JSON.stringify(value).length <= mostCharacters) return value;
  if (!Array.isArray(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, field]) => [name, withoutLongLists(field, [...path, name], parts)]),
    );
  }
  const later: Part[] = [];
  let texts: string[] = [];
  let length = 0;
  const end = () => {
    parts.push({ path, text: `[${texts.join(',')}]` });
    [texts, length] = [[], 0];
  };
  for (const [index, entry] of value.entries()) {
    const text = JSON.stringify(withoutLongLists(entry, [...path, index], later));
    texts.push(text);
    length += text.length;
    if (length > mostCharacters) end();
  }
  end();
  for (const part of later) parts.push(part);
  return [];
}

/** Joins the parts that `partsOf` made. */
export function* joined(parts: Iterable<Part>): Work<unknown> {
  let whole: unknown;
  for (const { path, text } of parts) {
    const found: unknown = JSON.parse(text);
    // The path was taken from the same document, so each step exists.
    const list = path.reduce((at, step) => (at as Readonly<Record<string | number, unknown>>)[step], whole);
    if (path.length === 0) whole = found;
    else if (Array.isArray(list) && Array.isArray(found)) for (const entry of found) list.push(entry);
    yield;
  }
  return whole;
}
