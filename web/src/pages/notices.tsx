/** Page of notices: receivers, deliveries that wait or have failed, and tests. */

import { useState } from 'preact/hooks';
import { counted, printable } from '../../../src/text.ts';
import type { NoticeList, NoticePlace } from '../../../src/wire/index.ts';
import { mostDeliveries, noticesQuery, sendAgain, sendTest } from '../api/queries.ts';
import { announce } from '../parts/announcer.tsx';
import { Button, useAction } from '../parts/button.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { Count, Time } from '../parts/figures.tsx';
import { Name } from '../parts/name.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { Empty, Fault, Query } from '../parts/states.tsx';
import { RowButton, Table } from '../parts/table.tsx';

export function Notices() {
  return (
    <Page title="Notices" help="notices">
      <Query of={noticesQuery} what="the notices">
        {({ places, deliveries, forgotten }) =>
          places.length === 0 && deliveries.length === 0 ? (
            <Unconfigured />
          ) : (
            <>
              <Places places={places} />
              <Deliveries deliveries={deliveries} forgotten={forgotten} />
            </>
          )
        }
      </Query>
    </Page>
  );
}

function Unconfigured() {
  return (
    <Empty>
      <p>This server tells nobody what happens.</p>
      <p>
        A section <code>[webhook.NAME]</code> of app.ini with <code>URL</code> and <code>SECRET</code> posts
        notices to a program, and <code>[mail]</code> with <code>HOST</code> and <code>FROM</code> sends mails
        to owners and administrators.
      </p>
    </Empty>
  );
}

function Places({ places }: { readonly places: readonly NoticePlace[] }) {
  const [testing, setTesting] = useState<NoticePlace | null>(null);
  return (
    <Panel title="Places">
      <Table
        caption="Places that notices go to"
        rows={places}
        keyOf={({ name }) => name}
        columns={[
          { title: 'Place', cell: ({ name }) => <Name>{name}</Name> },
          {
            title: 'Notices',
            isWide: true,
            cell: ({ events }) => (events.length === 0 ? 'all' : events.join(', ')),
          },
          { title: 'Waiting', isNumber: true, cell: ({ pending }) => <Count>{pending}</Count> },
          { title: 'Dead', isNumber: true, cell: ({ dead }) => <Count>{dead}</Count> },
          { title: 'Sent', isNumber: true, isWide: true, cell: ({ sent }) => <Count>{sent}</Count> },
          { title: 'Last sent', isWide: true, cell: place => <Time at={place.last_sent_at} /> },
          {
            title: 'Last fault',
            isWide: true,
            cell: ({ last_fault: fault }) => (fault === null ? 'none' : printable(fault)),
          },
          {
            title: 'Test',
            cell: place => (
              <RowButton
                words="Send a test"
                about={`to ${printable(place.name)}`}
                onClick={() => setTesting(place)}
              />
            ),
          },
        ]}
      />
      {testing !== null && <Testing place={testing} onClose={() => setTesting(null)} />}
    </Panel>
  );
}

interface TestingProps {
  readonly place: NoticePlace;
  readonly onClose: () => void;
}

function Testing({ place: { name, via }, onClose }: TestingProps) {
  const [address, setAddress] = useState('');
  return (
    <Confirm
      title={`Send a test to ${printable(name)}?`}
      action="Send the test"
      done={`The test was delivered to ${printable(name)}.`}
      act={async () => {
        const { delivered, fault } = await sendTest(name, address.trim());
        if (!delivered) throw new Error(`Not delivered: ${printable(fault ?? '')}`);
      }}
      onClose={onClose}
    >
      {via === 'mail' ? (
        <Field
          label="Mail address (optional)"
          type="email"
          value={address}
          onInput={setAddress}
          hint="Empty: it goes to all administrators who get mails."
        />
      ) : (
        <p>The receiver gets a notice of the type “test”, at once and once.</p>
      )}
    </Confirm>
  );
}

interface DeliveriesProps {
  readonly deliveries: NoticeList['deliveries'];
  readonly forgotten: number;
}

function Deliveries({ deliveries, forgotten }: DeliveriesProps) {
  const {
    start: again,
    isBusy,
    failure,
  } = useAction(async (id: string | null) => {
    const count = await sendAgain(id);
    announce(`${counted(count, 'notice waits', 'notices wait')} again.`);
  });
  const hasDead = deliveries.some(({ state }) => state === 'dead');
  return (
    <Panel
      title="Waiting and dead"
      actions={
        hasDead && (
          <Button disabled={isBusy} onClick={() => void again(null)}>
            Send all again
          </Button>
        )
      }
    >
      {failure !== null && <Fault of={failure} />}
      <DeliveryTable deliveries={deliveries} onAgain={id => void again(id)} />
      {deliveries.length === mostDeliveries && (
        <p class="quiet-text">
          These are the newest <Count>{mostDeliveries}</Count>.
        </p>
      )}
      {forgotten > 0 && (
        <p class="quiet-text">
          <Count>{forgotten}</Count> more that were dead are forgotten.
        </p>
      )}
    </Panel>
  );
}

interface DeliveryTableProps {
  readonly deliveries: NoticeList['deliveries'];
  readonly onAgain: (id: string) => void;
}

function DeliveryTable({ deliveries, onAgain }: DeliveryTableProps) {
  return (
    <Table
      caption="Notices that wait or are dead, the newest first"
      empty="Nothing waits, and nothing is dead."
      rows={deliveries}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Notice',
          isMain: true,
          cell: ({ message, fault }) => (
            <>
              <Name>{message}</Name>
              {fault !== null && <p class="quiet-text">{printable(fault)}</p>}
            </>
          ),
        },
        { title: 'Time', isWide: true, cell: ({ at }) => <Time at={at} /> },
        { title: 'To', isWide: true, cell: ({ to }) => <Name>{to}</Name> },
        {
          title: 'State',
          cell: ({ state, attempts, next_at: nextAt }) =>
            state === 'dead' ? (
              <>
                <span class="mark bad">dead</span> after {counted(attempts, 'attempt', 'attempts')}
              </>
            ) : (
              <>
                <span class="mark near">waiting</span> {attempts > 0 && <>until </>}
                {attempts > 0 && <Time at={nextAt} />}
              </>
            ),
        },
        {
          title: 'Change',
          cell: ({ id, state }) =>
            state === 'dead' && <RowButton words="Send again" onClick={() => onAgain(id)} />,
        },
      ]}
    />
  );
}
