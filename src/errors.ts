/**
 * Every fault that softquota names to a person or a program: a code, the HTTP status the
 * sockets answer with, and the exit code the commands end with.
 *
 * The message says what, where, and what is expected. What would help an attacker goes
 * into `cause`, which only the log shows.
 */

import { getSystemErrorMessage } from 'node:util';

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
  /** Nobody is known by what was brought, or nothing was brought. */
  unauthenticated: { status: 401, exit: exitCodes.notPermitted },
  /** Too many wrong credentials came from there lately. */
  slowed: { status: 429, exit: exitCodes.notPermitted },
  /** It was told just now, and is taken again later. */
  too_often: { status: 429, exit: exitCodes.unreachable },
  /** A parameter of a request is missing or cannot be taken. */
  bad_parameter: { status: 400, exit: exitCodes.usage },
  /** The body of a question to the gate is over the limit; 413 is a refusal there. */
  too_large: { status: 400, exit: exitCodes.usage },
  /** The body of a request to the API is over the limit. */
  body_too_large: { status: 413, exit: exitCodes.usage },
  /** The path lies under no storage template. */
  unknown_path: { status: 404, exit: exitCodes.usage },
  /** The path's unit could not be attributed to anybody. */
  no_owner: { status: 404, exit: exitCodes.usage },
  /** No such thing at this address. */
  not_found: { status: 404, exit: exitCodes.usage },
  /** The address is known, the method is not. */
  wrong_method: { status: 405, exit: exitCodes.usage },
  /** Only trusted programs may say this. */
  not_trusted: { status: 403, exit: exitCodes.notPermitted },
  /** It contradicts what is there. */
  conflict: { status: 409, exit: exitCodes.usage },
  /** Well-formed, but not a value that can be taken. */
  invalid: { status: 422, exit: exitCodes.usage },
  /** Usage or policy was never loaded, or the disk did not answer within the deadline. */
  not_ready: { status: 503, exit: exitCodes.unreachable },
  /** So many do the same already that there is no room for one more. */
  busy: { status: 503, exit: exitCodes.unreachable },
  /** The store could not take it; nothing was changed. */
  store_away: { status: 503, exit: exitCodes.unreachable },
  /** The store's file is damaged, or of a newer version, or used by another daemon. */
  store_refused: { status: 503, exit: exitCodes.configuration },
  /** A sum would pass 2^53 - 1. */
  sum_too_large: { status: 422, exit: exitCodes.internal },
  /** app.ini, the environment, or what they name cannot be used. */
  configuration: { status: 500, exit: exitCodes.configuration },
  /** A command line that cannot be understood. */
  usage: { status: 400, exit: exitCodes.usage },
  /** No daemon answers. */
  unreachable: { status: 503, exit: exitCodes.unreachable },
  /** The operating system does not let us. */
  not_permitted: { status: 403, exit: exitCodes.notPermitted },
  /** A file or a stream of a command cannot be read or written. */
  input_output: { status: 500, exit: exitCodes.inputOutput },
  /** A mistake of ours. */
  internal: { status: 500, exit: exitCodes.internal },
} as const;

export type ErrorCode = keyof typeof catalog;

/** A fault with a code of the catalog; anything else that is thrown is a mistake of ours. */
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

/** What the system says of a thrown value: `no space left on device (ENOSPC)`; null where it is none of the system's. */
export function systemWords(error: unknown): string | null {
  const code = systemCode(error);
  if (code === null) return null;
  const number = error instanceof Error && 'errno' in error ? error.errno : null;
  const words = typeof number === 'number' ? getSystemErrorMessage(number) : undefined;
  return words === undefined ? code : `${words} (${code})`;
}

/** The system's error code of a thrown value (`ENOENT`, `EACCES` ...), or null. */
export function systemCode(error: unknown): string | null {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return null;
}
