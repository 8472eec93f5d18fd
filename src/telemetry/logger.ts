/**
 * The log: lines of JSON, or for people, on standard error.
 *
 * Written without waiting, so that a reader of the log who stands still never holds up an answer.
 */

import pino, { type DestinationStream } from 'pino';
import pretty from 'pino-pretty';
import { printableJson } from '../quota/index.ts';

export type Logger = pino.Logger;

export interface LogSettings {
  readonly level: string;
  readonly format: 'json' | 'pretty';
}

const standardError = 2;

/** What waits for a reader who stands still; what would come on top is lost, and not softquota's memory. */
const mostWaitingBytes = 8 * 1024 * 1024;

/** `flush` writes out what waits; call it before the process ends. */
export function createLogger(settings: LogSettings): { readonly log: Logger; readonly flush: () => void } {
  let isEnding = false;
  const out = pino.destination({
    fd: standardError,
    sync: false,
    maxLength: mostWaitingBytes,
    // While it runs it waits for a reader who is slow; at the end nobody waits for one who stands still.
    retryEAGAIN: () => !isEnding,
  });
  // A reader that went away is no reason to stop answering.
  out.on('error', () => {});
  const lines: DestinationStream =
    settings.format === 'pretty' ? pretty({ destination: out, ignore: 'pid,hostname', sync: true }) : out;
  // Strangers choose names that stand in the log, and administrators read it on terminals.
  const stream: DestinationStream = { write: line => lines.write(printableJson(line)) };
  const log = pino({ level: settings.level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stream);
  const flush = () => {
    isEnding = true;
    try {
      out.flushSync();
    } catch {
      // Nobody reads any more.
    }
  };
  return { log, flush };
}
