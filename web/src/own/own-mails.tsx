/** The switch for mails about one's own usage, where the server sends any. */

import { useQuery } from '@tanstack/preact-query';
import { mailWishQuery, wantMail } from '../api/notice-queries.ts';
import { useAction } from '../parts/action.ts';
import { announce } from '../parts/announcer.tsx';
import { Check } from '../parts/field.tsx';
import { Name } from '../parts/name.tsx';
import { Panel } from '../parts/page.tsx';
import { Failed, Fault } from '../parts/states.tsx';

export function OwnMails() {
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
