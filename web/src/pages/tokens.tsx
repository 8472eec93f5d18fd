/**
 * Pages of tokens and sessions: the user's own, and for administrators those of all users or of the user in
 * the address.
 */

import { useState } from 'preact/hooks';
import { printable } from '../../../src/text.ts';
import type { AnySession, AnyToken } from '../../../src/wire/index.ts';
import { allSessionsQuery, allTokensQuery, endSession, userQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Confirm } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { Time, timeWords } from '../parts/figures.tsx';
import { Name, NameLink } from '../parts/name.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { Pager, pageSize } from '../parts/pager.tsx';
import { Sessions, signedInWords } from '../parts/sessions.tsx';
import { useSearchText } from '../parts/settled.ts';
import { Answered, Query } from '../parts/states.tsx';
import { type Column, RowButton, Table } from '../parts/table.tsx';
import { RevokeToken, Tokens } from '../parts/tokens.tsx';
import { to, useQueryPart } from '../place.ts';

const settledMs = 100;

export function TokensOfAnybody() {
  const [query] = useQueryPart();
  const user = query.get('user') ?? '';
  const q = query.get('q') ?? '';
  const { text, setText } = useSearchText(settledMs);
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
  return (
    <Query of={userQuery(name)} what="the user">
      {({ login, is_admin }) => (
        <>
          <h2>
            <NameLink page="owner">{login}</NameLink>
          </h2>
          <Tokens user={login} isAdmin={is_admin} />
          <Sessions user={login} />
        </>
      )}
    </Query>
  );
}

const userColumn = {
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
  const columns: readonly Column<AnyToken>[] = [
    userColumn,
    { title: 'Token', cell: ({ name }) => <Name>{name}</Name> },
    { title: 'Scopes', isWide: true, cell: ({ scopes }) => scopes.join(', ') },
    { title: 'Last used', isWide: true, cell: token => <Time at={token.last_used_at} /> },
    { title: 'Expires', isWide: true, cell: token => <Time at={token.expires_at} /> },
    {
      title: 'Revoke',
      cell: token => (
        <RowButton
          words="Revoke"
          about={`the token ${printable(token.name)} of ${printable(token.user)}`}
          onClick={() => setRevoking(token)}
        />
      ),
    },
  ];
  return (
    <Panel title="Tokens, newest first">
      <Query of={allTokensQuery({ q, page, limit: pageSize })} what="the tokens" rows={4}>
        {({ entries, total }) => (
          <div class="stack">
            <Table
              caption="Tokens of all users"
              empty={
                q === ''
                  ? 'No tokens yet. The page of an owner creates one for that user.'
                  : 'No user with this text in the name has a token.'
              }
              rows={entries}
              keyOf={({ user, id }) => `${user} ${id}`}
              columns={columns}
            />
            <Pager page={page} total={total} of={['token', 'tokens']} onPage={setPage} />
          </div>
        )}
      </Query>
      {revoking !== null && (
        <RevokeToken user={revoking.user} token={revoking} onClose={() => setRevoking(null)}>
          <Name>{revoking.name}</Name> of <Name>{revoking.user}</Name>
        </RevokeToken>
      )}
    </Panel>
  );
}

function AllSessions({ q }: { q: string }) {
  const [page, setPage] = useState(1);
  const [ending, setEnding] = useState<AnySession | null>(null);
  const columns: readonly Column<AnySession>[] = [
    userColumn,
    {
      title: 'Signed in',
      cell: ({ created_at: at, via }) => (
        <>
          <Time at={at} /> <span class="quiet-text">{signedInWords[via]}</span>
        </>
      ),
    },
    { title: 'Last used', isWide: true, cell: session => <Time at={session.last_used_at} /> },
    { title: 'Ends', isWide: true, cell: session => <Time at={session.expires_at} /> },
    {
      title: 'End',
      cell: session =>
        session.current ? (
          <span class="quiet-text">this session</span>
        ) : (
          <RowButton
            words="End"
            about={`the session of ${printable(session.user)} that began ${timeWords(new Date(session.created_at))}`}
            onClick={() => setEnding(session)}
          />
        ),
    },
  ];
  return (
    <Panel title="Sessions, newest first">
      <Query of={allSessionsQuery({ q, page, limit: pageSize })} what="the sessions" rows={4}>
        {({ entries, total }) => (
          <div class="stack">
            <Table
              caption="Sessions of all users"
              empty={q === '' ? 'Nobody is signed in.' : 'No user with this text in the name is signed in.'}
              rows={entries}
              keyOf={({ user, id }) => `${user} ${id}`}
              columns={columns}
            />
            <Pager page={page} total={total} of={['session', 'sessions']} onPage={setPage} />
          </div>
        )}
      </Query>
      {ending !== null && (
        <Confirm
          title="End this session?"
          action="End the session"
          done="The session has ended."
          act={() => endSession(ending.user, ending.id)}
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

export function MyTokens() {
  const session = useSession();
  return (
    <Page title="My tokens and sessions" help="my-tokens">
      <Answered query={session} what="who you are">
        {({ login, is_admin: isAdmin }) => (
          <>
            <Tokens user={login} isAdmin={isAdmin} />
            <Sessions user={login} />
          </>
        )}
      </Answered>
    </Page>
  );
}
