/**
 * Every fault that softquota names to a person or a program: a code, the HTTP status the
 * sockets answer with, and the exit code the commands end with.
 *
 * The message says what is wrong, where, and what is expected. Details that would help an attacker go into
 * `cause`, which only the log shows.
 */

export const exitCodes = {
  done: 0,
  refused: 1,
  usage: 2,
  unreachable: 69,
  internal: 70,
  inputOutput: 74,
  notPermitted: 77,
  configuration: 78,
} as const;

const catalog = {
  unauthenticated: {
    status: 401,
    exit: exitCodes.notPermitted,
    meaning: 'No credentials were sent, or they are unknown or expired.',
    fix: 'Send a valid token (`softquota token create`), or sign in again.',
  },
  slowed: {
    status: 429,
    exit: exitCodes.notPermitted,
    meaning: 'Too many wrong credentials came from this address.',
    fix: 'Wait for as many seconds as `Retry-After` says.',
  },
  too_often: {
    status: 429,
    exit: exitCodes.unreachable,
    meaning: 'This was reported or asked for a moment ago, and is accepted at a limited rate.',
    fix: 'Send it again later.',
  },
  too_many_reservations: {
    status: 429,
    exit: exitCodes.unreachable,
    meaning: 'This owner, or all owners together, have as many reservations as there can be.',
    fix: 'Release those that are over (`DELETE /v1/reservations/ID`), or try again when their time has ended.',
  },
  unknown_reservation: {
    status: 404,
    exit: exitCodes.refused,
    meaning: 'There is no reservation with this id, or it is over.',
    fix: 'Take a new one (`POST /v1/reservations`), and renew it before its time ends.',
  },
  bad_parameter: {
    status: 400,
    exit: exitCodes.usage,
    meaning: 'A parameter of the request is missing or has a wrong value.',
    fix: 'Correct the parameter that the message names.',
  },
  malformed: {
    status: 400,
    exit: exitCodes.usage,
    meaning: 'The request is no HTTP, or its body is no JSON.',
    fix: 'Correct the client.',
  },
  request_timeout: {
    status: 408,
    exit: exitCodes.unreachable,
    meaning: 'The request did not arrive completely in time.',
    fix: 'Send it again.',
  },
  headers_too_large: {
    status: 431,
    exit: exitCodes.usage,
    meaning: 'The address and the headers together are too long.',
    fix: 'Shorten them.',
  },
  too_large: {
    status: 400,
    exit: exitCodes.usage,
    meaning:
      'The body of a request to the gate, or the set of a source, is over its limit (413 is a refusal there, and nothing else).',
    fix: 'Send less at once.',
  },
  body_too_large: {
    status: 413,
    exit: exitCodes.usage,
    meaning: 'The body of a request to the API is over its limit.',
    fix: 'Send less at once; [api.md](api.md) names the limits.',
  },
  unknown_path: {
    status: 404,
    exit: exitCodes.refused,
    meaning: 'The path lies under no storage template.',
    fix: 'Ask for a path inside a unit, or add a template to `[storage.*] PATH`.',
  },
  no_owner: {
    status: 404,
    exit: exitCodes.refused,
    meaning: 'The unit of the path has no owner.',
    fix: '`softquota doctor` says what was looked for.',
  },
  not_found: {
    status: 404,
    exit: exitCodes.refused,
    meaning: 'What the address or the command names does not exist.',
    fix: 'Check the spelling.',
  },
  already_in: {
    status: 409,
    exit: exitCodes.done,
    meaning: 'The group has this rule or this member already. Nothing was changed.',
    fix: 'Nothing is left to do.',
  },
  already_out: {
    status: 404,
    exit: exitCodes.done,
    meaning: 'The group, or the organization, does not have what is to be removed. Nothing was changed.',
    fix: 'Nothing is left to do; if you expected it there, check the spelling.',
  },
  wrong_method: {
    status: 405,
    exit: exitCodes.usage,
    meaning: 'The address exists, but does not take this method.',
    fix: 'Use a method that `Allow` names.',
  },
  not_trusted: {
    status: 403,
    exit: exitCodes.notPermitted,
    meaning: 'Only trusted programs may say this.',
    fix: 'Use `[server] TRUSTED_SOCKET`.',
  },
  conflict: {
    status: 409,
    exit: exitCodes.refused,
    meaning: 'The request contradicts what exists, such as a name that is taken.',
    fix: 'Read the current state, then decide.',
  },
  invalid: {
    status: 422,
    exit: exitCodes.usage,
    meaning: 'The request is well-formed, but a value cannot be accepted.',
    fix: 'Correct the fields that the message names.',
  },
  not_ready: {
    status: 503,
    exit: exitCodes.unreachable,
    meaning: 'Policy or usage was never loaded, or the disk did not answer in time.',
    fix: 'Try again; `softquota doctor` names the cause.',
  },
  busy: {
    status: 503,
    exit: exitCodes.unreachable,
    meaning: 'Too many requests do the same thing at the moment.',
    fix: 'Try again.',
  },
  store_away: {
    status: 503,
    exit: exitCodes.unreachable,
    meaning: 'The store cannot write at the moment. Nothing was changed, unless the message says otherwise.',
    fix: 'Try again; `softquota doctor` names the cause, such as a full disk.',
  },
  store_refused: {
    status: 503,
    exit: exitCodes.configuration,
    meaning: 'The store is damaged, of a newer version, or used by another daemon.',
    fix: 'Follow the message; [backup.md](backup.md) says how to restore.',
  },
  sum_too_large: {
    status: 422,
    exit: exitCodes.internal,
    meaning: 'A sum would exceed 2^53 - 1 bytes.',
    fix: 'Correct the figure that was reported.',
  },
  configuration: {
    status: 500,
    exit: exitCodes.configuration,
    meaning: 'app.ini, the environment, or something that they name cannot be used.',
    fix: 'Correct the key that the message names.',
  },
  usage: {
    status: 400,
    exit: exitCodes.usage,
    meaning: 'The command line cannot be understood.',
    fix: '`softquota COMMAND --help` shows the usage.',
  },
  unreachable: {
    status: 503,
    exit: exitCodes.unreachable,
    meaning: 'No daemon answers.',
    fix: "Start it (`softquota serve`), or check the socket's path.",
  },
  input_output: {
    status: 500,
    exit: exitCodes.inputOutput,
    meaning: 'A file or the output cannot be read or written.',
    fix: 'Make room, or correct the path.',
  },
  not_permitted: {
    status: 403,
    exit: exitCodes.notPermitted,
    meaning:
      'The operating system, or the scopes of the token, do not allow this, or another administrator has to do it.',
    fix: "Run it as the daemon's user or as root, use a token with the scopes, or ask another administrator.",
  },
  internal: {
    status: 500,
    exit: exitCodes.internal,
    meaning: 'An error in softquota itself.',
    fix: 'Report it, with the log.',
  },
} as const;

export type ErrorCode = keyof typeof catalog;

/** Texts of docs/errors.md for each code; `fix` is Markdown. */
export const errorCatalog: Readonly<
  Record<
    ErrorCode,
    { readonly status: number; readonly exit: number; readonly meaning: string; readonly fix: string }
  >
> = catalog;

export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(catalog, code);
}

/** A fault with a code of the catalog. Anything else that is thrown is a bug. */
export class SoftquotaError extends Error {
  override readonly name = 'SoftquotaError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }

  get status(): number {
    return catalog[this.code].status;
  }

  get exitCode(): number {
    return catalog[this.code].exit;
  }
}

export function badParameter(message: string, options?: { readonly cause: unknown }): SoftquotaError {
  return new SoftquotaError('bad_parameter', message, options);
}

/** The system's error code of a thrown value (`ENOENT`, `EACCES` ...), or null. */
export function systemCode(error: unknown): string | null {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return null;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Bounds of a message, which would otherwise name a thousand faults, or repeat a name that fills pages. */
const mostFaultsTold = 20;
const longestFault = 500;

function shortened(text: string): string {
  return text.length <= longestFault ? text : `${text.slice(0, longestFault).toWellFormed()} … and so on`;
}

/** Collects faults of untrusted input. Words are made for the first faults; the others are only counted. */
export class FaultList {
  readonly #told: string[] = [];
  #count = 0;

  static of(faults: readonly string[]): FaultList {
    const list = new FaultList();
    for (const fault of faults) list.add(() => fault);
    return list;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  add(words: () => string): void {
    this.#count += 1;
    if (this.#told.length < mostFaultsTold) this.#told.push(shortened(words()));
  }

  toString(): string {
    const more = this.#count - this.#told.length;
    const told = this.#told.join('; ');
    return more === 0 ? told : `${told}; and ${more} more`;
  }

  /** Throws `invalid` if the list is not empty. */
  throwIfAny(): void {
    if (!this.isEmpty) throw new SoftquotaError('invalid', this.toString());
  }
}
