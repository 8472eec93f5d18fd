/** Figures: sizes, percentages, times, counts. Each with what it is exactly as its title. */

import { formatBytes, formatUse } from '../../../src/text/index.ts';

/** Bytes; -1 is `unlimited`, null a dash. */
export function Size({ bytes }: { readonly bytes: number | null }) {
  if (bytes === null) return <span class="size">–</span>;
  if (bytes === -1) return <span class="size">unlimited</span>;
  return (
    <data class="size" value={String(bytes)} title={`${bytes.toLocaleString('en-US')} bytes`}>
      {formatBytes(bytes)}
    </data>
  );
}

export interface UseProps {
  /** Bytes; null, as `limit`, where no rule covers. */
  readonly used: number | null;
  /** Bytes; -1: unlimited. */
  readonly limit: number | null;
}

/** How full a limit is: `92 %`; a dash where there is none. */
export function Percent({ used, limit }: UseProps) {
  const percent = used === null || limit === null ? '-' : formatUse(used, limit).percent;
  return <span class="percent">{percent === '-' ? '–' : percent}</span>;
}

/** `12.4 GB of 10 GB`; two sizes that differ never read alike. */
export function Use({ used, limit }: UseProps) {
  if (used === null || limit === null) return <span class="size">–</span>;
  const words = formatUse(used, limit);
  const exact = `${used.toLocaleString('en-US')} of ${limit.toLocaleString('en-US')} bytes`;
  return (
    <span class="size" title={limit === -1 ? `${used.toLocaleString('en-US')} bytes` : exact}>
      {limit === -1 ? `${words.used}, no limit` : `${words.used} of ${words.limit}`}
    </span>
  );
}

export function Count({ children }: { readonly children: number }) {
  return <>{children.toLocaleString('en-US')}</>;
}

const timeOnly = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const dayAndTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

export interface TimeProps {
  /** ISO 8601; null reads as `absent`. */
  readonly at: string | null;
  readonly absent?: string;
}

/** In the reader's own time zone: the time alone where it is today's. */
export function Time({ at, absent = 'never' }: TimeProps) {
  if (at === null) return <>{absent}</>;
  const date = new Date(at);
  return (
    <time dateTime={at} title={at}>
      {timeWords(date)}
    </time>
  );
}

export function timeWords(date: Date): string {
  const isToday = date.toDateString() === new Date().toDateString();
  return (isToday ? timeOnly : dayAndTime).format(date);
}

/** `3 owners`, `1 owner`. */
export function counted(count: number, one: string, several: string): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : several}`;
}
