/** The errors of the client: a class for each reason, so that programs tell them apart with `instanceof`. */

import type { QuotaAnswer } from './answers.ts';

/** The quota refuses the upload. `message` is for the person who uploads. */
export class QuotaExceededError extends Error {
  override readonly name = 'QuotaExceededError';
  readonly answer: QuotaAnswer;

  constructor(answer: QuotaAnswer) {
    super(answer.message);
    this.answer = answer;
  }
}

/** The daemon did not answer in time, or its answer cannot be understood. Another try may succeed. */
export class QuotaUnavailableError extends Error {
  override readonly name = 'QuotaUnavailableError';
}

/** The daemon rejects the request, such as one with an unknown subject. Another try will fail, too. */
export class QuotaRequestError extends Error {
  override readonly name = 'QuotaRequestError';
  /** The HTTP status. */
  readonly status: number;
  /** A code of docs/errors.md, such as `unknown_path`; empty if the daemon named none. */
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}
