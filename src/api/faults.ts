/** Answers to requests that cannot be fulfilled. */

import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Response } from 'express';
import { type ErrorCode, errorCatalog, SoftquotaError, systemCode } from '../errors.ts';
import type { Fault } from '../wire/index.ts';
import { AuthError } from './access.ts';

export interface FaultServices {
  /** Ends with a slash. */
  baseUrl(): string;
  /** A mistake of ours. */
  unforeseen(error: unknown): void;
}

/** Answers with an error; its stack and cause stay secret. */
export function answerFault(response: Response, error: unknown, services: FaultServices): void {
  const { status, code, message } = faultAnswerTo(error, services);
  if (error instanceof AuthError) response.set(error.headers);
  response.status(status).json(faultOf(code, message, services));
}

/** Answers where the modules of the API cannot be loaded: somebody replaced or removed them. */
export function answerUnloaded(response: ServerResponse, services: FaultServices): void {
  const message =
    'the files of softquota have changed since the daemon started: restart it; its log has details';
  response.writeHead(errorCatalog.not_ready.status, { 'Content-Type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(faultOf('not_ready', message, services)));
}

/** Answers and closes a connection whose request is malformed, or did not arrive in time. */
export function rejectConnection(error: Error, socket: Duplex, services: FaultServices): void {
  if (socket.writable) {
    const { code, message } = rejections[systemCode(error) ?? ''] ?? noHttp;
    const { status } = errorCatalog[code];
    const body = JSON.stringify(faultOf(code, message, services));
    socket.write(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: application/json; charset=utf-8\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  }
  socket.destroy();
}

interface Rejection {
  readonly code: ErrorCode;
  readonly message: string;
}

const noHttp: Rejection = { code: 'malformed', message: 'the request cannot be understood' };

const rejections: Readonly<Record<string, Rejection>> = {
  ERR_HTTP_REQUEST_TIMEOUT: {
    code: 'request_timeout',
    message: 'the request did not arrive completely in time',
  },
  HPE_HEADER_OVERFLOW: {
    code: 'headers_too_large',
    message: 'the address and the headers together are too long',
  },
};

/** A thousand times the same mistake helps nobody, and neither does a name that fills pages. */
const longestMessage = 16_384;

function faultOf(code: ErrorCode, text: string, { baseUrl }: FaultServices): Fault {
  const message =
    text.length <= longestMessage ? text : `${text.slice(0, longestMessage).toWellFormed()} … and so on`;
  return { message, code, url: `${baseUrl()}api/swagger` };
}

interface FaultAnswer {
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
}

function faultAnswerTo(error: unknown, { unforeseen }: FaultServices): FaultAnswer {
  if (error instanceof SoftquotaError && error.code !== 'internal') {
    return { status: error.status, code: error.code, message: error.message };
  }
  // The faults of Express and its parsers carry the status that the asker earned, and words made for it.
  if (error instanceof Error && 'status' in error && typeof error.status === 'number' && error.status < 500) {
    const code = error.status === 413 ? 'body_too_large' : 'malformed';
    return { status: error.status, code, message: error.message };
  }
  unforeseen(error);
  return { status: 500, code: 'internal', message: 'internal error; the log of the daemon has details' };
}
