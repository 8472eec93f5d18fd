/**
 * The log: lines of JSON, or for people, on standard error.
 *
 * Written without waiting, so that a reader of the log who stands still never holds up an answer.
 */

import pino, { type DestinationStream } from 'pino';
import pretty from 'pino-pretty';

export type Logger = pino.Logger;

export interface LogSettings {
  readonly level: string;
  readonly format: 'json' | 'pretty';
}

const standardError = 2;

/** `flush` writes out what waits; call it before the process ends. */
export function createLogger(settings: LogSettings): { readonly log: Logger; readonly flush: () => void } {
  const out = pino.destination({ fd: standardError, sync: false });
  // A reader that went away is no reason to stop answering.
  out.on('error', () => {});
  const stream: DestinationStream =
    settings.format === 'pretty' ? pretty({ destination: out, ignore: 'pid,hostname', sync: true }) : out;
  const log = pino({ level: settings.level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stream);
  const flush = () => {
    try {
      out.flushSync();
    } catch {
      // Nobody reads any more.
    }
  };
  return { log, flush };
}
