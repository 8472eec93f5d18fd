/** Pagination, and lists that are loaded completely and searched here. */

import type { ComponentChildren } from 'preact';
import { counted } from '../../../src/text.ts';
import { useQueryPart } from '../place.ts';
import { Button } from './button.tsx';
import { Field } from './field.tsx';
import { Empty } from './states.tsx';

export const pageSize = 50;

/** Number of the page in the address, from 1. */
export function pageIn(query: URLSearchParams): number {
  const page = Number(query.get('page') ?? 1);
  return Number.isSafeInteger(page) && page > 0 ? page : 1;
}

/** Returns the number of the last page, at least 1. */
export function lastPage(total: number): number {
  return Math.max(1, Math.ceil(total / pageSize));
}

interface PagerProps {
  /** From 1. Behind the last page, the last page is shown. */
  readonly page: number;

  readonly total: number;
  /** Words for the items: `['owner', 'owners']`. */
  readonly of: readonly [one: string, several: string];
  readonly onPage: (page: number) => void;
}

export function Pager({ page: asked, total, of, onPage }: PagerProps) {
  if (total === 0) return null;
  const last = lastPage(total);
  const page = Math.min(asked, last);
  const from = (page - 1) * pageSize + 1;
  const until = Math.min(total, page * pageSize);
  return (
    <nav class="pager" aria-label={`Pages of the ${of[1]}`}>
      <span class="quiet-text">
        {last === 1
          ? counted(total, ...of)
          : `${from.toLocaleString('en-US')} to ${until.toLocaleString('en-US')} of ${counted(total, ...of)}`}
      </span>
      {last > 1 && (
        <span class="row">
          <Button disabled={page <= 1} onClick={() => onPage(page - 1)}>
            Previous
          </Button>
          <Button disabled={page >= last} onClick={() => onPage(page + 1)}>
            Next
          </Button>
        </span>
      )}
    </nav>
  );
}

interface SearchedListProps<Row extends { readonly name: string }> {
  readonly rows: readonly Row[];
  /** Words for the items: `['rule', 'rules']`. */
  readonly of: readonly [one: string, several: string];
  readonly children: (rows: readonly Row[]) => ComponentChildren;
}

/**
 * A list with pages, and with a search by name if it is longer than one page. The address contains the query.
 */
export function SearchedList<Row extends { readonly name: string }>(props: SearchedListProps<Row>) {
  const { rows, of, children } = props;
  const [query, change] = useQueryPart();
  const q = query.get('q') ?? '';
  const wanted = q.trim().toLowerCase();
  const found = wanted === '' ? rows : rows.filter(({ name }) => name.toLowerCase().includes(wanted));
  const page = Math.min(pageIn(query), lastPage(found.length));
  if (rows.length <= pageSize && q === '') return children(rows);
  return (
    <>
      <search class="fields">
        <Field
          label="Search by name"
          type="search"
          value={q}
          onInput={text => change({ q: text, page: '' })}
        />
      </search>
      {found.length === 0 ? (
        <Empty>No {of[0]} matches the search. Type less of the name.</Empty>
      ) : (
        <>
          {children(found.slice((page - 1) * pageSize, page * pageSize))}
          <Pager page={page} total={found.length} of={of} onPage={next => change({ page: String(next) })} />
        </>
      )}
    </>
  );
}
