/** More space: allowances, requests with their answers, and the form for a new request. */

import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import type { OwnReport, SpaceRequest } from '../../../src/wire/index.ts';
import { ask } from '../api/ask.ts';
import { historyQuery, type Own, ownRequestsQuery, quotaOf, requestMore } from '../api/own-queries.ts';
import { AllowanceTable, RequestAnswer } from '../parts/allowances.tsx';
import { announce } from '../parts/announcer.tsx';
import { Button, useAction } from '../parts/button.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { MoreFields, moreIn, TextArea } from '../parts/field.tsx';
import { Size, Time } from '../parts/figures.tsx';
import { Panel } from '../parts/page.tsx';
import { Answered, Fault } from '../parts/states.tsx';
import { RowButton, Table } from '../parts/table.tsx';
import { autoGrantWords, type Proposal, proposal } from './proposal.ts';

export interface MoreSpaceProps {
  readonly own: Own;
  readonly report: OwnReport;
}

export function MoreSpace({ own, report }: MoreSpaceProps) {
  const requests = useQuery(ownRequestsQuery(own));
  const { allowances, may_ask: mayAsk } = report;
  if (!mayAsk && allowances.length === 0 && requests.data?.length === 0) return null;
  return (
    <Panel title="More space">
      {allowances.length > 0 && <AllowanceTable allowances={allowances} />}
      <Answered query={requests} what="the requests" rows={2}>
        {list => (
          <>
            {list.length > 0 && <Requests own={own} requests={list} />}
            {mayAsk && <Asking own={own} report={report} requests={list} />}
          </>
        )}
      </Answered>
    </Panel>
  );
}

interface RequestsProps {
  readonly own: Own;
  readonly requests: readonly SpaceRequest[];
}

function Requests({ own, requests }: RequestsProps) {
  const [withdrawing, setWithdrawing] = useState<SpaceRequest | null>(null);
  return (
    <>
      <Table
        caption="Requests, the latest first"
        rows={requests}
        keyOf={({ id }) => id}
        columns={[
          { title: 'Requested', cell: request => <Time at={request.asked_at} /> },
          { title: 'Size', isNumber: true, cell: ({ bytes }) => <Size bytes={bytes} /> },
          { title: 'Until', isWide: true, cell: ({ until }) => <Time at={until} absent="not given" /> },
          { title: 'Answer', cell: request => <RequestAnswer request={request} /> },
          {
            title: 'Change',
            cell: request =>
              request.state === 'open' && (
                <RowButton words="Withdraw" onClick={() => setWithdrawing(request)} />
              ),
          },
        ]}
      />
      {withdrawing !== null && (
        <Confirm
          title="Withdraw this request?"
          action="Withdraw the request"
          done="The request is withdrawn."
          act={() => ask([...quotaOf(own), 'requests', withdrawing.id], { method: 'DELETE' })}
          onClose={() => setWithdrawing(null)}
        >
          <p>Administrators can no longer answer it. You can send a new request.</p>
        </Confirm>
      )}
    </>
  );
}

function Asking({ own, report, requests }: MoreSpaceProps & RequestsProps) {
  const [isOpen, setOpen] = useState(false);
  const history = useQuery(historyQuery(own, 'week'));
  if (requests.some(({ state }) => state === 'open')) {
    return <p class="quiet-text">Your request waits for an answer from an administrator.</p>;
  }
  if (isOpen && (history.data !== undefined || history.error !== null)) {
    const filled = proposal(report, history.data?.growth ?? null, Date.now());
    return (
      <RequestForm own={own} filled={filled} autoGrant={report.auto_grant} onClose={() => setOpen(false)} />
    );
  }
  return (
    <p>
      <Button look="primary" disabled={isOpen} onClick={() => setOpen(true)}>
        Ask for more space
      </Button>
    </p>
  );
}

interface RequestFormProps {
  readonly own: Own;
  readonly filled: Proposal;
  readonly autoGrant: OwnReport['auto_grant'];
  readonly onClose: () => void;
}

function RequestForm({ own, filled, autoGrant, onClose }: RequestFormProps) {
  const [typed, setTyped] = useState(filled);
  const more = moreIn(typed);
  const { start, isBusy, failure } = useAction(async () => {
    if (more === null) return;
    const made = await requestMore(own, { ...more, why: typed.why });
    announce(made.state === 'granted' ? 'The request is granted.' : 'The request is sent.');
    onClose();
  });
  return (
    <form class="stack" aria-label="Ask for more space" onSubmit={start}>
      {autoGrant !== null && <p class="quiet-text">{autoGrantWords(autoGrant)}</p>}
      <MoreFields more={typed} onChange={changed => setTyped({ ...typed, ...changed })} />
      <TextArea
        label="Reason, for the administrators"
        value={typed.why}
        onInput={why => setTyped({ ...typed, why })}
        isCode={false}
      />
      {failure !== null && <Fault of={failure} />}
      <div class="actions">
        <Button onClick={onClose}>Cancel</Button>
        <button type="submit" class="primary" disabled={isBusy || more === null || typed.why.trim() === ''}>
          Send the request
        </button>
      </div>
    </form>
  );
}
