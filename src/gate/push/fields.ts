/**
 * Reads the body of `POST /v1/push`: fields `NAME=VALUE`, each ended by NUL, an empty field, then git's lines.
 *
 * The hook writes the names, so a fault in them is the hook's (400). Whoever pushes may choose the values and
 * the lines: none of them is a fault. Bytes that are not UTF-8 stand as in layout's paths.
 */

import { createHash } from 'node:crypto';
import { badParameter } from '../../errors.ts';
import { decodePath } from '../../layout/index.ts';
import { printable } from '../../text/index.ts';

export type PushFields = ReadonlyMap<string, string>;

const hooks = ['pre-receive', 'post-receive', 'receive-pack'] as const;

export interface PushRequest {
  readonly hook: (typeof hooks)[number];
  readonly fields: PushFields;
  readonly lines: Buffer;
  /** git had more lines than were sent. */
  readonly isCut: boolean;
  /** A hash of the fields and lines. */
  readonly digest: string;
}

const longestFieldsBytes = 64 * 1024;
const longestPathBytes = 4095;
const longestLinesBytes = 1024 * 1024;
const mostFields = 200;

/** All that a body may have. */
export const longestPushBytes = longestFieldsBytes + 1 + longestLinesBytes;

/** Null: the fields are too long, as whoever pushes may have made them. Throws `bad_parameter`. */
export function readPush(body: Buffer): PushRequest | null {
  const fields = new Map<string, string>();
  let at = 0;
  for (;;) {
    const end = body.indexOf(0, at);
    if (at > longestFieldsBytes || (end === -1 && body.length > longestFieldsBytes)) return null;
    if (end === -1) throw badParameter('an empty field has to follow the fields');
    if (end === at) break;
    addField(fields, body.subarray(at, end));
    at = end + 1;
  }
  const hook = hooks.find(name => name === fields.get('hook'));
  if (hook === undefined) throw badParameter(`hook is none of ${hooks.join(', ')}`);
  const directory = fieldOf(fields, 'directory');
  if (!directory.startsWith('/')) throw badParameter('directory is not an absolute path');
  // The system takes no longer path.
  if (Buffer.byteLength(directory) > longestPathBytes) return null;
  const lines = body.subarray(at + 1);
  if (lines.length > longestLinesBytes)
    throw badParameter(`there are more than ${longestLinesBytes} bytes of lines`);
  const digest = createHash('sha256').update(body).digest('base64');
  return { hook, fields, lines, isCut: fields.get('more') === 'yes', digest };
}

/** The value of a field; empty where there is none. */
export function fieldOf(fields: PushFields, name: string): string {
  return fields.get(name) ?? '';
}

function addField(fields: Map<string, string>, bytes: Buffer): void {
  const end = bytes.indexOf('=');
  if (end < 1) throw badParameter('a field is not of the form NAME=VALUE');
  const name = bytes.toString('latin1', 0, end);
  if (fields.has(name)) throw badParameter(`${printable(name.slice(0, 80))} is given more than once`);
  if (fields.size === mostFields) throw badParameter(`there are more than ${mostFields} fields`);
  fields.set(name, decodePath(bytes.subarray(end + 1)));
}
