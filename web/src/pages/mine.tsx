/** Page of one's own usage, and of the organizations whose usage one may see. */

import { useSession } from '../api/session.ts';
import { OwnMails } from '../own/own-mails.tsx';
import { OwnUsage } from '../own/own-usage.tsx';
import { NameLink } from '../parts/name.tsx';
import { Page, Panel } from '../parts/page.tsx';

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
