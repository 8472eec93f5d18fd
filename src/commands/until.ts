/** Options for how much more, and until when, as people type it. */

import { Option } from 'commander';
import { duration } from '../config/index.ts';
import { SoftquotaError } from '../errors.ts';
import { parseSize } from '../text/index.ts';

export interface UntilOptions {
  readonly until?: string;
  readonly for?: string;
}

/** Options of which one can be given. */
export const untilOptions = [
  new Option('--until <moment>', 'the end, such as 2026-12-24T12:00:00Z, with its time zone').conflicts(
    'for',
  ),
  new Option('--for <duration>', 'for so long from now, such as 30d or 12h'),
];

/** In ISO 8601; undefined where neither option is given. Throws `usage`. */
export function untilOf(options: UntilOptions): string | undefined {
  if (options.for !== undefined) {
    const parsed = duration.parse(options.for);
    if (parsed.ok) return new Date(Date.now() + parsed.value).toISOString();
    throw new SoftquotaError(
      'usage',
      `--for ${options.for}: ${parsed.problem}; ${lowered(duration.expected)}`,
    );
  }
  if (options.until === undefined) return undefined;
  const time = moment.test(options.until) ? Date.parse(options.until) : Number.NaN;
  if (!Number.isNaN(time)) return new Date(time).toISOString();
  throw new SoftquotaError(
    'usage',
    `--until ${options.until}: not a moment; write such as 2026-12-24T12:00:00Z, or give --for`,
  );
}

/** Bytes above 0. Throws `usage`. */
export function moreOf(text: string): number {
  const size = parseSize(text);
  if (size.ok && size.bytes > 0) return size.bytes;
  const problem = size.ok ? 'not more than nothing' : size.reason;
  throw new SoftquotaError(
    'usage',
    `--size ${text}: ${problem}; write a number and a unit, such as 500M or 1.5GiB`,
  );
}

const moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/i;

function lowered(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
