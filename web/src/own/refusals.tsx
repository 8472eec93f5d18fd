/** Recent refusals. */

import { useInfiniteQuery } from '@tanstack/preact-query';
import { type Own, ownEventsQuery } from '../api/own-queries.ts';
import { Older, What } from '../parts/event-list.tsx';
import { Time } from '../parts/figures.tsx';
import { Panel } from '../parts/page.tsx';
import { Answered } from '../parts/states.tsx';
import { Table } from '../parts/table.tsx';

export function Refusals({ own }: { readonly own: Own }) {
  const refusals = useInfiniteQuery(ownEventsQuery(own, 'refusal'));
  return (
    <Panel title="Recent refusals">
      <Answered query={refusals} what="the refusals" rows={2}>
        {({ pages }) => (
          <div class="stack">
            <Table
              caption="Refusals, latest first"
              empty="No refusals."
              rows={pages.flatMap(({ entries }) => entries)}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: 'When',
                  cell: event => <Time at={event.kind === 'refusal' ? event.last_at : event.at} />,
                },
                { title: 'Refusal', cell: event => <What event={event} /> },
              ]}
            />
            <Older query={refusals} words="Show older refusals" />
          </div>
        )}
      </Answered>
    </Panel>
  );
}
