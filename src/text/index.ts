/**
 * Text for people: harmless on a terminal, and the same for the same thing everywhere.
 *
 * Names shown, sizes read and written, counts, words for a shell, faults of a document. Pure functions that
 * know nothing of quotas.
 */

export { counted, formatCount } from './counts.ts';
export { issueLines } from './issues.ts';
export { printable, printableJson } from './printable.ts';
export { shellQuoted } from './shell.ts';
export { formatBytes, formatUse, type ParsedSize, parseSize, writeSize } from './sizes.ts';
