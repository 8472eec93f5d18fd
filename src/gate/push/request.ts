/**
 * `POST /v1/push`: reads the request and sends the answer, which is always text that the hook shows.
 *
 * Also reads git's lines `OLD NEW REF`: the refs that a push creates, updates and deletes, and folders that
 * git would take for repositories because of these refs.
 */

import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { badParameter, SoftquotaError } from '../../errors.ts';
import { decodePath } from '../../layout/index.ts';
import { printable } from '../../text.ts';
import type { Work } from '../../turns.ts';
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
const longestPushBytes = longestFieldsBytes + 1 + longestLinesBytes;

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

export interface RefChanges {
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
  /** Sum of the lengths of all created names. */
  readonly createdCharacters: number;
  /** True if a created name has more than ten levels. */
  readonly isNested: boolean;
  /** A written name with more than 50 levels; null if there is none. */
  readonly tooDeep: string | null;
  /** True if there are lines and all refs are `refs/pull/NUMBER/head`. */
  readonly arePulls: boolean;
  /** Hexadecimal digits of an object name. */
  readonly hashLength: number;
  readonly folders: Folders;
}

const mostLevels = 50;
const nestedLevels = 10;
/** Number of lines between two possible pauses. */
const restEvery = 32;

/** git sends no longer line. */
const longestLineBytes = 65_520;

/** Decodes the lines. Bytes that are not UTF-8 are encoded as in paths of layout. */
export function* linesText(bytes: Buffer): Work<string> {
  if (isUtf8(bytes)) return bytes.toString();
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf('\n', at);
    const line = bytes.subarray(at, end === -1 ? bytes.length : end);
    at += line.length + 1;
    lines.push(line.length > longestLineBytes ? line.toString('latin1') : decodePath(line));
    yield;
  }
  return `${lines.join('\n')}\n`;
}

const pull = /^refs\/pull\/\d+\/head$/;
const zeros = /^0+$/;

/** Counts a malformed line as an update, so that it lets nothing pass. */
export function* readChanges(lines: string): Work<RefChanges> {
  let created = 0;
  let updated = 0;
  let deleted = 0;
  let createdCharacters = 0;
  let isNested = false;
  let tooDeep: string | null = null;
  let arePulls = true;
  let hashLength = 40;
  const folders = new Folders();
  for (let at = 0, read = 1; at < lines.length; read++) {
    const end = lines.indexOf('\n', at);
    const line = lines.slice(at, end === -1 ? lines.length : end);
    at += line.length + 1;
    if (read % restEvery === 0) yield;
    const middle = line.indexOf(' ');
    const last = line.indexOf(' ', middle + 1);
    const before = line.slice(0, Math.max(middle, 0));
    const after = line.slice(middle + 1, Math.max(last, middle + 1));
    const name = line.slice(last + 1);
    arePulls &&= pull.test(name);
    if (zeros.test(after)) {
      deleted++;
      continue;
    }
    hashLength = Math.max(hashLength, Math.min(after.length, 64));
    const levels = levelsOf(name);
    if (levels > mostLevels) tooDeep ??= name;
    else folders.add(name);
    if (!zeros.test(before)) {
      updated++;
      continue;
    }
    created++;
    createdCharacters += name.length;
    isNested ||= levels > nestedLevels;
  }
  arePulls &&= created + updated + deleted > 0;
  return { created, updated, deleted, createdCharacters, isNested, tooDeep, arePulls, hashLength, folders };
}

/** Counts the levels of a name, but not further than the limit. */
function levelsOf(name: string): number {
  let levels = 1;
  for (let at = name.indexOf('/'); at !== -1 && levels <= mostLevels; at = name.indexOf('/', at + 1))
    levels++;
  return levels;
}

/** An honest push does not have more such folders. */
const mostFolders = 1000;

const telling = /\/(?:HEAD$|commondir$|objects\/|refs\/)/;
const parts = ['HEAD', 'objects', 'commondir'] as const;

/**
 * Finds refs that would make git take a folder of the repository for a repository without hooks: `x/HEAD`,
 * `x/objects/a` and `x/refs/a` do so with `refs/heads/x`. A folder is one if it contains HEAD, and `objects`
 * or `commondir`.
 */
class Folders {
  /** For each folder, the names that the push itself writes in it. */
  readonly #folders = new Map<string, Set<string>>();
  #areTooMany = false;

  /** Notes the name of a ref that is written. */
  add(name: string): void {
    // Nearly all names fail this fast test.
    if (!telling.test(name)) return;
    for (let at = name.indexOf('/'); at !== -1; ) {
      const end = name.indexOf('/', at + 1);
      const level = name.slice(at + 1, end === -1 ? name.length : end);
      const tells =
        end === -1 ? level === 'HEAD' || level === 'commondir' : level === 'objects' || level === 'refs';
      if (tells) this.#note(name.slice(0, at), level);
      at = end;
    }
  }

  get areTooMany(): boolean {
    return this.#areTooMany;
  }

  /** Paths that the push itself writes. */
  get written(): readonly string[] {
    return this.#names(true);
  }

  /** Paths to look for in the repository. */
  get wanted(): readonly string[] {
    return this.#names(false);
  }

  /** Returns a folder that becomes a repository together with these existing paths; null if there is none. */
  repositoryWith(existing: readonly string[]): string | null {
    const there = new Set(existing);
    for (const [folder, own] of this.#folders) {
      const has = (part: string) => own.has(part) || there.has(`${folder}/${part}`);
      if (has('HEAD') && (has('objects') || has('commondir'))) return folder;
    }
    return null;
  }

  #names(isOwn: boolean): readonly string[] {
    return [...this.#folders].flatMap(([folder, own]) =>
      parts.filter(part => own.has(part) === isOwn).map(part => `${folder}/${part}`),
    );
  }

  #note(folder: string, part: string): void {
    const known = this.#folders.get(folder);
    if (known !== undefined) known.add(part);
    else if (this.#folders.size < mostFolders) this.#folders.set(folder, new Set([part]));
    else this.#areTooMany = true;
  }
}
