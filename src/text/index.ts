/**
 * Text for people: without control characters, and the same text for the same thing everywhere.
 *
 * Names, sizes, counts, shell quoting, errors of a document. Pure functions that know nothing of quotas.
 */

export {
  counted,
  formatCount,
  formatMinute,
  formatMoment,
  isoTime,
  longestDurationMs,
  momentOf,
  parseDuration,
  writeDuration,
} from './counts.ts';
export { emailPattern, isEmail, longestEmail } from './email.ts';
export {
  escapeHtml,
  excerpt,
  issueLines,
  printable,
  printableJson,
  shellQuoted,
  withoutEnd,
} from './printable.ts';
export { formatBytes, formatUse, parseSize, writeSize } from './sizes.ts';
