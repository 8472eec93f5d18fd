/**
 * The log: lines of JSON, or for people, on standard error.
 *
 * Written without waiting, so that a reader of the log who stands still never holds up an answer, nor the
 * end. Lines for which there is no room are counted; the count is told where they are missing.
 */

import { once } from 'node:events';
import { fstatSync } from 'node:fs';
import { isatty } from 'node:tty';
import pino from 'pino';
import { prettyFactory } from 'pino-pretty';
import { systemCode } from '../errors.ts';
import { printableJson } from '../text/index.ts';

export type Logger = pino.Logger;

interface LogWriter {
  readonly log: Logger;
  /** Writes out what waits, for a second at most; call it before the process ends. */
  flush(): Promise<Flushed>;
}

/** `left`: nobody reads what is left. `hangs`: a thread hangs, and only a signal ends the process. */
type Flushed = 'written' | 'left' | 'hangs';

/** Bytes that are kept for a reader who does not read: some thousand lines. */
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
  // Node's own stream makes a pipe or a socket one that no write waits for. A reader that went away is no
  // reason to stop answering.
  if (!isByThread) process.stderr.on('error', () => {});
  const shown =
    settings.format === 'pretty' ? prettyFactory({ ignore: 'pid,hostname' }) : (line: string) => line;
  let isWritten = true;
  let isEnded = false;
  let lost = 0;
  const stream = {
    write: (line: string) => {
      // Once lines are lost, those behind them are too until there is room for many: one count tells of all.
      if (lost > 0 || isEnded) {
        lost += 1;
        return;
      }
      isWritten = false;
      // Strangers choose names that stand in the log, and administrators read it on terminals.
      destination.write(shown(printableJson(withoutPasswords(line))));
    },
  };
  const log = pino(
    {
      level: settings.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { log: withLoggedErrors },
      // pino's own would take every field of an error.
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

/** Tells whether a thread writes to standard error, as to files and terminals, and may hang there. */
function mayHoldThread(): boolean {
  if (isatty(standardError)) return true;
  try {
    const about = fstatSync(standardError);
    return !about.isFIFO() && !about.isSocket();
  } catch {
    // It is closed: each write says so.
    return true;
  }
}

/**
 * An error as the log shows it. Libraries hang on their errors what they were doing: a command with its
 * arguments, a request with its headers. A password may be among those, so that no field is taken which is
 * not named here.
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

/** The fields of a line, with each error among them, however deep, as it may be shown. */
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

/** The text with the user and the password of each address in it masked. */
function withoutPasswords(text: string): string {
  return text.replace(/:\/\/[^\s"'<>\\/?#]*@/g, '://********@');
}
