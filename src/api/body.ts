/** Reading a request's body: JSON in UTF-8, no longer than its route takes, and nothing else. */

import type { Request } from 'express';
import { JsonFault, readExactJson } from '../bounded/index.ts';
import { SoftquotaError } from '../errors.ts';

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** Length of a body, at most, unless its route says otherwise. */
export const usualBytes = mebibyte;

/** Length of a body, at most, that is read before its sender is known. */
export const strangersBytes = 4 * kibibyte;

/** A document of which a value takes fewer bytes on average is none that anybody means. */
const leastBytesPerValue = 16;

/**
 * Resolves with the bytes of a body that is said to be JSON; none where there is no body at all. A body
 * that is too long is read to its end and forgotten, because a client that is cut off while it sends does
 * not listen. Rejects with `invalid` where it is not said to be JSON, with `body_too_large`, and with
 * `bad_parameter` where it breaks off.
 */
export async function sentBody(request: Request, mostBytes: number): Promise<Buffer> {
  if (request.headers['content-encoding'] !== undefined) {
    throw new SoftquotaError('invalid', 'body: expected JSON without Content-Encoding');
  }
  const chunks: Buffer[] = [];
  let length = 0;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const brokeOff = () => reject(new SoftquotaError('bad_parameter', 'body: it is incomplete'));
  request.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length <= mostBytes) chunks.push(chunk);
    else chunks.length = 0;
  });
  request.once('end', resolve);
  request.once('error', brokeOff);
  request.once('close', brokeOff);
  await promise;
  if (length > mostBytes) {
    throw new SoftquotaError('body_too_large', `body: expected at most ${shown(mostBytes)}`);
  }
  if (length > 0 && !isJson(request.headers['content-type'])) {
    throw new SoftquotaError('invalid', 'body: expected JSON, with Content-Type: application/json');
  }
  return Buffer.concat(chunks);
}

/**
 * Returns the document in a body of at most `mostBytes`; undefined where there is none. Throws `invalid`
 * where it is no JSON.
 */
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
