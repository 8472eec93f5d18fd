/**
 * One owner: its usage, what can be added and why, its repositories and other data, and everything that can
 * be changed about it.
 */

import { useQuery } from '@tanstack/preact-query';
import type { OwnerReport } from '../../../src/wire/index.ts';
import { ownerQuery, userQuery } from '../api/queries.ts';
import { Fullness, kindWords } from '../parts/bar.tsx';
import { EventList } from '../parts/event-list.tsx';
import { Use } from '../parts/figures.tsx';
import { History } from '../parts/history.tsx';
import { Name } from '../parts/name.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { Sessions } from '../parts/sessions.tsx';
import { Answered, Empty } from '../parts/states.tsx';
import { Stored } from '../parts/stored.tsx';
import { Tokens } from '../parts/tokens.tsx';
import { Units } from '../parts/units.tsx';
import { Added, DecidedBy } from '../parts/verdict.tsx';
import { to } from '../place.ts';
import { OwnerAccount } from './owner-account.tsx';
import { OwnerAllowances } from './owner-allowances.tsx';
import { OwnerGroups } from './owner-groups.tsx';
import { OwnerMembers } from './owner-members.tsx';
import { OwnerVerdicts } from './owner-verdicts.tsx';

export function Owner({ name }: { name: string }) {
  const owner = useQuery(ownerQuery(name));
  return (
    <Page title={name} heading={<Name>{name}</Name>} help="owner" trail={<a href={to('owners')}>Owners</a>}>
      <Answered query={owner} what="the owner" rows={10}>
        {report =>
          report.known ? (
            <Known report={report} />
          ) : (
            <Empty>No owner has this name. It may have been deleted or renamed.</Empty>
          )
        }
      </Answered>
    </Page>
  );
}

function Known({ report }: { report: OwnerReport }) {
  const { name, units } = report;
  const user = useQuery(userQuery(name));
  return (
    <>
      <Stored
        title="Stored"
        report={report}
        state={report.state}
        measured={`${report.type === 'organization' ? 'An organization' : 'A user'}, measured`}
      >
        <Nearest report={report} />
      </Stored>
      <OwnerVerdicts report={report} />
      <OwnerAllowances report={report} />
      <OwnerGroups name={name} />
      <Panel
        title="Repositories and other data"
        actions={<a href={to('space', name)}>What takes the space</a>}
      >
        {units.length === 0 ? <Empty>Nothing is stored.</Empty> : <Units units={units} />}
      </Panel>
      <History of={{ is: 'owner', name }} />
      <Panel title="Events">
        <EventList asked={{ kind: undefined, owner: name, limit: 10 }} isOfOne />
      </Panel>
      <Answered query={user} what="the account">
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
      </Answered>
    </>
  );
}

/** The limit that is the fullest, as the list of owners has it. */
function Nearest({ report }: { report: OwnerReport }) {
  if (report.used === null || report.limit === null || report.limit === -1) return null;
  return (
    <div>
      <p>
        {kindWords(report.subject)}: <Use used={report.used} limit={report.limit} />
        <Added verdict={report} /> <DecidedBy verdict={report} hasLinks />
      </p>
      {report.subject !== 'size:all' && (
        <div class="nearest">
          <Fullness {...report} />
        </div>
      )}
    </div>
  );
}
