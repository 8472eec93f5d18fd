/** What is answered where a request cannot be done. */

import type { Response } from 'express';
import { SoftquotaError } from '../errors.ts';
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
  const body: Fault = { message, url: `${services.baseUrl()}api/swagger` };
  response.status(status).json(body);
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
