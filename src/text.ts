/**
 * Text for people: without control characters, and the same text for the same thing everywhere.
 *
 * Names, sizes, counts, moments, spans of time, mail addresses, shell quoting, errors of a document. Pure
 * functions that know nothing of quotas. Reading is exact, without floating point. Sizes that people see are
 * rounded to about three digits, in powers of 1000, like M and G in app.ini.
 */

import type { Parsed } from './parsed.ts';

/** Gives `1,204`. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/** Gives `1 repository`, `3 repositories`. */
export function counted(count: number, one: string, many: string): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** Formats milliseconds since 1970, to the second: `2026-12-22 14:00:05 UTC`. */
export function formatMoment(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

const spans = { w: 604_800_000, d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 } as const;

/** Formats milliseconds since 1970, up to the next minute: `14:20 UTC` within a day, else with the date. */
export function formatMinute(time: number, now: number): string {
  const minute = new Date(Math.ceil(time / 60_000) * 60_000).toISOString();
  const [day, clock] = [minute.slice(0, 10), minute.slice(11, 16)];
  return `${time - now < spans.d ? '' : `${day} `}${clock} UTC`;
}

/** Writes a time in milliseconds since 1970 in ISO 8601; null stays null. */
export function isoTime<Time extends number | null>(time: Time): Time extends null ? null : string;
export function isoTime(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** Reads an ISO 8601 time that a schema has checked, as milliseconds since 1970; null if none was given. */
export function momentOf(iso: string | null | undefined): number | null {
  return iso === null || iso === undefined ? null : Date.parse(iso);
}

export const longestDurationMs = 36_500 * spans.d;

/** Reads a duration up to a hundred years: a whole number above 0 and s, m, h, d or w, such as `90d`. */
export function parseDuration(text: string): Parsed<number> {
  const match = /^\s*(\d{1,10})\s*([wdhms])\s*$/.exec(text);
  const unit = Object.entries(spans).find(([letter]) => letter === match?.[2]);
  const milliseconds = match === null || unit === undefined ? 0 : Number(match[1]) * unit[1];
  if (milliseconds > 0 && milliseconds <= longestDurationMs) return { ok: true, value: milliseconds };
  return {
    ok: false,
    problem: milliseconds > longestDurationMs ? 'longer than a hundred years' : 'not a duration',
  };
}

/** Writes a duration of whole seconds in the largest unit that gives a whole number. */
export function writeDuration(milliseconds: number): string {
  const unit = Object.entries(spans).find(([, span]) => milliseconds % span === 0) ?? ['s', spans.s];
  return `${milliseconds / unit[1]}${unit[0]}`;
}

/** The length that RFC 5321 allows. */
export const longestEmail = 254;

/** The characters before and behind the `@` of a mail address. */
export const emailPattern = String.raw`[^\s\u0000-\u001f\u007f-\u009f@]+@[^\s\u0000-\u001f\u007f-\u009f@]+`;

/** Returns true for a mail address that matches `emailPattern`, is well-formed Unicode and not too long. */
export function isEmail(address: string): boolean {
  return (
    address.length <= longestEmail && address.isWellFormed() && /^[^\s\p{Cc}@]+@[^\s\p{Cc}@]+$/u.test(address)
  );
}

/**
 * Characters that move the cursor, break the line, turn the reading direction, or cannot be seen at all:
 * controls, format characters, line and paragraph separators, halves of surrogate pairs, and all that
 * Unicode lets a font leave out. The zero-width joiners are among them: some scripts and emoji
 * need them, but between other letters they make one owner's name look like another's.
 */
const misleading = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Makes any text harmless on a terminal, on one line: a misleading character becomes `\u{202e}`. */
export function printable(text: string): string {
  // Most names are plain ASCII and need no further look.
  if (/^[ -~]*$/.test(text)) return text;
  return text.replace(misleading, character => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

/** Keeps the beginning of a text, by default 80 characters, and shows that there was more. */
export function shortened(text: string, longest = 80): string {
  return text.length > longest ? `${text.slice(0, longest).toWellFormed()}...` : text;
}

/** Quotes a text that a stranger sent; of a long text only the beginning. */
export function excerpt(text: string): string {
  return `"${printable(shortened(text))}"`;
}

/** Makes JSON text harmless on a terminal, with the same meaning: a misleading character becomes `\u202e`. */
export function printableJson(json: string): string {
  return json.replace(/[^\n -~]/gu, character =>
    printable(character) === character ? character : character.replace(/[\s\S]/g, inJson),
  );
}

function inJson(half: string): string {
  return `\\u${half.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Escapes a text for a web page, between tags or in the quotes of an attribute. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

/** Quotes a text as one word for sh. */
export function shellQuoted(text: string): string {
  return /^[\w./@%+:=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

interface Issues {
  readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
}

/** Gives a line for each fault, such as `rules.0.limit: expected whole bytes`. */
export function issueLines({ issues }: Issues): readonly string[] {
  return issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`,
  );
}

/** Removes all copies of a character from the end of a text: `/srv/git//` and `/` give `/srv/git`. */
export function withoutEnd(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}

/**
 * Digits with commas before groups of three, a fraction, blanks, a unit; one side of the point may be empty.
 */
const sizePattern = /^(?:(\d+(?:,\d{3})*)(?:\.(\d*))?|\.(\d+))[ \t]*(?:([kmgtpe])(i?)b?|b)?$/i;
const prefixes = 'kmgtpe';

/**
 * Reads a size: `500M`, `10 GB`, `1.5GiB`, `1,024 KiB`, `.5G`, or -1 for no limit. Units, in any case,
 * are powers of 1000 (k, M, G, T, P, E, with or without B) or of 1024 (Ki, Mi …). Fractions of a
 * byte are dropped; a size above 0 that comes to 0 bytes, and one above 2^53 - 1, are faults.
 */
export function parseSize(text: string): Parsed<number> {
  const written = text.trim();
  if (written === '-1') return { ok: true, value: -1 };
  if (written === '') return fault('empty');
  const match = sizePattern.exec(written);
  if (match === null) {
    return fault(/^-\s*[\d.]/.test(written) ? 'below 0; only -1 (no limit) is allowed' : 'not a size');
  }
  const [, whole = '', fractionAfter = '', fractionAlone = '', prefix = '', binary = ''] = match;
  const fraction = fractionAfter + fractionAlone;
  const digits = BigInt(whole.replaceAll(',', '') + fraction);
  const power = prefixes.indexOf(prefix.toLowerCase()) + (prefix === '' ? 0 : 1);
  const unit = (binary === '' ? 1000n : 1024n) ** BigInt(power);
  const bytes = (digits * unit) / 10n ** BigInt(fraction.length);
  if (bytes > BigInt(Number.MAX_SAFE_INTEGER)) {
    return fault('too large: at most 9007199254740991 bytes (2^53 - 1) can be counted');
  }
  if (bytes === 0n && digits > 0n) return fault('less than a byte, but more than 0');
  return { ok: true, value: Number(bytes) };
}

function fault(problem: string): Parsed<number> {
  return { ok: false, problem };
}

const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'] as const;
const shownDigits = 3;
const mostDigits = 5;

/** Formats bytes for people, to about three digits: `0 B`, `999 B`, `8.1 GB`, `124 GB`. */
export function formatBytes(bytes: number): string {
  return bytes < 0 ? `-${rounded(-bytes, shownDigits)}` : rounded(bytes, shownDigits);
}

function rounded(bytes: number, digits: number): string {
  let unit = 0;
  let scale = 1;
  while (bytes >= scale * 1000 && unit < units.length - 1) {
    unit++;
    scale *= 1000;
  }
  if (unit === 0) return `${bytes} B`;
  const inUnit = Number((bytes / scale).toPrecision(digits));
  if (inUnit < 1000 || unit === units.length - 1) return `${inUnit} ${units[unit]}`;
  // Rounding may reach the next unit: 999,999 B are 1 MB, not 1000 kB.
  return `1 ${units[unit + 1]}`;
}

const binaryUnits = ['PiB', 'TiB', 'GiB', 'MiB', 'KiB'] as const;

/**
 * Writes a short size that `parseSize` reads as exactly these bytes: `10 GB`, `1.5 GiB`, `12345678 B`; `-1`
 * for no limit.
 */
export function writeSize(bytes: number): string {
  if (bytes === -1) return '-1';
  const binary = binaryUnits
    .map((unit, index) => `${bytes / 1024 ** (binaryUnits.length - index)} ${unit}`)
    .filter(text => /^[1-9]\d*(\.\d{1,2})? /.test(text));
  const exact = [formatBytes(bytes), ...binary].find(text => {
    const size = parseSize(text);
    return size.ok && size.value === bytes;
  });
  return exact ?? `${bytes} B`;
}

/**
 * Usage beside a limit, for people: `12.4 GB`, `10 GB`, `124 %`.
 *
 * Two different sizes never look the same: they get more digits, down to the byte if needed. The
 * percentage is rounded down, and `100 %` means that both are equal: anything above it and below
 * 101 % is `over 100 %`, anything between 0 and 1 % `under 1 %`. Limit -1 reads `unlimited`; for it and for
 * limit 0 the percentage is `-`.
 */
export function formatUse(
  usedBytes: number,
  limitBytes: number,
): { readonly used: string; readonly limit: string; readonly percent: string } {
  if (limitBytes === -1) return { used: formatBytes(usedBytes), limit: 'unlimited', percent: '-' };
  const [used, limit] = toldApart(usedBytes, limitBytes);
  return { used, limit, percent: limitBytes === 0 ? '-' : percentOf(usedBytes, limitBytes) };
}

function toldApart(usedBytes: number, limitBytes: number): [string, string] {
  for (let digits = shownDigits; digits <= mostDigits; digits++) {
    const used = rounded(usedBytes, digits);
    const limit = rounded(limitBytes, digits);
    if (used !== limit || usedBytes === limitBytes) return [used, limit];
  }
  return [`${formatCount(usedBytes)} B`, `${formatCount(limitBytes)} B`];
}

/**
 * Returns the percentage of a limit above 0, rounded down, so that a threshold is never shown before it is
 * reached. Big integers keep large products exact.
 */
export function wholePercent(usedBytes: number, limitBytes: number): number {
  const hundredfold = usedBytes * 100;
  return Number.isSafeInteger(hundredfold)
    ? (hundredfold - (hundredfold % limitBytes)) / limitBytes
    : Number((BigInt(usedBytes) * 100n) / BigInt(limitBytes));
}

function percentOf(usedBytes: number, limitBytes: number): string {
  const whole = wholePercent(usedBytes, limitBytes);
  if (whole === 100 && usedBytes > limitBytes) return 'over 100 %';
  if (whole === 0 && usedBytes > 0) return 'under 1 %';
  return `${whole < 1000 ? whole : formatCount(whole)} %`;
}
