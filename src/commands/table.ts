/** Tables for people: columns of one width, numbers to the right, names harmless on any terminal. */

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { entryUrl } from '../package.ts';
import { printable } from '../text/index.ts';
import type * as width from './width.ts';

const require = createRequire(import.meta.url);

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

/** Lines of text, the titles first. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const cells = [columns.map(column => column.title), ...rows.map(row => row.map(printable))];
  const widths = columns.map((_, index) => Math.max(...cells.map(row => columnsOf(row[index] ?? ''))));
  const lines = cells.map(row =>
    columns
      .map(({ align }, index) => {
        const text = row[index] ?? '';
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
