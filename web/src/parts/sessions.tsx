/** Sessions of a user, and the way to end them. */

import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import type { SessionRow } from '../../../src/wire/index.ts';
import { endSession, sessionsQuery } from '../api/account-queries.ts';
import { refresh } from '../api/client.ts';
import { Confirm } from './dialog.tsx';
import { Time } from './figures.tsx';
import { Panel } from './page.tsx';
import { Answered, Empty } from './states.tsx';
import { Table } from './table.tsx';

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
          <button type="button" onClick={() => setEnding(others)}>
            {others.length === sessions.data?.length ? 'End all' : 'End all others'}
          </button>
        )
      }
    >
      <Answered query={sessions} what="the sessions" rows={2}>
        {list =>
          list.length === 0 ? (
            <Empty>Nobody is signed in.</Empty>
          ) : (
            <Table
              caption="Sessions"
              rows={list}
              keyOf={({ id }) => id}
              columns={[
                {
                  key: 'since',
                  title: 'Signed in',
                  cell: ({ created_at, via }) => (
                    <>
                      <Time at={created_at} /> {signedInWords[via]}
                    </>
                  ),
                },
                { key: 'used', title: 'Last used', cell: session => <Time at={session.last_used_at} /> },
                {
                  key: 'until',
                  title: 'Ends',
                  isWide: true,
                  cell: session => <Time at={session.expires_at} />,
                },
                {
                  key: 'end',
                  title: 'End',
                  cell: session =>
                    session.current ? (
                      'this session'
                    ) : (
                      <button type="button" class="quiet" onClick={() => setEnding([session])}>
                        End
                        <span class="visually-hidden">
                          {' '}
                          the session that began <Time at={session.created_at} />
                        </span>
                      </button>
                    ),
                },
              ]}
            />
          )
        }
      </Answered>
      {ending.length > 0 && (
        <Confirm
          title={ending.length === 1 ? 'End this session?' : `End ${ending.length} sessions?`}
          action={ending.length === 1 ? 'End the session' : 'End the sessions'}
          done={ending.length === 1 ? 'The session has ended.' : 'The sessions have ended.'}
          act={async () => {
            for (const { id } of ending) await endSession(user, id);
            await refresh();
          }}
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
