/** A table: what each row is about stands first, numbers align at their end, columns may be sorted by. */

import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface Column<Row> {
  readonly key: string;
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Aligned at the end. */
  readonly isNumber?: boolean;
  /** Left out where there is little room. */
  readonly isWide?: boolean;
  /** Has more than half of the room. */
  readonly isMain?: boolean;
  /** Given: a sort by it can be asked for, and this is how it begins. */
  readonly sorts?: Order;
}

export type Order = 'asc' | 'desc';

export interface Sorting {
  readonly by: string;
  readonly order: Order;
}

export interface TableProps<Row> {
  /** Subject of the table, for people who do not see it. */
  readonly caption: string;
  /** The first says what a row is about. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string | number;
  readonly sorting?: Sorting;
  readonly onSort?: (sorting: Sorting) => void;
}

export function Table<Row>({ caption, columns, rows, keyOf, sorting, onSort }: TableProps<Row>) {
  const place = useRef<HTMLElement>(null);
  const isCut = useIsCut(place);
  return (
    <section ref={place} class="table" aria-label={caption} tabIndex={isCut ? 0 : undefined}>
      <table>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(column => (
              <th
                key={column.key}
                scope="col"
                class={classOf(column)}
                aria-sort={sorting?.by === column.key ? sortWords[sorting.order] : undefined}
              >
                {column.sorts === undefined || onSort === undefined ? (
                  column.title
                ) : (
                  <button
                    type="button"
                    onClick={() => onSort(next(column.key, column.sorts ?? 'asc', sorting))}
                  >
                    {column.title}
                  </button>
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
                  <th key={column.key} scope="row" class={classOf(column)}>
                    {column.cell(row)}
                  </th>
                ) : (
                  <td key={column.key} class={classOf(column)}>
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

/** Tells whether there is more than fits, so that it is to be moved sideways, also with the keyboard. */
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

function next(by: string, first: Order, now: Sorting | undefined): Sorting {
  if (now?.by !== by) return { by, order: first };
  return { by, order: now.order === 'asc' ? 'desc' : 'asc' };
}

function classOf<Row>({ isNumber = false, isWide = false, isMain = false }: Column<Row>): string {
  const names = [isNumber && 'number', isWide && 'wide', isMain && 'main'];
  return names.filter(name => name !== false).join(' ');
}
