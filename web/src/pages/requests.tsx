/** The page of requests for more space, which administrators grant or decline. */

import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { writeSize } from '../../../src/text/index.ts';
import type { SpaceRequest } from '../../../src/wire/index.ts';
import { declineRequest, grantRequest, requestsQuery } from '../api/request-queries.ts';
import { dayWords } from '../history/growth-words.ts';
import { Confirm } from '../parts/dialog.tsx';
import { Choice, Field } from '../parts/field.tsx';
import { Size, Time } from '../parts/figures.tsx';
import { MoreFields } from '../parts/more-fields.tsx';
import { Name } from '../parts/name.tsx';
import { Page } from '../parts/page.tsx';
import { Pager } from '../parts/pager.tsx';
import { RequestAnswer } from '../parts/request-answer.tsx';
import { Answered, Empty } from '../parts/states.tsx';
import { Table } from '../parts/table.tsx';
import { moreIn } from '../parts/typed-more.ts';
import { to, useQueryPart } from '../place.ts';

const states = [
  ['open', 'open'],
  ['granted', 'granted'],
  ['declined', 'declined'],
  ['withdrawn', 'withdrawn'],
  ['all', 'all'],
] as const satisfies readonly (readonly [SpaceRequest['state'] | 'all', string])[];

const pageSize = 50;

export function Requests() {
  const [query, change] = useQueryPart();
  const state = states.find(([value]) => value === query.get('state'))?.[0] ?? 'open';
  const page = Math.max(1, Math.floor(Number(query.get('page') ?? '1')) || 1);
  const requests = useQuery(
    requestsQuery({ state: state === 'all' ? undefined : state, page, limit: pageSize }),
  );
  return (
    <Page title="Requests" help="requests">
      <p>Owners ask here for more space. A granted request is an allowance: more space for a limited time.</p>
      <Choice
        label="State"
        value={state}
        onChoice={value => change({ state: value === 'open' ? '' : value, page: '' })}
        options={states}
      />
      <Answered query={requests} what="the requests">
        {({ entries, total }) =>
          entries.length === 0 ? (
            <Empty>{state === 'open' ? 'No request waits for an answer.' : 'No such requests.'}</Empty>
          ) : (
            <div class="stack">
              <RequestTable requests={entries} />
              <Pager
                page={page}
                pageSize={pageSize}
                total={total}
                of={['request', 'requests']}
                onPage={next => change({ page: next === 1 ? '' : String(next) })}
              />
            </div>
          )
        }
      </Answered>
    </Page>
  );
}

function RequestTable({ requests }: { readonly requests: readonly SpaceRequest[] }) {
  const [granting, setGranting] = useState<SpaceRequest | null>(null);
  const [declining, setDeclining] = useState<SpaceRequest | null>(null);
  return (
    <>
      <Table
        caption="Requests, the latest first"
        rows={requests}
        keyOf={({ id }) => id}
        columns={[
          {
            key: 'owner',
            title: 'Owner',
            cell: ({ owner }) => (
              <a href={to('owner', owner)}>
                <Name>{owner}</Name>
              </a>
            ),
          },
          { key: 'bytes', title: 'Size', isNumber: true, cell: ({ bytes }) => <Size bytes={bytes} /> },
          {
            key: 'until',
            title: 'Until',
            isWide: true,
            cell: ({ until }) => <Time at={until} absent="not given" />,
          },
          {
            key: 'why',
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
          {
            key: 'at',
            title: 'Requested',
            isWide: true,
            cell: request => <Time at={request.asked_at} />,
          },
          {
            key: 'answer',
            title: 'Answer',
            cell: request =>
              request.state === 'open' ? (
                <span class="row">
                  <button type="button" onClick={() => setGranting(request)}>
                    Grant<span class="visually-hidden"> the request of {request.owner}</span>
                  </button>
                  <button type="button" class="quiet" onClick={() => setDeclining(request)}>
                    Decline<span class="visually-hidden"> the request of {request.owner}</span>
                  </button>
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
  // Untouched, the end is the moment that was asked for, and not the end of its day.
  const isAsAsked = until !== null && typed.lastDay === dayWords(until);
  return (
    <Confirm
      title="Grant this request?"
      action="Grant the request"
      done="The request is granted."
      isReady={more !== null}
      act={async () => {
        if (more === null) return;
        await grantRequest(id, { ...more, ...(isAsAsked ? { until } : {}), words: typed.words });
      }}
      onClose={onClose}
    >
      <p>
        <Name>{owner}</Name> has so much more than the rules say, until the end of the last day.
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

function Declining({ request: { id, owner }, onClose }: AnsweringProps) {
  const [words, setWords] = useState('');
  return (
    <Confirm
      title="Decline this request?"
      action="Decline the request"
      done="The request is declined."
      isReady={words.trim() !== ''}
      act={() => declineRequest(id, words)}
      onClose={onClose}
    >
      <Field
        label="Words for the asker"
        value={words}
        onInput={setWords}
        hint={`${owner} sees your answer. Write why, and what else can help.`}
        required
      />
    </Confirm>
  );
}
