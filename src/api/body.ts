/** Reading a request's body: JSON in UTF-8, no longer than its route takes, and nothing else. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Request } from 'express';
import { exactNumber, JsonFault, readJsonInSlices } from '../bounded/index.ts';
import { SoftquotaError } from '../errors.ts';

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** How long a body may be, where its route says nothing else. */
export const usualBytes = mebibyte;

/** How long a body may be that is read before anybody is known to have sent it. */
export const strangersBytes = 4 * kibibyte;

/** So much of a body is taken in before others get their turn: what has come would else be read on and on. */
const bytesAtOnce = 256 * kibibyte;

/** A document of which a value takes fewer bytes on average is none that anybody means. */
const leastBytesPerValue = 16;

/**
 * The document; undefined where there is no body at all. Rejects with `invalid` where it is no JSON or not
 * said to be, with `body_too_large`, and with `bad_parameter` where it breaks off.
 */
export async function jsonOf(request: Request, mostBytes: number): Promise<unknown> {
  if (request.headers['content-encoding'] !== undefined) {
    throw new SoftquotaError('invalid', 'body: expected JSON without Content-Encoding');
  }
  const text = await textOf(request, mostBytes);
  if (text === '') return undefined;
  if (!isJson(request.headers['content-type'])) {
    throw new SoftquotaError('invalid', 'body: expected JSON, with Content-Type: application/json');
  }
  if (text === null) throw noDocument('it is not UTF-8');
  try {
    const mostValues = Math.floor(mostBytes / leastBytesPerValue);
    return await readJsonInSlices(text, { number: exactNumber, mostValues });
  } catch (cause) {
    throw cause instanceof JsonFault ? noDocument(cause.message, cause) : cause;
  }
}

/**
 * The text of the body; null where it is no UTF-8. It is decoded as it comes: a long one would take long at
 * once. What is too long is read to its end all the same, and forgotten: who is cut off while sending does
 * not listen.
 */
async function textOf(request: Request, mostBytes: number): Promise<string | null> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const pieces: string[] = [];
  let length = 0;
  let isText = true;
  let inThisTurn = 0;
  const decode = (chunk?: Buffer) => {
    if (!isText) return;
    try {
      pieces.push(decoder.decode(chunk, { stream: chunk !== undefined }));
    } catch {
      isText = false;
    }
  };
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const brokeOff = () => reject(new SoftquotaError('bad_parameter', 'body: it is incomplete'));
  request.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (length > mostBytes) pieces.length = 0;
    else decode(chunk);
    inThisTurn += chunk.length;
    if (inThisTurn < bytesAtOnce) return;
    inThisTurn = 0;
    request.pause();
    setImmediate(() => request.resume());
  });
  request.once('end', resolve);
  request.once('error', brokeOff);
  request.once('close', brokeOff);
  await promise;
  if (length > mostBytes) {
    throw new SoftquotaError('body_too_large', `body: expected at most ${shown(mostBytes)}`);
  }
  decode();
  if (!isText) return null;
  if (pieces.length > 1) await nextTurn();
  return pieces.join('');
}

function isJson(contentType: string | undefined): boolean {
  return /^application\/json *(?:; *charset="?utf-?8"? *)?$/i.test(contentType ?? '');
}

function shown(bytes: number): string {
  return bytes < mebibyte ? `${bytes / kibibyte} KiB` : `${bytes / mebibyte} MiB`;
}

function noDocument(why: string, cause?: unknown): SoftquotaError {
  return new SoftquotaError('invalid', `body: expected one JSON document; ${why}`, { cause });
}
