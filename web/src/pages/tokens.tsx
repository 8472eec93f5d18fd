/** For administrators: the tokens and sessions of any user. The address has whose. */

import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { userQuery, usersQuery } from '../api/queries.ts';
import { Field } from '../parts/field.tsx';
import { Name } from '../parts/name.tsx';
import { Page } from '../parts/page.tsx';
import { Sessions } from '../parts/sessions.tsx';
import { useSettled } from '../parts/settled.ts';
import { Answered, Empty } from '../parts/states.tsx';
import { Tokens } from '../parts/tokens.tsx';
import { to, useQueryPart } from '../place.ts';

const settledMs = 100;

export function TokensOfAnybody() {
  const [query] = useQueryPart();
  const [text, setText] = useState('');
  const asked = useSettled(text.trim(), settledMs);
  const found = useQuery(usersQuery(asked));
  const user = query.get('user') ?? '';
  return (
    <Page title="Tokens">
      <search class="stack">
        <Field label="User" type="search" value={text} onInput={setText} hint="Part of the name" />
        <Answered query={found} what="the users" rows={1}>
          {({ entries }) => (
            <ul class="row" aria-label="Users found">
              {entries.length === 0 && <li class="quiet-text">No user's name contains this text.</li>}
              {entries
                .filter(({ type }) => type === 'user')
                .map(({ login }) => (
                  <li key={login}>
                    <a
                      href={to('tokens', undefined, { user: login })}
                      aria-current={login === user ? 'true' : undefined}
                    >
                      <Name>{login}</Name>
                    </a>
                  </li>
                ))}
            </ul>
          )}
        </Answered>
      </search>
      {user === '' ? (
        <Empty>Choose a user to see, create and revoke tokens.</Empty>
      ) : (
        <Of key={user} name={user} />
      )}
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
