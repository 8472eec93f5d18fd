/**
 * Text for people: without control characters, and the same text for the same thing everywhere.
 *
 * Names, sizes, counts, shell quoting, errors of a document. Pure functions that know nothing of quotas.
 */

export { counted, formatCount } from './counts.ts';
export { longestDurationMs, parseDuration, writeDuration } from './durations.ts';
export { emailPattern, isEmail, longestEmail } from './email.ts';
export { escapeHtml } from './html.ts';
export { issueLines } from './issues.ts';
export { formatMoment, isoTime, momentOf } from './moment.ts';
export { printable, printableJson } from './printable.ts';
export { shellQuoted } from './shell.ts';
export { formatBytes, formatUse, parseSize, writeSize } from './sizes.ts';
export { withoutEnd } from './without-end.ts';
