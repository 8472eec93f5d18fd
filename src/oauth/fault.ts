/** Why somebody was not signed in: a code for the page, and the reason for the log alone. */

import type { SignInFaultCode } from '../wire/index.ts';

/** Providers and browsers have a say in the reason, but not in how much there is to log. */
const longestReason = 2000;

export class SignInFault extends Error {
  override readonly name = 'SignInFault';
  readonly code: SignInFaultCode;

  constructor(code: SignInFaultCode, reason: string, cause?: unknown) {
    super(reason.slice(0, longestReason), { cause });
    this.code = code;
  }
}
