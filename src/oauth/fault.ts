/** A failed sign-in: a code for the page, and a reason only for the log. */

import type { SignInFaultCode } from '../wire/index.ts';

/** Longest reason in the log, since texts from providers and browsers can be part of it. */
const longestReason = 2000;

export class SignInFault extends Error {
  override readonly name = 'SignInFault';
  readonly code: SignInFaultCode;

  constructor(code: SignInFaultCode, reason: string, cause?: unknown) {
    super(reason.slice(0, longestReason), { cause });
    this.code = code;
  }
}
