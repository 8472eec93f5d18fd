/** Reasons why a forge's database could not be read, each with its fix. */

import { messageOf } from '../errors.ts';

type ForgeFaultCode = 'configuration' | 'unreachable' | 'rights' | 'schema';

export class ForgeFault extends Error {
  override readonly name = 'ForgeFault';
  readonly code: ForgeFaultCode;
  /** A sentence or a command for the administrator. */
  readonly mend: string;

  constructor(
    code: ForgeFaultCode,
    message: string,
    mend: string,
    options: { readonly cause?: unknown } = {},
  ) {
    super(message, options);
    this.code = code;
    this.mend = mend;
  }
}

/** A fault as it is; else what nobody foresaw. */
export function forgeFaultOf(error: unknown, mend = 'see the log; it is tried again by itself'): ForgeFault {
  if (error instanceof ForgeFault) return error;
  return new ForgeFault('unreachable', messageOf(error), mend, { cause: error });
}
