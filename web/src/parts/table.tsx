/**
 * A table. The first column identifies the row, numbers are aligned at the end, and columns may be sortable.
 */

import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { Empty } from './states.tsx';

export interface Column<Row> {
  /** Title, which identifies the column in its table. */
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Aligns the cells at the end. */
  readonly isNumber?: boolean;
  /** Hides the column on narrow screens. */
  readonly isWide?: boolean;
  /** Gives the column more than half of the width. */
  readonly isMain?: boolean;
  /**
   * Sort order for the first click on the title; the next click reverses it. Absent if the column is not
   * sortable.
   */
  readonly sorts?: Sorting;
}

export interface Sorting {
  readonly by: string;
  readonly order: 'asc' | 'desc';
}

interface TableProps<Row> {
  /** Subject of the table, for people who cannot see it. */
  readonly caption: string;
  /** The first column identifies the row. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string | number;
  /** Shown in place of a table without rows. */
  readonly empty?: ComponentChildren;
  readonly sorting?: Sorting;
  readonly onSort?: (sorting: Sorting) => void;
}

export function Table<Row>({ empty, ...table }: TableProps<Row>) {
  return table.rows.length === 0 && empty !== undefined ? <Empty>{empty}</Empty> : <Filled {...table} />;
}

function Filled<Row>({ caption, columns, rows, keyOf, sorting, onSort }: TableProps<Row>) {
  const place = useRef<HTMLElement>(null);
  const isCut = useIsCut(place);
  return (
    <section ref={place} class="table" aria-label={caption} tabIndex={isCut ? 0 : undefined}>
      <table>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ title, sorts, ...column }) => (
              <th
                key={title}
                scope="col"
                class={classOf(column)}
                aria-sort={
                  sorting !== undefined && sorting.by === sorts?.by ? sortWords[sorting.order] : undefined
                }
              >
                {sorts === undefined || onSort === undefined ? (
                  title
                ) : (
                  <Button onClick={() => onSort(next(sorts, sorting))}>{title}</Button>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={keyOf(row)}>
              {columns.map((column, index) =>
                index === 0 ? (
                  <th key={column.title} scope="row" class={classOf(column)}>
                    {column.cell(row)}
                  </th>
                ) : (
                  <td key={column.title} class={classOf(column)}>
                    {column.cell(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface RowButtonProps {
  readonly words: string;
  /** Names the row for people who hear only the button. */
  readonly about?: string;

  readonly onClick: () => void;
}

export function RowButton({ words, about, onClick }: RowButtonProps) {
  return (
    <Button look="quiet" onClick={onClick}>
      {words}
      {about !== undefined && <span class="visually-hidden"> {about}</span>}
    </Button>
  );
}

/** Returns true if the table is wider than its place, so that the keyboard has to be able to scroll it. */
function useIsCut(place: RefObject<HTMLElement>): boolean {
  const [isCut, setCut] = useState(false);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setCut(element.scrollWidth > element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [place]);
  return isCut;
}

const sortWords = { asc: 'ascending', desc: 'descending' } as const;

function next(first: Sorting, now: Sorting | undefined): Sorting {
  return now?.by === first.by ? { by: now.by, order: now.order === 'asc' ? 'desc' : 'asc' } : first;
}

type Look = Pick<Column<unknown>, 'isMain' | 'isNumber' | 'isWide'>;

function classOf({ isNumber = false, isWide = false, isMain = false }: Look): string {
  const names = [isNumber && 'number', isWide && 'wide', isMain && 'main'];
  return names.filter(name => name !== false).join(' ');
}
