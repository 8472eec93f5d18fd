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

/** An answer as it is sent on a connection that is kept, but for the time. */
export interface PlainAnswer {
  readonly bytes: Buffer;
  /** Where the time stands in it. */
  readonly dateAt: number;
  readonly bodyAt: number;
  /** The second whose time it has. */
  second: number;
}

/** `keptEnd` ends the head. */
export function plainAnswer(reply: Reply, isText: boolean, keptEnd: string): PlainAnswer {
  const body = isText ? reply.text() : JSON.stringify(reply.json());
  const decision = reply.decision === undefined ? '' : `X-Softquota-Decision: ${reply.decision}\r\n`;
  const head =
    `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status]}\r\n` +
    `Content-Type: ${isText ? 'text/plain; charset=utf-8' : 'application/json'}\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n${decision}Date: `;
  const wholeHead = `${head}${' '.repeat(dateLength)}${keptEnd}`;
  return {
    bytes: Buffer.from(wholeHead + body),
    dateAt: head.length,
    bodyAt: wholeHead.length,
    second: -1,
  };
}

/**
 * The end of a head; `keptSeconds` as in the header Keep-Alive, null: the connection ends behind the answer.
 */
export function headEnd(keptSeconds: number | null): string {
  const kept = keptSeconds === null ? 'close' : `keep-alive\r\nKeep-Alive: timeout=${keptSeconds}`;
  return `\r\nConnection: ${kept}\r\n\r\n`;
}

/**
 * The whole answer as it is sent now. Its bytes are the same each time but for the time: where some of them
 * still wait to be sent, they get that of now.
 */
export function answerNow(answer: PlainAnswer): Buffer {
  const second = Math.floor(Date.now() / 1000);
  if (answer.second !== second) {
    answer.bytes.set(httpDate(second), answer.dateAt);
    answer.second = second;
  }
  return answer.bytes;
}

const closedEnd = Buffer.from(headEnd(null));

/** The same for a connection that ends behind it. */
export function lastAnswerNow(answer: PlainAnswer): Buffer {
  const { dateAt, bodyAt } = answer;
  const bytes = answerNow(answer);
  return Buffer.concat([bytes.subarray(0, dateAt + dateLength), closedEnd, bytes.subarray(bodyAt)]);
}

const dateLength = 'Sun, 22 Nov 2026 20:00:00 GMT'.length;
let dateSecond = 0;
let dateBytes = Buffer.alloc(dateLength);

/** The time to the second, written once a second. */
function httpDate(second: number): Buffer {
  if (second !== dateSecond) {
    dateSecond = second;
    dateBytes = Buffer.from(new Date(second * 1000).toUTCString(), 'latin1');
  }
  return dateBytes;
}
