import { useState } from 'preact/hooks';
import { printable } from '../../../src/text.ts';
import type { FleetHost } from '../../../src/wire/index.ts';
import { ask } from '../api/ask.ts';
import { hostsQuery, sharedStoreQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Confirm } from '../parts/dialog.tsx';
import { Count, Size, Time } from '../parts/figures.tsx';
import { Name } from '../parts/name.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { Empty, Query } from '../parts/states.tsx';
import { RowButton, Table } from '../parts/table.tsx';

export function Hosts() {
  const { data: session } = useSession();
  return (
    <Page title="Hosts" help="hosts">
      {session?.shares === true ? <Several /> : <Alone />}
    </Page>
  );
}

function Alone() {
  return (
    <Empty>
      <p>This host does not share its quota with other hosts.</p>
      <p>
        Hosts share a quota with <code>[store] ADAPTER = redis</code>: the usage of all hosts is added up, and
        a policy change on one host is in force on all.
      </p>
    </Empty>
  );
}

function Several() {
  const [forgetting, setForgetting] = useState<FleetHost | null>(null);
  return (
    <>
      <Query of={sharedStoreQuery} what="the shared store" rows={1}>
        {({ away_since: awaySince, reason, divergence }) =>
          awaySince === null && divergence === null ? null : (
            <Panel title="Shared store">
              {awaySince !== null && (
                <p>
                  <span class="mark bad">not reachable</span> since <Time at={awaySince} />:{' '}
                  {printable(reason ?? '')}
                </p>
              )}
              {divergence !== null && (
                <p>
                  <span class="mark bad">policy diverged</span> {printable(divergence.message)}{' '}
                  <code>softquota store repair</code>
                </p>
              )}
            </Panel>
          )
        }
      </Query>
      <Query of={hostsQuery} what="the hosts">
        {list => (
          <Table
            caption="Hosts"
            rows={list}
            keyOf={({ id }) => id}
            columns={[
              { title: 'Host', cell: ({ id }) => <Name>{id}</Name> },
              {
                title: 'State',
                cell: ({ alive, seen_at: seenAt }) =>
                  alive ? (
                    <span class="mark good">running</span>
                  ) : (
                    <span>
                      <span class="mark bad">not responding</span> since <Time at={seenAt} />
                    </span>
                  ),
              },
              { title: 'Version', isWide: true, cell: ({ version }) => printable(version) },
              {
                title: 'Owners',
                isNumber: true,
                isWide: true,
                cell: ({ owners }) => <Count>{owners}</Count>,
              },
              { title: 'Stored', isNumber: true, cell: ({ bytes }) => <Size bytes={bytes} /> },
              {
                title: 'Remove',
                cell: host =>
                  host.alive ? '' : <RowButton words="Remove" onClick={() => setForgetting(host)} />,
              },
            ]}
          />
        )}
      </Query>
      {forgetting !== null && (
        <Confirm
          title={`Remove the host ${printable(forgetting.id)}?`}
          action="Remove the host"
          done="The host is removed."
          isDangerous
          act={() => ask(['admin', 'quota', 'hosts', forgetting.id], { method: 'DELETE' })}
          onClose={() => setForgetting(null)}
        >
          <p>
            Its usage, <Size bytes={forgetting.bytes} />, will no longer count. If the host comes back, it
            reports its usage again.
          </p>
        </Confirm>
      )}
    </>
  );
}
