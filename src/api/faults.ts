/** Error answers. */

import type { ServerResponse } from 'node:http';
import type { Request, Response } from 'express';
import { type ErrorCode, errorCatalog, SoftquotaError } from '../errors.ts';
import type { Rejection } from '../service/index.ts';
import type { Fault } from '../wire/index.ts';
import { AuthError } from './asker.ts';
import type { ApiServices } from './services.ts';

type FaultServices = Pick<ApiServices, 'baseUrl' | 'unforeseen'>;

/** Sends an error as JSON, without its stack and cause. */
export function answerFault(response: Response, error: unknown, services: FaultServices): void {
  const answer = (status: number, code: ErrorCode, message: string) =>
    response.status(status).json(faultOf(code, message, services));
  if (error instanceof AuthError) response.set(error.headers);
  if (error instanceof SoftquotaError && error.code !== 'internal') {
    answer(error.status, error.code, error.message);
  } else if (
    error instanceof Error &&
    'status' in error &&
    typeof error.status === 'number' &&
    error.status < 500
  ) {
    // Errors of Express and its parsers carry a status, and a message for the client.
    answer(error.status, error.status === 413 ? 'body_too_large' : 'malformed', error.message);
  } else {
    services.unforeseen(error);
    answer(500, 'internal', 'internal error; the log of the daemon has details');
  }
}

/**
 * Answers if the modules of the API cannot be loaded, because the installed files were replaced or removed.
 */
export function answerUnloaded(response: ServerResponse, services: FaultServices): void {
  const message =
    'the files of softquota have changed since the daemon started: restart it; its log has details';
  response.writeHead(errorCatalog.not_ready.status, { 'Content-Type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(faultOf('not_ready', message, services)));
}

/** Makes the body for a connection that is closed because its request cannot be parsed. */
export function rejectionBody(services: FaultServices): (code: Rejection) => string {
  return code => JSON.stringify(faultOf(code, rejections[code], services));
}

const rejections: Readonly<Record<Rejection, string>> = {
  malformed: 'the request cannot be understood',
  request_timeout: 'the request did not arrive completely in time',
  headers_too_large: 'the address and the headers together are too long',
};

/** Makes the error for a method that the address does not support, and sets the header `Allow`. */
export function wrongMethod(
  { method }: Request,
  response: Response,
  allowed: readonly string[],
): SoftquotaError {
  const named = allowed.join(', ');
  response.set('Allow', named);
  return new SoftquotaError('wrong_method', `${method} is not allowed for this address; allowed: ${named}`);
}

/** Limits a message, in characters: many repeated errors or a very long name do not help the reader. */
const longestMessage = 16_384;

function faultOf(code: ErrorCode, text: string, { baseUrl }: FaultServices): Fault {
  const message =
    text.length <= longestMessage ? text : `${text.slice(0, longestMessage).toWellFormed()} … and so on`;
  return { message, code, url: `${baseUrl()}api/swagger` };
}
