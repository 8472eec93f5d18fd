/** Answers to requests that cannot be fulfilled. */

import type { ServerResponse } from 'node:http';
import type { Request, Response } from 'express';
import { type ErrorCode, errorCatalog, SoftquotaError } from '../errors.ts';
import type { Rejection } from '../service/index.ts';
import type { Fault } from '../wire/index.ts';
import { AuthError } from './asker.ts';

export interface FaultServices {
  /** Ends with a slash. */
  baseUrl(): string;
  /** A mistake of ours. */
  unforeseen(error: unknown): void;
}

/** Answers with an error; its stack and cause stay secret. */
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
    // The faults of Express and its parsers carry the status that the asker earned, and words made for it.
    answer(error.status, error.status === 413 ? 'body_too_large' : 'malformed', error.message);
  } else {
    services.unforeseen(error);
    answer(500, 'internal', 'internal error; the log of the daemon has details');
  }
}

/** Answers where the modules of the API cannot be loaded: somebody replaced or removed them. */
export function answerUnloaded(response: ServerResponse, services: FaultServices): void {
  const message =
    'the files of softquota have changed since the daemon started: restart it; its log has details';
  response.writeHead(errorCatalog.not_ready.status, { 'Content-Type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(faultOf('not_ready', message, services)));
}

/** Makes the body of what is told on a connection on which nothing more can be understood. */
export function rejectionBody(services: FaultServices): (code: Rejection) => string {
  return code => JSON.stringify(faultOf(code, rejections[code], services));
}

const rejections: Readonly<Record<Rejection, string>> = {
  malformed: 'the request cannot be understood',
  request_timeout: 'the request did not arrive completely in time',
  headers_too_large: 'the address and the headers together are too long',
};

/** The fault of a method that an address does not take; the answer says which it takes. */
export function wrongMethod(
  { method }: Request,
  response: Response,
  allowed: readonly string[],
): SoftquotaError {
  const named = allowed.join(', ');
  response.set('Allow', named);
  return new SoftquotaError('wrong_method', `${method} is not allowed for this address; allowed: ${named}`);
}

/** A thousand times the same mistake helps nobody, and neither does a name that fills pages. */
const longestMessage = 16_384;

function faultOf(code: ErrorCode, text: string, { baseUrl }: FaultServices): Fault {
  const message =
    text.length <= longestMessage ? text : `${text.slice(0, longestMessage).toWellFormed()} … and so on`;
  return { message, code, url: `${baseUrl()}api/swagger` };
}
