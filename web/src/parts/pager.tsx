/** Position in a long list, and the way on. */

import { Button } from './button.tsx';
import { counted } from './figures.tsx';

/** Rows of a page. */
export const pageSize = 50;

/** Number of the page that the address asks for, from 1. */
export function pageIn(query: URLSearchParams): number {
  const page = Number(query.get('page') ?? 1);
  return Number.isSafeInteger(page) && page > 0 ? page : 1;
}

interface PagerProps {
  /** From 1. */
  readonly page: number;

  readonly total: number;
  /** Words for the items: `['owner', 'owners']`. */
  readonly of: readonly [one: string, several: string];
  readonly onPage: (page: number) => void;
}

export function Pager({ page, total, of, onPage }: PagerProps) {
  if (total === 0) return null;
  const last = Math.max(1, Math.ceil(total / pageSize));
  const from = Math.min(total, (page - 1) * pageSize + 1);
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
