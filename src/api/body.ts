/** Reading a request's body: JSON in UTF-8, no longer than its route takes, and nothing else. */

import express, { type Request, type Response } from 'express';
import { SoftquotaError } from '../errors.ts';
import { exactNumber, JsonFault, readJsonInSlices } from '../json/index.ts';

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** How long a body may be, where its route says nothing else. */
export const usualBytes = mebibyte;

/** How long a body may be that is read before anybody is known to have sent it. */
export const strangersBytes = 4 * kibibyte;

/** A document of which a value takes fewer bytes on average is none that anybody means. */
const leastBytesPerValue = 16;

/**
 * The document; undefined where there is no body at all. Rejects with `invalid` where it is no JSON or not said to be, with
 * `body_too_large`, and with `bad_parameter` where it breaks off.
 */
export async function jsonOf(request: Request, response: Response, mostBytes: number): Promise<unknown> {
  if (request.headers['content-encoding'] !== undefined) {
    throw new SoftquotaError('invalid', 'body: expected JSON as it is, without Content-Encoding');
  }
  await collected(request, response, mostBytes);
  const body: unknown = request.body;
  if (!(body instanceof Buffer) || body.length === 0) return undefined;
  if (!isJson(request.headers['content-type'])) {
    throw new SoftquotaError('invalid', 'body: expected JSON, with Content-Type: application/json');
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    const mostValues = Math.floor(mostBytes / leastBytesPerValue);
    return await readJsonInSlices(text, { number: exactNumber, mostValues });
  } catch (cause) {
    throw new SoftquotaError('invalid', `body: expected one JSON document; ${whyNot(cause)}`, { cause });
  }
}

/** What is too long is read to its end all the same, and forgotten: who is cut off while sending does not listen. */
function collected(request: Request, response: Response, mostBytes: number): Promise<void> {
  // Takes any type: what it is, is looked at when the rest of the request has earned it.
  const collect = express.raw({ type: () => true, limit: mostBytes });
  return new Promise((resolve, reject) =>
    collect(request, response, (error?: unknown) => {
      if (error === undefined) resolve();
      else if (error instanceof Error && 'status' in error && error.status === 413) {
        reject(
          new SoftquotaError('body_too_large', `body: expected at most ${shown(mostBytes)}`, {
            cause: error,
          }),
        );
      } else reject(new SoftquotaError('bad_parameter', 'body: it breaks off', { cause: error }));
    }),
  );
}

function isJson(contentType: string | undefined): boolean {
  return /^application\/json *(?:; *charset="?utf-?8"? *)?$/i.test(contentType ?? '');
}

function shown(bytes: number): string {
  return bytes < mebibyte ? `${bytes / kibibyte} KiB` : `${bytes / mebibyte} MiB`;
}

function whyNot(error: unknown): string {
  return error instanceof JsonFault ? error.message : 'it is not UTF-8';
}
