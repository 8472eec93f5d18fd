/**
 * The log: lines of JSON, or for people, on standard error.
 *
 * Written without waiting, so that a reader of the log who stands still never holds up an answer, nor the
 * end.
 */

import pino from 'pino';
import { prettyFactory } from 'pino-pretty';
import { printableJson } from '../text/index.ts';
import { BoundedWriter } from './bounded-writer.ts';
import { withLoggedErrors, withoutPasswords } from './error-serializer.ts';
import { standardError } from './standard-error.ts';

export type Logger = pino.Logger;

export interface LogSettings {
  readonly level: string;
  readonly format: 'json' | 'pretty';
}

export interface LogWriter {
  readonly log: Logger;
  /** Writes out what waits, for a second at most; call it before the process ends. */
  flush(): Promise<Flushed>;
}

/**
 * `left`: nobody reads, and the process would wait for that until `process.exit`. `hangs`: a thread hangs in
 * the system, and only a signal ends the process.
 */
export type Flushed = 'written' | 'left' | 'hangs';

/** What waits for a reader who stands still: some thousand lines. */
const mostWaitingBytes = 2 * 1024 * 1024;
const retryMs = 1000;
const flushMs = 1000;

export function createLogger(settings: LogSettings): LogWriter {
  const { sink, holdsExit } = standardError();
  const writer = new BoundedWriter({
    sink,
    mostBytes: mostWaitingBytes,
    retryMs,
    lost: lines => log.warn({ lines }, 'lines of the log were lost, because nobody read it for some time'),
  });
  const shown = settings.format === 'pretty' ? prettyFactory({ ignore: 'pid,hostname' }) : unchanged;
  // Strangers choose names that stand in the log, and administrators read it on terminals.
  const stream = {
    write: (line: string) => writer.write(shown(printableJson(withoutPasswords(line)))),
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
  const flush = async () => {
    if (await writer.flush(flushMs)) return 'written';
    return holdsExit && writer.isWriting ? 'hangs' : 'left';
  };
  return { log, flush };
}

function unchanged(line: string): string {
  return line;
}
