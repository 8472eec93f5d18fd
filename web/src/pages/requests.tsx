/** Page of requests for more space, which administrators grant or decline. */

import { useState } from 'preact/hooks';
import { printable, writeSize } from '../../../src/text.ts';
import type { OwnerReport, SpaceRequest } from '../../../src/wire/index.ts';
import { ask } from '../api/ask.ts';
import { requests as path, requestsQuery } from '../api/own-queries.ts';
import { ownerQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { dayWords } from '../history/growth-words.ts';
import { RequestAnswer } from '../parts/allowances.tsx';
import { kindWords } from '../parts/bar.tsx';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Choice, Field, MoreFields, moreIn } from '../parts/field.tsx';
import { Percent, Size, Time, Use } from '../parts/figures.tsx';
import { Name, NameLink } from '../parts/name.tsx';
import { Page } from '../parts/page.tsx';
import { Pager, pageIn, pageSize } from '../parts/pager.tsx';
import { Query } from '../parts/states.tsx';
import { RowButton, Table } from '../parts/table.tsx';
import { useQueryPart } from '../place.ts';
import { MyRequests } from './mine.tsx';

const states = [
  ['open', 'open'],
  ['granted', 'granted'],
  ['declined', 'declined'],
  ['withdrawn', 'withdrawn'],
  ['all', 'all'],
] as const satisfies readonly (readonly [SpaceRequest['state'] | 'all', string])[];

export function Requests() {
  const { data: session } = useSession();
  return session?.is_admin ? <AllRequests /> : <MyRequests />;
}

function AllRequests() {
  const [query, change] = useQueryPart();
  const state = states.find(([value]) => value === query.get('state'))?.[0] ?? 'open';
  const page = pageIn(query);
  return (
    <Page title="Requests" help="requests">
      <p>
        Owners ask on their page for more space. A granted request is an allowance: more space for a limited
        time.
      </p>
      <Choice
        label="State"
        value={state}
        onChoice={value => change({ state: value === 'open' ? '' : value, page: '' })}
        options={states}
      />
      <Query
        of={requestsQuery({ state: state === 'all' ? undefined : state, page, limit: pageSize })}
        what="the requests"
      >
        {({ entries, total }) => (
          <div class="stack">
            <RequestTable
              requests={entries}
              empty={
                state === 'open'
                  ? 'No request waits for an answer. You can also give an allowance without one, on the page of an owner.'
                  : 'No such requests. Choose another state.'
              }
            />
            <Pager
              page={page}
              total={total}
              of={['request', 'requests']}
              onPage={next => change({ page: next === 1 ? '' : String(next) })}
            />
          </div>
        )}
      </Query>
    </Page>
  );
}

interface RequestTableProps {
  readonly requests: readonly SpaceRequest[];
  readonly empty: string;
}

function RequestTable({ requests, empty }: RequestTableProps) {
  const [granting, setGranting] = useState<SpaceRequest | null>(null);
  const [declining, setDeclining] = useState<SpaceRequest | null>(null);
  return (
    <>
      <Table
        caption="Requests, the latest first"
        empty={empty}
        rows={requests}
        keyOf={({ id }) => id}
        columns={[
          { title: 'Owner', cell: ({ owner }) => <NameLink page="owner">{owner}</NameLink> },
          {
            title: 'Size',
            cell: ({ bytes, until }) => (
              <>
                <Size bytes={bytes} />
                {until !== null && <span class="quiet-text small"> until {dayWords(until)}</span>}
              </>
            ),
          },
          {
            title: 'Reason',
            cell: ({ why, owner, asked_by: by }) => (
              <>
                <Name>{why}</Name>
                {by !== owner && (
                  <p class="quiet-text">
                    Asked by <Name>{by}</Name>
                  </p>
                )}
              </>
            ),
          },
          { title: 'Requested', isWide: true, cell: request => <Time at={request.asked_at} /> },
          {
            title: 'Answer',
            cell: request =>
              request.state === 'open' ? (
                <span class="row">
                  <Button onClick={() => setGranting(request)}>
                    Grant<span class="visually-hidden"> the request of {printable(request.owner)}</span>
                  </Button>
                  <RowButton
                    words="Decline"
                    about={`the request of ${printable(request.owner)}`}
                    onClick={() => setDeclining(request)}
                  />
                </span>
              ) : (
                <RequestAnswer request={request} />
              ),
          },
        ]}
      />
      {granting !== null && <Granting request={granting} onClose={() => setGranting(null)} />}
      {declining !== null && <Declining request={declining} onClose={() => setDeclining(null)} />}
    </>
  );
}

interface AnsweringProps {
  readonly request: SpaceRequest;
  readonly onClose: () => void;
}

function Granting({ request: { id, owner, bytes, until }, onClose }: AnsweringProps) {
  const [typed, setTyped] = useState({
    size: writeSize(bytes),
    lastDay: until === null ? '' : dayWords(until),
    words: '',
  });
  const more = moreIn(typed);
  // If the day was not changed, the requested moment is used and not the end of that day.
  const isAsAsked = until !== null && typed.lastDay === dayWords(until);
  return (
    <Confirm
      title="Grant this request?"
      action="Grant the request"
      done="The request is granted."
      isReady={more !== null}
      act={async () => {
        if (more === null) return;
        const body = { ...more, ...(isAsAsked ? { until } : {}), words: typed.words };
        await ask([...path, id, 'grant'], { method: 'POST', body });
      }}
      onClose={onClose}
    >
      <Query of={ownerQuery(owner)} what="the usage" rows={1}>
        {report => <Together report={report} more={more?.bytes ?? 0} />}
      </Query>
      <p>
        <Name>{owner}</Name> may store this much more than the rules allow, until the end of that day:
      </p>
      <MoreFields more={typed} onChange={changed => setTyped({ ...typed, ...changed })} />
      <Field
        label="Words for the asker (optional)"
        value={typed.words}
        onInput={words => setTyped({ ...typed, words })}
      />
    </Confirm>
  );
}

/** Shows the usage by the fullest limit, now and with the grant. */
function Together({ report, more }: { readonly report: OwnerReport; readonly more: number }) {
  const { subject, used, limit } = report;
  if (used === null || limit === null || limit <= 0) return null;
  return (
    <p>
      {kindWords(subject)}: <Use used={used} limit={limit} /> now (<Percent used={used} limit={limit} />
      ), <Use used={used} limit={limit + more} /> with this (<Percent used={used} limit={limit + more} />
      ).
    </p>
  );
}

function Declining({ request: { id, owner }, onClose }: AnsweringProps) {
  const [words, setWords] = useState('');
  return (
    <Confirm
      title="Decline this request?"
      action="Decline the request"
      done="The request is declined."
      isReady={words.trim() !== ''}
      act={() => ask([...path, id, 'decline'], { method: 'POST', body: { words } })}
      onClose={onClose}
    >
      <Field
        label="Words for the asker"
        value={words}
        onInput={setWords}
        hint={`${printable(owner)} sees your answer. Write why, and what else can help.`}
        required
      />
    </Confirm>
  );
}
