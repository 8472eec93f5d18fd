/** Reason why a request had no usable answer. */

export type Fault =
  /** The daemon did not answer, or only a proxy did. */
  | { readonly is: 'unreachable' }
  /** The session has expired, or there was none. */
  | { readonly is: 'signed-out' }
  /** The daemon's error message, and the HTTP status. */
  | { readonly is: 'refused'; readonly status: number; readonly message: string };

export class AskFailed extends Error {
  override readonly name = 'AskFailed';
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(wordsOf(fault));
    this.fault = fault;
  }
}

/** Returns the fault behind an error; an error of the page itself becomes a refusal with status 0. */
export function faultOf(error: unknown): Fault {
  if (error instanceof AskFailed) return error.fault;
  return { is: 'refused', status: 0, message: error instanceof Error ? error.message : String(error) };
}

export function wordsOf(fault: Fault): string {
  switch (fault.is) {
    case 'unreachable':
      return 'The daemon does not answer.';
    case 'signed-out':
      return 'You are signed out.';
    case 'refused':
      return sentence(fault.message);
  }
}

/**
 * Makes a sentence of a message. The daemon's messages begin in lower case and have no full stop, as usual in
 * a terminal.
 */
function sentence(message: string): string {
  const begun = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}
