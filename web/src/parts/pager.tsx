/** Position in a long list, and the way on. */

import { counted } from './figures.tsx';

export interface PagerProps {
  /** From 1. */
  readonly page: number;
  readonly pageSize: number;
  readonly total: number;
  /** Words for the items: `['owner', 'owners']`. */
  readonly of: readonly [one: string, several: string];
  readonly onPage: (page: number) => void;
}

export function Pager({ page, pageSize, total, of, onPage }: PagerProps) {
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
          <button type="button" disabled={page <= 1} onClick={() => onPage(page - 1)}>
            Previous
          </button>
          <button type="button" disabled={page >= last} onClick={() => onPage(page + 1)}>
            Next
          </button>
        </span>
      )}
    </nav>
  );
}
