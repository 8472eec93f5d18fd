/**
 * A list that is there as a whole, such as all rules: a page at a time, and searched by the name once it is
 * longer than a page. The address has what is asked.
 */

import type { ComponentChildren } from 'preact';
import { useQueryPart } from '../place.ts';
import { Field } from './field.tsx';
import { Pager, pageIn, pageSize } from './pager.tsx';
import { Empty } from './states.tsx';

interface SearchedListProps<Row extends { readonly name: string }> {
  readonly rows: readonly Row[];
  /** The word for one and for many: `['rule', 'rules']`. */
  readonly of: readonly [one: string, several: string];
  /** Draws the rows of one page. */
  readonly children: (rows: readonly Row[]) => ComponentChildren;
}

export function SearchedList<Row extends { readonly name: string }>(props: SearchedListProps<Row>) {
  const { rows, of, children } = props;
  const [query, change] = useQueryPart();
  const q = query.get('q') ?? '';
  const wanted = q.trim().toLowerCase();
  const found = wanted === '' ? rows : rows.filter(({ name }) => name.toLowerCase().includes(wanted));
  const last = Math.max(1, Math.ceil(found.length / pageSize));
  const page = Math.min(pageIn(query), last);
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
        <Empty>No {of[0]} matches the search.</Empty>
      ) : (
        <>
          {children(found.slice((page - 1) * pageSize, page * pageSize))}
          <Pager page={page} total={found.length} of={of} onPage={next => change({ page: String(next) })} />
        </>
      )}
    </>
  );
}
