/** Reads a request's body, JSON in UTF-8 within its route's bound, and checks each part by its schema. */

import type { Request } from 'express';
import type { z } from 'zod';
import { JsonFault, readExactJson } from '../bounded/index.ts';
import { FaultList, SoftquotaError } from '../errors.ts';
import { printable } from '../text.ts';

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** Limit of a body in bytes, unless the route has a long body, or checks no caller first. */
export const usualBytes = mebibyte;

/**
 * Limit of a long body in bytes, enough for several hundred thousand owners. Only administrators send one.
 */
export const longBytes = 16 * mebibyte;

/** Limit of a body in bytes on routes that check no caller first. */
export const strangersBytes = 4 * kibibyte;

/** A document with fewer bytes per value on average is refused: it only costs memory. */
const leastBytesPerValue = 16;

/**
 * Resolves with the bytes of the JSON body, or with none if there is no body. A body that is too long is read
 * to its end and discarded, because a client does not read the answer while it sends. Rejects with `invalid`
 * if the content type is not JSON, with `body_too_large`, and with `bad_parameter` if the body is incomplete.
 */
export async function sentBody(request: Request, mostBytes: number): Promise<Buffer> {
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

/**
 * Checks the parts of a request against their schemas. Throws `invalid`, which names the first faults of all
 * parts with their fields, and the number of further faults.
 */
export function parsed<Schemas extends Readonly<Record<string, z.ZodType>>>(
  schemas: Schemas,
  input: Readonly<Record<keyof Schemas, unknown>>,
): { [Part in keyof Schemas]: z.output<Schemas[Part]> };
export function parsed(
  schemas: Readonly<Record<string, z.ZodType>>,
  input: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const faults = new FaultList();
  const parts: [string, unknown][] = [];
  for (const [part, schema] of Object.entries(schemas)) {
    const result = schema.safeParse(input[part], { error: wordsOf });
    if (result.success) parts.push([part, result.data]);
    for (const { path, message } of result.error?.issues ?? []) {
      faults.add(() => `${path.length === 0 ? part : path.map(String).join('.')}: ${message}`);
    }
  }
  if (!faults.isEmpty) throw new SoftquotaError('invalid', printable(faults.toString()));
  return Object.fromEntries(parts);
}

/** Words faults for which a schema has no message. */
function wordsOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'invalid_type') {
    const wanted = `expected ${articles[issue.expected] ?? `a ${issue.expected}`}`;
    return issue.input === undefined ? `it is missing, ${wanted}` : wanted;
  }
  if (issue.code === 'invalid_value') return `expected one of ${issue.values.map(String).join(', ')}`;
  if (issue.code === 'unrecognized_keys') return unknownFields(issue.keys);
  const unit = issue.code === 'too_big' ? units[issue.origin] : undefined;
  return issue.code === 'too_big' && unit !== undefined
    ? `expected at most ${issue.maximum} ${unit}`
    : undefined;
}

const units: Readonly<Record<string, string>> = { array: 'entries', string: 'characters' };

const mostNamed = 5;
const longestNamed = 100;

function unknownFields(names: readonly string[]): string {
  const named = names.slice(0, mostNamed).map(name => name.slice(0, longestNamed));
  const more = names.length - named.length;
  return `there is no ${named.join(', ')}${more > 0 ? `, and no ${more} others` : ''}`;
}

const articles: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  object: 'an object',
};

/** Returns the undecoded query with its `?`; empty if there is none. */
export function queryOf(url: string): string {
  const start = url.indexOf('?');
  return start === -1 ? '' : url.slice(start);
}
