/**
 * Reads sizes as administrators write them, and shows sizes to people.
 *
 * Reading is exact, without floating point. Sizes that people see are rounded to about three digits, in
 * powers of 1000, like M and G in app.ini.
 */

import type { Parsed } from '../parsed.ts';
import { formatCount } from './counts.ts';

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

function percentOf(usedBytes: number, limitBytes: number): string {
  // Rounded down, so that a threshold is never shown before it is reached. Big integers keep large products
  // exact.
  const hundredfold = usedBytes * 100;
  const whole = Number.isSafeInteger(hundredfold)
    ? (hundredfold - (hundredfold % limitBytes)) / limitBytes
    : Number((BigInt(usedBytes) * 100n) / BigInt(limitBytes));
  if (whole === 100 && usedBytes > limitBytes) return 'over 100 %';
  if (whole === 0 && usedBytes > 0) return 'under 1 %';
  return `${whole < 1000 ? whole : formatCount(whole)} %`;
}
