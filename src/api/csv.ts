/**
 * Lines of CSV (RFC 4180) that a spreadsheet shows as they are: no name of a stranger becomes a formula, a
 * second cell or a second line.
 */

import { printable } from '../text/index.ts';

export type Cell = string | number | boolean | null;

/** One line with its end. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`;
}

function cellText(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell !== 'string') return String(cell);
  const shown = printable(cell);
  // Spreadsheets calculate what begins so, quoted or not; an apostrophe before it makes it text.
  const text = /^\s*[=+\-@|%＝＋－＠]/.test(shown) ? `'${shown}` : shown;
  return /[",\s;']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
