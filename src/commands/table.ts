/** Tables for people: columns of one width, numbers to the right, names harmless on any terminal. */

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { entryUrl } from '../package.ts';
import { printable } from '../text/index.ts';
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

/** A terminal has a column for each character. */
const plain = /^[ -~]*$/;

function columnsOf(text: string): number {
  if (plain.test(text)) return text.length;
  // It is what the entry exports.
  const loaded = require(fileURLToPath(entryUrl('commands/width'))) as typeof width;
  return loaded.columnsOf(text);
}
