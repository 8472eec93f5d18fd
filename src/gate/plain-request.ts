/**
 * Reads the one form of request that hooks and upload handlers send, `GET /v1/check?…` without a body, and
 * writes its answer, byte by byte as `node:http` does.
 *
 * Strict: a request in any other form is null here, and `node:http` reads it. So nothing is understood in two
 * ways, and no fault has words of its own.
 */

import { STATUS_CODES } from 'node:http';
import type { Reply } from './answer.ts';
import { wantsText } from './request.ts';

export interface PlainRequest {
  readonly query: string;
  readonly wantsText: boolean;
  /** False: the client wants the connection closed behind the answer. */
  readonly keepsAlive: boolean;
  /** Where the next request begins. */
  readonly end: number;
}

type Headers = Pick<PlainRequest, 'wantsText' | 'keepsAlive'>;

const beginning = 'GET /v1/check?';
const version = ' HTTP/1.1\r\n';
/** Well below what `node:http` takes. */
const longestRequest = 8 * 1024;

/** No blank, no `#`, nothing beyond ASCII. */
const plainQuery = /^[!"$-~]*$/;
const plainHeader = /^([A-Za-z-]+): ?([ -~]*)$/;

/** A request that carries any other header is not plain. */
const knownHeaders = new Set([
  'host',
  'user-agent',
  'accept',
  'accept-encoding',
  'accept-language',
  'connection',
]);

/** Clients send the same headers each time: these are the last, one a line, and what they say. */
let lastLines = '';
let lastHeaders: Headers | null = null;

/** The request that begins there and has come whole; null: there is none, or it has another form. */
export function plainRequestAt(bytes: string, start: number): PlainRequest | null {
  if (!bytes.startsWith(beginning, start)) return null;
  const queryStart = start + beginning.length;
  const queryEnd = bytes.indexOf(version, queryStart);
  if (queryEnd === -1) return null;
  const linesStart = queryEnd + version.length;
  const linesEnd = bytes.indexOf('\r\n\r\n', linesStart);
  if (linesEnd === -1 || linesEnd - start > longestRequest) return null;
  const query = bytes.slice(queryStart, queryEnd);
  if (!plainQuery.test(query)) return null;
  const headers = headersIn(bytes.slice(linesStart, linesEnd));
  return headers && { query, ...headers, end: linesEnd + 4 };
}

function headersIn(lines: string): Headers | null {
  if (lines !== lastLines) {
    lastHeaders = parseHeaders(lines);
    lastLines = lines;
  }
  return lastHeaders;
}

function parseHeaders(lines: string): Headers | null {
  const found = new Map<string, string>();
  for (const line of lines.split('\r\n')) {
    const [, name = '', value = ''] = plainHeader.exec(line) ?? [];
    const key = name.toLowerCase();
    if (!knownHeaders.has(key) || found.has(key)) return null;
    found.set(key, value.trim());
  }
  const connection = (found.get('connection') ?? 'keep-alive').toLowerCase();
  if (!found.has('host') || (connection !== 'keep-alive' && connection !== 'close')) return null;
  return { wantsText: wantsText(found.get('accept')), keepsAlive: connection === 'keep-alive' };
}

/** An answer, but for the time and what becomes of the connection. */
export interface PlainAnswer {
  readonly head: string;
  readonly body: string;
}

export function plainAnswer(reply: Reply, isText: boolean): PlainAnswer {
  const body = isText ? reply.text() : JSON.stringify(reply.json());
  const decision = reply.decision === undefined ? '' : `X-Softquota-Decision: ${reply.decision}\r\n`;
  const head =
    `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status]}\r\n` +
    `Content-Type: ${isText ? 'text/plain; charset=utf-8' : 'application/json'}\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n${decision}Date: `;
  return { head, body };
}

/** The end of a head; `keptSeconds` as in the header Keep-Alive, null: the connection ends behind the answer. */
export function headEnd(keptSeconds: number | null): string {
  const kept = keptSeconds === null ? 'close' : `keep-alive\r\nKeep-Alive: timeout=${keptSeconds}`;
  return `\r\nConnection: ${kept}\r\n\r\n`;
}

/** The whole answer as it is sent now. */
export function answerNow({ head, body }: PlainAnswer, end: string): string {
  return head + httpDate() + end + body;
}

let dateSecond = 0;
let dateText = '';

/** The time to the second, written once a second. */
function httpDate(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateText = new Date(second * 1000).toUTCString();
  }
  return dateText;
}
