/**
 * Errors as the log shows them: their type, message, code, stack and cause, and nothing else.
 *
 * Libraries hang on their errors what they were doing: a command with its arguments, a request with its
 * headers. A password may be among those, so that no field is taken which is not named here.
 */

import { systemCode } from '../errors.ts';

interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: LoggedError;
  /** Causes of an AggregateError, such as of a host with several addresses. */
  readonly errors?: readonly LoggedError[];
}

const deepest = 5;
const mostErrors = 10;

/** The fields of a line, with each error among them, however deep, as it may be shown. */
export function withLoggedErrors(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, shown(value, 1)]));
}

function shown(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return loggedError(value);
  if (depth === deepest) return '…';
  if (Array.isArray(value)) return value.map(each => shown(each, depth + 1));
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shown(each, depth + 1)]));
}

function loggedError(error: Error, depth = 1): LoggedError {
  const below = (other: Error) => loggedError(other, depth + 1);
  const code = systemCode(error);
  const { message, stack, cause } = error;
  const goesOn = depth < deepest;
  return {
    type: error.constructor.name,
    message,
    ...(code === null ? {} : { code }),
    ...(stack === undefined ? {} : { stack }),
    ...(goesOn && cause instanceof Error ? { cause: below(cause) } : {}),
    ...(goesOn && error instanceof AggregateError
      ? {
          errors: error.errors
            .slice(0, mostErrors)
            .filter(each => each instanceof Error)
            .map(below),
        }
      : {}),
  };
}

/** The text with the user and the password of each address in it masked. */
export function withoutPasswords(text: string): string {
  return text.replace(/:\/\/[^\s"'<>\\/?#]*@/g, '://********@');
}
