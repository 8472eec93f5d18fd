/** Pages of the user's own usage, and of an organization's usage for its owners. */

import { useQuery } from '@tanstack/preact-query';
import { ownReportQuery } from '../api/own-queries.ts';
import { mailWishQuery, wantMail } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Contact } from '../own/advice.tsx';
import { MoreSpace } from '../own/more-space.tsx';
import { OwnUsage } from '../own/own-usage.tsx';
import { announce } from '../parts/announcer.tsx';
import { useAction } from '../parts/button.tsx';
import { Check } from '../parts/field.tsx';
import { Name, NameLink } from '../parts/name.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { Empty, Failed, Fault, Query } from '../parts/states.tsx';
import { to } from '../place.ts';

export function Mine() {
  const session = useSession();
  const organizations = session.data?.organizations ?? [];
  return (
    <Page title="My usage" help="mine">
      <OwnUsage own={{ is: 'me' }}>
        {organizations.length > 0 && (
          <Panel title="My organizations">
            <ul class="columns">
              {organizations.map(name => (
                <li key={name}>
                  <NameLink page="organization">{name}</NameLink>
                </li>
              ))}
            </ul>
          </Panel>
        )}
        <OwnMails />
      </OwnUsage>
    </Page>
  );
}

export function MyRequests() {
  return (
    <Page title="Requests" help="mine">
      <Query of={ownReportQuery({ is: 'me' })} what="your requests" rows={4}>
        {report => (
          <>
            {!report.may_ask && (
              <Empty>
                This server takes no requests for more space here: ask{' '}
                {report.contact === null ? 'an administrator' : <Contact>{report.contact}</Contact>}.
              </Empty>
            )}
            <MoreSpace own={{ is: 'me' }} report={report} />
          </>
        )}
      </Query>
    </Page>
  );
}

export function Organization({ name }: { readonly name: string }) {
  return (
    <Page title={name} heading={<Name>{name}</Name>} help="mine" trail={<a href={to('mine')}>My usage</a>}>
      <OwnUsage own={{ is: 'organization', name }} />
    </Page>
  );
}

function OwnMails() {
  const wish = useQuery(mailWishQuery);
  const { start, failure } = useAction(async (isWanted: boolean) => {
    await wantMail(isWanted);
    announce(isWanted ? 'You get mails.' : 'You get no more mails.');
  });
  if (wish.data === undefined) {
    return wish.error === null ? null : <Failed query={wish} what="whether you get mails" />;
  }
  const { sends, mail, address } = wish.data;
  if (!sends) return null;

  return (
    <Panel title="Mails">
      <Check label="Send me mails about my usage" checked={mail} onChange={start} />
      <p class="quiet-text">
        {address === '' ? (
          'The server does not know your mail address. An administrator can enter it.'
        ) : (
          <>
            They go to <Name>{address}</Name>.
          </>
        )}
      </p>
      {failure !== null && <Fault of={failure} />}
    </Panel>
  );
}
