/**
 * For administrators: the tokens and the sessions of all users, and those of one user, where the address says
 * whose.
 */

import { useQuery } from '@tanstack/preact-query';
import { useEffect, useState } from 'preact/hooks';
import type { AnySession, AnyToken } from '../../../src/wire/index.ts';
import { endSession, revokeToken } from '../api/account-queries.ts';
import { refresh } from '../api/client.ts';
import { allSessionsQuery, allTokensQuery, userQuery } from '../api/queries.ts';
import { Confirm } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { Time } from '../parts/figures.tsx';
import { Name } from '../parts/name.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { Pager } from '../parts/pager.tsx';
import { Sessions, signedInWords } from '../parts/sessions.tsx';
import { useSettled } from '../parts/settled.ts';
import { Answered, Empty } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Tokens } from '../parts/tokens.tsx';
import { to, useQueryPart } from '../place.ts';

const settledMs = 100;
const pageSize = 50;

export function TokensOfAnybody() {
  const [query, change] = useQueryPart();
  const user = query.get('user') ?? '';
  const q = query.get('q') ?? '';
  const [text, setText] = useState(q);
  const settled = useSettled(text.trim(), settledMs);
  useEffect(() => {
    if (settled !== q) change({ q: settled });
  });
  if (user !== '') {
    return (
      <Page title="Tokens and sessions" help="tokens" trail={<a href={to('tokens')}>Tokens and sessions</a>}>
        <Of key={user} name={user} />
      </Page>
    );
  }
  return (
    <Page title="Tokens and sessions" help="tokens">
      <search>
        <Field label="User" type="search" value={text} onInput={setText} hint="Part of the name" />
      </search>
      <AllTokens key={`tokens ${q}`} q={q} />
      <AllSessions key={`sessions ${q}`} q={q} />
    </Page>
  );
}

function Of({ name }: { name: string }) {
  const user = useQuery(userQuery(name));
  return (
    <Answered query={user} what="the user">
      {({ login, is_admin }) => (
        <>
          <h2>
            <a href={to('owner', login)}>
              <Name>{login}</Name>
            </a>
          </h2>
          <Tokens user={login} isAdmin={is_admin} />
          <Sessions user={login} />
        </>
      )}
    </Answered>
  );
}

const userColumn = {
  key: 'user',
  title: 'User',
  cell: ({ user }: { readonly user: string }) => (
    <a href={to('tokens', undefined, { user })}>
      <Name>{user}</Name>
    </a>
  ),
};

function AllTokens({ q }: { q: string }) {
  const [page, setPage] = useState(1);
  const [revoking, setRevoking] = useState<AnyToken | null>(null);
  const tokens = useQuery(allTokensQuery({ q, page, limit: pageSize }));
  const columns: readonly Column<AnyToken>[] = [
    userColumn,
    { key: 'name', title: 'Token', cell: ({ name }) => <Name>{name}</Name> },
    { key: 'scopes', title: 'Scopes', isWide: true, cell: ({ scopes }) => scopes.join(', ') },
    { key: 'used', title: 'Last used', isWide: true, cell: token => <Time at={token.last_used_at} /> },
    { key: 'expires', title: 'Expires', isWide: true, cell: token => <Time at={token.expires_at} /> },
    {
      key: 'revoke',
      title: 'Revoke',
      cell: token => (
        <button type="button" class="quiet" onClick={() => setRevoking(token)}>
          Revoke{' '}
          <span class="visually-hidden">
            the token <Name>{token.name}</Name> of <Name>{token.user}</Name>
          </span>
        </button>
      ),
    },
  ];
  return (
    <Panel title="Tokens, newest first">
      <Answered query={tokens} what="the tokens" rows={4}>
        {({ entries, total }) =>
          total === 0 ? (
            <Empty>{q === '' ? 'No tokens yet.' : 'No user with this text in the name has a token.'}</Empty>
          ) : (
            <div class="stack">
              <Table
                caption="Tokens of all users"
                rows={entries}
                keyOf={({ user, id }) => `${user} ${id}`}
                columns={columns}
              />
              <Pager
                page={page}
                pageSize={pageSize}
                total={total}
                of={['token', 'tokens']}
                onPage={setPage}
              />
            </div>
          )
        }
      </Answered>
      {revoking !== null && (
        <Confirm
          title="Revoke this token?"
          action="Revoke the token"
          done="The token is revoked."
          isDangerous
          act={async () => {
            await revokeToken(revoking.user, revoking.id);
            await refresh();
          }}
          onClose={() => setRevoking(null)}
        >
          <p>
            Programs that use <Name>{revoking.name}</Name> of <Name>{revoking.user}</Name> are refused from
            then on. This cannot be undone.
          </p>
        </Confirm>
      )}
    </Panel>
  );
}

function AllSessions({ q }: { q: string }) {
  const [page, setPage] = useState(1);
  const [ending, setEnding] = useState<AnySession | null>(null);
  const sessions = useQuery(allSessionsQuery({ q, page, limit: pageSize }));
  const columns: readonly Column<AnySession>[] = [
    userColumn,
    {
      key: 'since',
      title: 'Signed in',
      cell: ({ created_at: at, via }) => (
        <>
          <Time at={at} /> <span class="quiet-text">{signedInWords[via]}</span>
        </>
      ),
    },
    { key: 'used', title: 'Last used', isWide: true, cell: session => <Time at={session.last_used_at} /> },
    { key: 'ends', title: 'Ends', isWide: true, cell: session => <Time at={session.expires_at} /> },
    {
      key: 'end',
      title: 'End',
      cell: session =>
        session.current ? (
          <span class="quiet-text">this session</span>
        ) : (
          <button type="button" class="quiet" onClick={() => setEnding(session)}>
            End{' '}
            <span class="visually-hidden">
              the session of <Name>{session.user}</Name> that began <Time at={session.created_at} />
            </span>
          </button>
        ),
    },
  ];
  return (
    <Panel title="Sessions, newest first">
      <Answered query={sessions} what="the sessions" rows={4}>
        {({ entries, total }) =>
          total === 0 ? (
            <Empty>
              {q === '' ? 'Nobody is signed in.' : 'No user with this text in the name is signed in.'}
            </Empty>
          ) : (
            <div class="stack">
              <Table
                caption="Sessions of all users"
                rows={entries}
                keyOf={({ user, id }) => `${user} ${id}`}
                columns={columns}
              />
              <Pager
                page={page}
                pageSize={pageSize}
                total={total}
                of={['session', 'sessions']}
                onPage={setPage}
              />
            </div>
          )
        }
      </Answered>
      {ending !== null && (
        <Confirm
          title="End this session?"
          action="End the session"
          done="The session has ended."
          act={async () => {
            await endSession(ending.user, ending.id);
            await refresh();
          }}
          onClose={() => setEnding(null)}
        >
          <p>
            The browser of <Name>{ending.user}</Name> is signed out at once. The user has to sign in again.
          </p>
        </Confirm>
      )}
    </Panel>
  );
}
