/** Answers on a socket: JSON for programs, text for people, and errors in one shape. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { SoftquotaError } from '../errors.ts';
import { printable } from '../text/index.ts';
import { wantsText } from './request.ts';

export interface Reply {
  readonly status: number;
  /** Only one of the two is ever put into words. */
  readonly json: () => unknown;
  /** The lines to show a person instead. */
  readonly text: () => string;
  /** Set where something was decided, and nowhere else. */
  readonly decision?: 'allowed' | 'refused';
}

export function sendAnswer(request: IncomingMessage, response: ServerResponse, reply: Reply): void {
  if (response.headersSent) return;
  if (reply.status === 204) {
    response.writeHead(204).end();
    return;
  }
  const text = wantsText(request.headers.accept);
  const body = text ? reply.text() : JSON.stringify(reply.json());
  const headers = [
    'Content-Type',
    text ? 'text/plain; charset=utf-8' : 'application/json',
    'Content-Length',
    String(Buffer.byteLength(body)),
  ];
  if (reply.decision !== undefined) headers.push('X-Softquota-Decision', reply.decision);
  response.writeHead(reply.status, headers);
  response.end(request.method === 'HEAD' ? undefined : body);
}

/**
 * A fault as an answer, on one line and harmless on a terminal. What is none of ours is not told to the
 * asker; `unforeseen` gets it.
 */
export function faultReply(error: unknown, unforeseen: (error: unknown) => void): Reply {
  if (error instanceof SoftquotaError) {
    // It may quote what the asker sent.
    const message = printable(error.message);
    return { status: error.status, json: () => ({ code: error.code, message }), text: () => `${message}\n` };
  }
  unforeseen(error);
  const message = 'internal error; the log of the daemon has details';
  return { status: 500, json: () => ({ code: 'internal', message }), text: () => `${message}\n` };
}
