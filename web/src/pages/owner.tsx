/** Page of one owner: usage, limits and their reasons, units, and all settings. */

import { useState } from 'preact/hooks';
import type { Allowance, OwnerReport } from '../../../src/wire/index.ts';
import { ask } from '../api/ask.ts';
import {
  explanationQuery,
  limitedRepositoriesQuery,
  ownerQuery,
  ownerQuotaQuery,
  userQuery,
} from '../api/queries.ts';
import { AllowanceTable } from '../parts/allowances.tsx';
import { Fullness, kindWords } from '../parts/bar.tsx';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { EventList } from '../parts/event-list.tsx';
import { Field, MoreFields, moreIn } from '../parts/field.tsx';
import { Size, Use } from '../parts/figures.tsx';
import { History } from '../parts/history.tsx';
import { Limits } from '../parts/limits.tsx';
import { Name, Path } from '../parts/name.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { OwnPools } from '../parts/pools.tsx';
import { Reasoning } from '../parts/reasoning.tsx';
import { Sessions } from '../parts/sessions.tsx';
import { Empty, Query } from '../parts/states.tsx';
import { Stored } from '../parts/stored.tsx';
import { RowButton, Table } from '../parts/table.tsx';
import { Tokens } from '../parts/tokens.tsx';
import { Units } from '../parts/units.tsx';
import { Added, DecidedBy, State } from '../parts/verdict.tsx';
import { to } from '../place.ts';
import { OwnerAccount, OwnerGroups, OwnerMembers } from './owner-account.tsx';

export function Owner({ name }: { name: string }) {
  return (
    <Page title={name} heading={<Name>{name}</Name>} help="owner" trail={<a href={to('owners')}>Owners</a>}>
      <Query of={ownerQuery(name)} what="the owner" rows={10}>
        {report =>
          report.known ? (
            <Known report={report} />
          ) : (
            <Empty>No owner has this name. It may have been deleted or renamed.</Empty>
          )
        }
      </Query>
    </Page>
  );
}

function Known({ report }: { report: OwnerReport }) {
  const { name, units } = report;
  return (
    <>
      <Stored title="Stored" report={report} state={report.state}>
        <Nearest report={report} />
      </Stored>
      <Limits
        title="What can be added now"
        decisions={report.decisions}
        why={subject => (
          <Query of={explanationQuery(name, subject)} what="the reasoning" rows={3}>
            {whole => <Reasoning explanation={whole} />}
          </Query>
        )}
      />
      <Query of={ownerQuotaQuery(name)} what="the shared limits" rows={1}>
        {({ pools = [] }) => <OwnPools pools={pools} shareWords="Own share" />}
      </Query>
      <LimitedRepositories name={name} />
      <OwnerAllowances report={report} />
      <OwnerGroups name={name} />
      <Panel
        title="Repositories and other data"
        actions={<a href={to('space', name)}>What takes the space</a>}
      >
        {units.length === 0 ? (
          <Empty>Nothing is stored yet. New data appears here after it is measured.</Empty>
        ) : (
          <Units units={units} />
        )}
      </Panel>
      <History of={{ is: 'owner', name }} />
      <Panel title="Events">
        <EventList asked={{ kind: undefined, owner: name, limit: 10 }} isOfOne />
      </Panel>
      <Query of={userQuery(name)} what="the account">
        {account => (
          <>
            <OwnerAccount account={account} hasUnits={units.length > 0} />
            {account.type === 'organization' ? (
              <OwnerMembers organization={account.login} />
            ) : (
              <>
                <Tokens user={account.login} isAdmin={account.is_admin} />
                <Sessions user={account.login} />
              </>
            )}
          </>
        )}
      </Query>
    </>
  );
}

/** Shows the limit with the highest percentage, as in the list of owners. */
function Nearest({ report }: { report: OwnerReport }) {
  if (report.used === null || report.limit === null || report.limit === -1) return null;
  return (
    <div>
      <p>
        {kindWords(report.subject)}: <Use used={report.used} limit={report.limit} />
        <Added verdict={report} /> <DecidedBy verdict={report} />
      </p>
      {report.subject !== 'size:all' && (
        <div class="nearest">
          <Fullness {...report} />
        </div>
      )}
    </div>
  );
}

/** Lists repositories over or near a limit of their own; renders nothing if there are none. */
function LimitedRepositories({ name }: { readonly name: string }) {
  return (
    <Query of={limitedRepositoriesQuery(name)} what="the repositories near their limits" rows={1}>
      {({ entries: rows }) => {
        if (rows.length === 0) return null;
        return (
          <Panel title="Repositories over or near their limit">
            <Table
              caption="Repositories over or near their limit, the fullest first"
              rows={rows}
              keyOf={({ unit }) => unit}
              columns={[
                { title: 'Repository', cell: ({ unit }) => <Path>{unit}</Path> },
                { title: 'State', cell: ({ state }) => <State state={state} /> },
                { title: 'Used', isNumber: true, isWide: true, cell: row => <Use {...row} /> },
                { title: '% of limit', isNumber: true, cell: row => <Fullness {...row} /> },
                {
                  title: 'Decided by',
                  isWide: true,
                  cell: row => <DecidedBy verdict={row} />,
                },
              ]}
            />
          </Panel>
        );
      }}
    </Query>
  );
}

const allowancesOf = (owner: string) => ['admin', 'users', owner, 'quota', 'allowances'];

function OwnerAllowances({ report: { name, allowances } }: { readonly report: OwnerReport }) {
  const [isGiving, setGiving] = useState(false);
  const [ending, setEnding] = useState<Allowance | null>(null);
  const give = <Button onClick={() => setGiving(true)}>Give an allowance</Button>;
  return (
    <Panel title="Allowances" actions={give}>
      {allowances.length === 0 ? (
        <p class="quiet-text">None. The limits are those of the rules.</p>
      ) : (
        <AllowanceTable
          allowances={allowances}
          action={allowance => <RowButton words="End" onClick={() => setEnding(allowance)} />}
        />
      )}
      {isGiving && <Giving name={name} onClose={() => setGiving(false)} />}
      {ending !== null && (
        <Confirm
          title="End this allowance now?"
          action="End it"
          done="The allowance has ended."
          isDangerous
          act={() => ask([...allowancesOf(name), ending.id], { method: 'DELETE' })}
          onClose={() => setEnding(null)}
        >
          <p>
            The limits are lower by <Size bytes={ending.bytes} /> from then on. This cannot be undone.
          </p>
        </Confirm>
      )}
    </Panel>
  );
}

function Giving({ name, onClose }: { readonly name: string; readonly onClose: () => void }) {
  const [typed, setTyped] = useState({ size: '', lastDay: '', why: '' });
  const more = moreIn(typed);
  return (
    <Confirm
      title="Give an allowance"
      action="Give it"
      done="The allowance is given."
      isReady={more !== null && typed.why.trim() !== ''}
      act={() => ask(allowancesOf(name), { method: 'POST', body: { ...more, why: typed.why } })}
      onClose={onClose}
    >
      <p>This size is added to each limit above 0 that applies. It ends automatically after the last day.</p>
      <MoreFields more={typed} onChange={changed => setTyped({ ...typed, ...changed })} />
      <Field label="Reason" value={typed.why} onInput={why => setTyped({ ...typed, why })} required />
    </Confirm>
  );
}
