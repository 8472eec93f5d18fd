/** Sessions of a user, and buttons to end them. */

import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import type { SessionRow } from '../../../src/wire/index.ts';
import { endSessions, sessionsQuery } from '../api/queries.ts';
import { Button } from './button.tsx';
import { Confirm } from './dialog.tsx';
import { Time, timeWords } from './figures.tsx';
import { Panel } from './page.tsx';
import { Answered } from './states.tsx';
import { RowButton, Table } from './table.tsx';

export const signedInWords: Readonly<Record<SessionRow['via'], string>> = {
  token: 'with a token',
  link: 'with a one-time link',
  source: 'with single sign-on',
};

export function Sessions({ user }: { readonly user: string }) {
  const sessions = useQuery(sessionsQuery(user));
  const [ending, setEnding] = useState<readonly SessionRow[]>([]);
  const others = sessions.data?.filter(({ current }) => !current) ?? [];
  return (
    <Panel
      title="Sessions"
      actions={
        others.length > 1 && (
          <Button onClick={() => setEnding(others)}>
            {others.length === sessions.data?.length ? 'End all' : 'End all others'}
          </Button>
        )
      }
    >
      <Answered query={sessions} what="the sessions" rows={2}>
        {list => (
          <Table
            caption="Sessions"
            empty="Nobody is signed in."
            rows={list}
            keyOf={({ id }) => id}
            columns={[
              {
                title: 'Signed in',
                cell: ({ created_at, via }) => (
                  <>
                    <Time at={created_at} /> {signedInWords[via]}
                  </>
                ),
              },
              { title: 'Last used', cell: session => <Time at={session.last_used_at} /> },
              { title: 'Ends', isWide: true, cell: session => <Time at={session.expires_at} /> },
              {
                title: 'End',
                cell: session =>
                  session.current ? (
                    'this session'
                  ) : (
                    <RowButton
                      words="End"
                      about={`the session that began ${timeWords(new Date(session.created_at))}`}
                      onClick={() => setEnding([session])}
                    />
                  ),
              },
            ]}
          />
        )}
      </Answered>
      {ending.length > 0 && (
        <Confirm
          title={ending.length === 1 ? 'End this session?' : `End ${ending.length} sessions?`}
          action={ending.length === 1 ? 'End the session' : 'End the sessions'}
          done={ending.length === 1 ? 'The session has ended.' : 'The sessions have ended.'}
          act={() => endSessions(user, ending)}
          onClose={() => setEnding([])}
        >
          <p>
            The browser with {ending.length === 1 ? 'this session' : 'each of these sessions'} is signed out
            at once. The user has to sign in again.
          </p>
        </Confirm>
      )}
    </Panel>
  );
}
