/** Why somebody was not signed in: a code for the page, and the reason for the log alone. */

import type { SignInFaultCode } from '../wire/index.ts';

export class SignInFault extends Error {
  override readonly name = 'SignInFault';
  readonly code: SignInFaultCode;

  constructor(code: SignInFaultCode, reason: string, cause?: unknown) {
    super(reason, { cause });
    this.code = code;
  }
}
