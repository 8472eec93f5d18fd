/** Why a question to the daemon had no answer that can be used. */

export type Fault =
  /** Nobody answered, or only a proxy. */
  | { readonly is: 'unreachable' }
  /** The session has expired, or there was none. */
  | { readonly is: 'signed-out' }
  /** The daemon's own words; statuses as in its description. */
  | { readonly is: 'refused'; readonly status: number; readonly message: string };

export class AskFailed extends Error {
  override readonly name = 'AskFailed';
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(wordsOf(fault));
    this.fault = fault;
  }
}

/** The fault behind whatever was thrown; a mistake of the page's own reads as a refusal with status 0. */
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

/** The daemon's messages begin small and end without a stop, as they stand behind a colon on a terminal. */
function sentence(message: string): string {
  const begun = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}
