/** What is answered where a request cannot be done. */

import type { Duplex } from 'node:stream';
import type { Response } from 'express';
import { SoftquotaError, systemCode } from '../errors.ts';
import type { Fault } from '../wire/index.ts';
import { NotLetIn } from './access.ts';

export interface FaultServices {
  /** Ends with a slash. */
  baseUrl(): string;
  /** A mistake of ours. */
  unforeseen(error: unknown): void;
}

/** Nothing of an error's stack or cause gets out. */
export function answerFault(response: Response, error: unknown, services: FaultServices): void {
  const { status, message } = told(error, services);
  if (error instanceof NotLetIn) response.set(error.headers);
  response.status(status).json(faultOf(message, services));
}

/** Ends a connection on which nothing more can be understood, or nothing more came. */
export function sayGoodbye(error: Error, socket: Duplex, services: FaultServices): void {
  if (socket.writable) {
    const { status, message } = goodbyes[systemCode(error) ?? ''] ?? noHttp;
    const body = JSON.stringify(faultOf(message, services));
    socket.write(
      `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: application/json; charset=utf-8\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  }
  socket.destroy();
}

const noHttp = { status: '400 Bad Request', message: 'this is no request that can be understood' };

const goodbyes: Readonly<Record<string, typeof noHttp>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: '408 Request Timeout', message: 'the request did not come to its end' },
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    message: 'address and headers together are too long',
  },
};

/** A thousand times the same mistake helps nobody, and neither does a name that fills pages. */
const longestMessage = 16_384;

function faultOf(text: string, { baseUrl }: FaultServices): Fault {
  const message =
    text.length <= longestMessage ? text : `${text.slice(0, longestMessage).toWellFormed()} … and so on`;
  return { message, url: `${baseUrl()}api/swagger` };
}

function told(
  error: unknown,
  { unforeseen }: FaultServices,
): { readonly status: number; readonly message: string } {
  if (error instanceof SoftquotaError && error.code !== 'internal') {
    return { status: error.status, message: error.message };
  }
  // The faults of Express and its parsers carry the status that the asker earned, and words made for it.
  if (error instanceof Error && 'status' in error && typeof error.status === 'number' && error.status < 500) {
    return { status: error.status, message: error.message };
  }
  unforeseen(error);
  return { status: 500, message: 'softquota made a mistake; its log tells more' };
}
