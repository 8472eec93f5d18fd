/** Tables for people: columns of one width, numbers to the right, names harmless on any terminal. */

import stringWidth from 'string-width';
import { printable } from '../text/index.ts';

export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

/** Lines of text, the titles first. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const cells = [columns.map(column => column.title), ...rows.map(row => row.map(printable))];
  const widths = columns.map((_, index) => Math.max(...cells.map(row => stringWidth(row[index] ?? ''))));
  const lines = cells.map(row =>
    columns
      .map(({ align }, index) => {
        const text = row[index] ?? '';
        const blanks = ' '.repeat((widths[index] ?? 0) - stringWidth(text));
        return align === 'right' ? blanks + text : text + blanks;
      })
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}
