/** Recent refusals. */

import { useInfiniteQuery } from '@tanstack/preact-query';
import { type Own, ownEventsQuery } from '../api/own-queries.ts';
import { What } from '../parts/event-list.tsx';
import { Time } from '../parts/figures.tsx';
import { Panel } from '../parts/page.tsx';
import { Answered, Empty } from '../parts/states.tsx';
import { Table } from '../parts/table.tsx';

export function Refusals({ own }: { readonly own: Own }) {
  const refusals = useInfiniteQuery(ownEventsQuery(own, 'refusal'));
  return (
    <Panel title="Recent refusals">
      <Answered query={refusals} what="the refusals" rows={2}>
        {({ pages }) => {
          const rows = pages.flatMap(({ entries }) => entries);
          if (rows.length === 0) return <Empty>No refusals.</Empty>;
          return (
            <div class="stack">
              <Table
                caption="Refusals, latest first"
                rows={rows}
                keyOf={({ id }) => id}
                columns={[
                  {
                    key: 'at',
                    title: 'When',
                    cell: event => <Time at={event.kind === 'refusal' ? event.last_at : event.at} />,
                  },
                  { key: 'what', title: 'Refusal', cell: event => <What event={event} /> },
                ]}
              />
              {refusals.hasNextPage && (
                <p>
                  <button
                    type="button"
                    disabled={refusals.isFetchingNextPage}
                    onClick={() => void refusals.fetchNextPage()}
                  >
                    Show older refusals
                  </button>
                </p>
              )}
            </div>
          );
        }}
      </Answered>
    </Panel>
  );
}
