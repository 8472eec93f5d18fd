/** Usage of the user or of an organization, now and in the past. */

import { useInfiniteQuery } from '@tanstack/preact-query';
import type { ComponentChildren } from 'preact';
import { type Own, ownEventsQuery, ownPoolsQuery, ownReportQuery } from '../api/own-queries.ts';
import { useSession } from '../api/session.ts';
import { Older, What } from '../parts/event-list.tsx';
import { Time } from '../parts/figures.tsx';
import { History } from '../parts/history.tsx';
import { Panel } from '../parts/page.tsx';
import { OwnPools } from '../parts/pools.tsx';
import { Answered, Empty, Query } from '../parts/states.tsx';
import { Table } from '../parts/table.tsx';
import { Units } from '../parts/units.tsx';
import { to } from '../place.ts';
import { usageIn } from '../usage.ts';
import { Advice } from './advice.tsx';
import { MoreSpace, type MoreSpaceProps } from './more-space.tsx';
import { Standing } from './standing.tsx';
import { rulingsIn, worstState } from './verdicts.ts';

interface OwnUsageProps {
  readonly own: Own;
  readonly children?: ComponentChildren;
}

export function OwnUsage({ own, children }: OwnUsageProps) {
  return (
    <Query of={ownReportQuery(own)} what="what is stored" rows={12}>
      {figures => {
        const rulings = rulingsIn(figures.decisions);
        const isFine = worstState(rulings) === 'ok';
        const advice = (
          <Advice usage={usageIn(figures.tree)} contact={figures.contact} mayAsk={figures.may_ask} />
        );
        return (
          <>
            <Standing own={own} report={figures} />
            <Query of={ownPoolsQuery(own)} what="the shared limits" rows={1}>
              {({ pools = [] }) => (
                <OwnPools pools={pools} shareWords={own.is === 'me' ? 'Your share' : 'Own share'} />
              )}
            </Query>
            {!isFine && advice}
            <MoreSpace own={own} report={figures} />
            <Largest own={own} report={figures} />
            <History of={own} />
            <Refusals own={own} />
            {isFine && advice}
            {children}
          </>
        );
      }}
    </Query>
  );
}

function Largest({ own, report: { units, unit_count: count } }: MoreSpaceProps) {
  const session = useSession();
  const owner = own.is === 'me' ? session.data?.login : own.name;
  return (
    <Panel
      title="What takes the space"
      actions={owner !== undefined && <a href={to('space', owner)}>Inside the repositories</a>}
    >
      {units.length === 0 ? (
        <Empty>Nothing is stored yet. New data appears here after it is measured.</Empty>
      ) : (
        <div class="stack">
          <Units units={units} />
          {count > units.length && (
            <p class="quiet-text">
              The list shows the largest {units.length.toLocaleString('en-US')} of{' '}
              {count.toLocaleString('en-US')}.
            </p>
          )}
        </div>
      )}
    </Panel>
  );
}

export function Refusals({ own }: { readonly own: Own }) {
  const refusals = useInfiniteQuery(ownEventsQuery(own, 'refusal'));
  return (
    <Panel title="Recent refusals">
      <Answered query={refusals} what="the refusals" rows={2}>
        {({ pages }) => (
          <div class="stack">
            <Table
              caption="Refusals, latest first"
              empty="No refusals. A push that is refused appears here, with its reason."
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
