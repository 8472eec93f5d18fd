/**
 * The log: lines of JSON, or for people, on standard error.
 *
 * Writes never wait, so that a blocked reader of the log delays neither answers nor the end. Lines without
 * room are dropped; a line in their place has their number.
 */

import { once } from 'node:events';
import { fstatSync } from 'node:fs';
import { isatty } from 'node:tty';
import pino from 'pino';
import { prettyFactory } from 'pino-pretty';
import { systemCode } from '../errors.ts';
import { printableJson } from '../text.ts';

export type Logger = pino.Logger;

interface LogWriter {
  readonly log: Logger;
  /** Writes pending lines, for a second at most; call it before the process ends. */
  flush(): Promise<Flushed>;
}

/** `left`: nobody reads the remaining lines. `hangs`: a thread hangs, and only a signal ends the process. */
type Flushed = 'written' | 'left' | 'hangs';

/** Most bytes that wait for a reader: some thousand lines. */
const mostWaitingBytes = 2 * 1024 * 1024;
const retryMs = 1000;
const flushMs = 1000;
const standardError = 2;

export function createLogger(settings: {
  readonly level: string;
  readonly format: 'json' | 'pretty';
}): LogWriter {
  const destination = pino.destination({ dest: standardError, sync: false, maxLength: mostWaitingBytes });
  const isByThread = mayHoldThread();
  // Node's own stream makes writes to a pipe or a socket return at once. If the reader is gone, the daemon
  // continues.
  if (!isByThread) process.stderr.on('error', () => {});
  const shown =
    settings.format === 'pretty' ? prettyFactory({ ignore: 'pid,hostname' }) : (line: string) => line;
  let isWritten = true;
  let isEnded = false;
  let lost = 0;
  const stream = {
    write: (line: string) => {
      // After a lost line, others are dropped until all is written, so that one count covers them.
      if (lost > 0 || isEnded) {
        lost += 1;
        return;
      }
      isWritten = false;
      // Strangers choose names that are in the log, and administrators read it on terminals.
      destination.write(shown(printableJson(withoutPasswords(line))));
    },
  };
  const log = pino(
    {
      level: settings.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { log: withLoggedErrors },
      // pino's own serializer would log every field of an error.
      serializers: { err: (shown: unknown) => shown },
    },
    stream,
  );
  destination.on('drop', () => {
    lost += 1;
  });
  destination.on('drain', () => {
    isWritten = true;
    const lines = lost;
    lost = 0;
    if (lines > 0) log.warn({ lines }, 'lines of the log were lost, because nobody read it for some time');
  });
  // pino keeps the lines that could not be written; they are tried again.
  let retry: NodeJS.Timeout;
  destination.on('error', () => {
    clearTimeout(retry);
    retry = setTimeout(() => destination.write(''), retryMs).unref();
  });
  const flush = async () => {
    if (isWritten) return 'written';
    try {
      await once(destination, 'drain', { signal: AbortSignal.timeout(flushMs) });
      return 'written';
    } catch (error) {
      // At the end of the process pino would wait until all is written.
      isEnded = true;
      destination.destroy();
      clearTimeout(retry);
      return isByThread && error instanceof Error && error.name === 'AbortError' ? 'hangs' : 'left';
    }
  };
  return { log, flush };
}

/** Returns true if a thread writes to standard error, as to files and terminals: it may hang there. */
function mayHoldThread(): boolean {
  if (isatty(standardError)) return true;
  try {
    const about = fstatSync(standardError);
    return !about.isFIFO() && !about.isSocket();
  } catch {
    // Standard error is closed: each write fails.
    return true;
  }
}

/**
 * An error as the log shows it. Libraries add data to their errors, such as a command with its arguments, or
 * a request with its headers. These may contain a password, so only the fields here are logged.
 */
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

/** The fields of a line, in which each error, at any depth, has only the fields of `LoggedError`. */
function withLoggedErrors(fields: object): Record<string, unknown> {
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

/** Masks the user and the password of each address in a text. */
function withoutPasswords(text: string): string {
  return text.replace(/:\/\/[^\s"'<>\\/?#]*@/g, '://********@');
}
