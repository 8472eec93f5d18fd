/** Formats tables, JSON, times and durations for commands. Names are escaped, so no terminal obeys them. */

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { entryUrl } from '../package.ts';
import { printable, printableJson } from '../text.ts';
import type * as width from './width.ts';

const require = createRequire(import.meta.url);

/** The title, the cell of a row, and `right` for numbers. */
export type Column<Row> = readonly [title: string, cell: (row: Row) => string, align?: 'right'];

/** Lines of text, the titles first. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const texts = columns.map(([title, cell]) => [title, ...rows.map(row => printable(cell(row)))]);
  const widths = texts.map(column => Math.max(...column.map(columnsOf)));
  const lines = Array.from({ length: rows.length + 1 }, (_, line) =>
    columns
      .map(([, , align], index) => {
        const text = texts[index]?.[line] ?? '';
        const blanks = ' '.repeat((widths[index] ?? 0) - columnsOf(text));
        return align === 'right' ? blanks + text : text + blanks;
      })
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}

/** Texts of which each character takes one column of a terminal. */
const plain = /^[ -~]*$/;

function columnsOf(text: string): number {
  if (plain.test(text)) return text.length;
  // The entry has this type.
  const loaded = require(fileURLToPath(entryUrl('commands/width'))) as typeof width;
  return loaded.columnsOf(text);
}

/** Prints JSON; characters that could mislead a reader are escaped, such as `\u202e`. */
export function jsonText(value: unknown): string {
  return `${printableJson(JSON.stringify(value, null, 2))}\n`;
}

/** Texts one after the other; false, null and undefined stand for none. */
export type Texts = string | false | null | undefined | readonly Texts[];

export function textsIn(texts: Texts): readonly string[] {
  if (typeof texts === 'string') return [texts];
  return texts ? texts.flatMap(textsIn) : [];
}

/** Prints each text on a line; characters that could mislead a reader are escaped. */
export function escapedLines(texts: Texts): string {
  return textsIn(texts)
    .map(text => `${printable(text)}\n`)
    .join('');
}

/** Prints a time in the local zone, to the second: `2026-11-21 09:14:03`. */
export function formatTime(iso: string | null): string {
  if (iso === null) return 'never';
  return new Date(iso).toLocaleString('sv-SE');
}

/** Prints a duration: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`. */
export function formatDuration(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
