/** `POST /v1/push`: reads the request and sends the answer, which is always text that the hook shows. */

import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { badParameter, SoftquotaError } from '../../errors.ts';
import { decodePath } from '../../layout/index.ts';
import { printable } from '../../text.ts';
import { type BodyRoom, faultReply } from '../request.ts';
import type { GateServices } from '../services.ts';

export const pushAddress = '/v1/push';

/** Answers; never rejects. */
export async function answerPush(
  { pushQuestions, unforeseen }: Pick<GateServices, 'pushQuestions' | 'unforeseen'>,
  room: BodyRoom,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    if (request.method !== 'POST') {
      response.setHeader('Allow', 'POST');
      request.resume();
      throw new SoftquotaError('wrong_method', `${pushAddress} takes POST`);
    }
    const { status, text } = await room.read(request, longestPushBytes, body => pushQuestions.answer(body));
    send(response, status, text);
  } catch (error) {
    const { status, text } = faultReply(error, unforeseen);
    send(response, status, `softquota: ${text()}`);
  }
}

function send(response: ServerResponse, status: number, text: string): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, [
    'Content-Type',
    'text/plain; charset=utf-8',
    'Content-Length',
    String(Buffer.byteLength(text)),
  ]);
  response.end(text);
}

export type PushFields = ReadonlyMap<string, string>;

const hooks = ['pre-receive', 'post-receive', 'receive-pack'] as const;

export interface PushRequest {
  readonly hook: (typeof hooks)[number];
  readonly fields: PushFields;
  readonly lines: Buffer;
  /** True if git had more lines than the hook sent. */
  readonly isCut: boolean;
  /** Hash of the fields and lines. */
  readonly digest: string;
}

const longestFieldsBytes = 64 * 1024;
const longestPathBytes = 4095;
const longestLinesBytes = 1024 * 1024;
const mostFields = 200;

/** Limit of the whole body. */
export const longestPushBytes = longestFieldsBytes + 1 + longestLinesBytes;

/**
 * Reads the body of `POST /v1/push`: fields `NAME=VALUE`, each ended by NUL, an empty field, and git's lines.
 * Returns null if the fields are too long, which a pusher may have caused.
 *
 * The hook writes the names, so a faulty name is the hook's fault (`bad_parameter`). The pusher may choose
 * values and lines, so none of these is an error. Bytes that are not UTF-8 are encoded as in paths of layout.
 */
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
  // The system accepts no longer path.
  if (Buffer.byteLength(directory) > longestPathBytes) return null;
  const lines = body.subarray(at + 1);
  if (lines.length > longestLinesBytes)
    throw badParameter(`there are more than ${longestLinesBytes} bytes of lines`);
  const digest = createHash('sha256').update(body).digest('base64');
  return { hook, fields, lines, isCut: fields.get('more') === 'yes', digest };
}

/** Returns the value of a field; empty if it is missing. */
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
