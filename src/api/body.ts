/** Reading a request's body: JSON in UTF-8, at most 1 MiB, and nothing else. */

import express, { type Request, type Response } from 'express';
import { SoftquotaError } from '../errors.ts';
import { parseExactly } from './exact-json.ts';

const mostBytes = 1024 * 1024;

/** Takes any type: what it is, is looked at when the rest of the request has earned it. */
const collect = express.raw({ type: () => true, limit: mostBytes });

/**
 * The document; undefined where there is no body at all. Rejects with `invalid` where it is no JSON or not said to be, and
 * with a fault of status 413 where it is too long.
 */
export async function jsonOf(request: Request, response: Response): Promise<unknown> {
  await new Promise<void>((resolve, reject) =>
    collect(request, response, (error?: unknown) => (error === undefined ? resolve() : reject(error))),
  );
  const body: unknown = request.body;
  if (!(body instanceof Buffer) || body.length === 0) return undefined;
  if (!isJson(request.headers['content-type'])) {
    throw new SoftquotaError('invalid', 'body: expected JSON, with Content-Type: application/json');
  }
  try {
    return parseExactly(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (cause) {
    throw new SoftquotaError('invalid', `body: expected one JSON document; ${whyNot(cause)}`, { cause });
  }
}

function isJson(contentType: string | undefined): boolean {
  return /^application\/json *(?:; *charset="?utf-?8"? *)?$/i.test(contentType ?? '');
}

/** An error's own words would show the text, which may hold a secret. */
function whyNot(error: unknown): string {
  if (error instanceof RangeError) return 'it is nested too deeply';
  if (error instanceof SyntaxError) return 'it has a mistake, is cut short, or has more text after it';
  return 'it is not UTF-8';
}
