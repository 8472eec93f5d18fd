/** Linked accounts: users, and their accounts at the provider of a source. */

import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { linksQuery, linkUser, unlinkUser } from '../api/auth-queries.ts';
import { refresh } from '../api/client.ts';
import { announce } from '../parts/announcer.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { Time } from '../parts/figures.tsx';
import { Name } from '../parts/name.tsx';
import { Panel } from '../parts/page.tsx';
import { Answered, Empty, Fault } from '../parts/states.tsx';
import { Table } from '../parts/table.tsx';
import { to } from '../place.ts';

export function Links({ source }: { readonly source: number }) {
  const links = useQuery(linksQuery(source));
  const [unlinking, setUnlinking] = useState<string | null>(null);
  return (
    <Panel title="Linked accounts">
      <div class="stack">
        <Answered query={links} what="the linked accounts" rows={2}>
          {list =>
            list.length === 0 ? (
              <Empty>No linked accounts. A sign-in with this provider creates a link.</Empty>
            ) : (
              <Table
                caption="Users and their accounts at the provider"
                rows={list}
                keyOf={({ user }) => user}
                columns={[
                  {
                    key: 'user',
                    title: 'User',
                    cell: ({ user, gives_administration: isAdmin }) => (
                      <>
                        <a href={to('owner', user)}>
                          <Name>{user}</Name>
                        </a>{' '}
                        {isAdmin && <span class="mark">administrator through this source</span>}
                      </>
                    ),
                  },
                  { key: 'subject', title: 'Subject', cell: ({ subject }) => <Name>{subject}</Name> },
                  { key: 'since', title: 'Since', isWide: true, cell: link => <Time at={link.created_at} /> },
                  {
                    key: 'unlink',
                    title: 'Unlink',
                    cell: ({ user }) => (
                      <button type="button" class="quiet" onClick={() => setUnlinking(user)}>
                        Unlink
                        <span class="visually-hidden">
                          {' '}
                          <Name>{user}</Name>
                        </span>
                      </button>
                    ),
                  },
                ]}
              />
            )
          }
        </Answered>
        <NewLink source={source} />
      </div>
      {unlinking !== null && (
        <Confirm
          title="Unlink this user?"
          action="Unlink"
          done="The account is unlinked."
          isDangerous
          act={async () => {
            await unlinkUser(source, unlinking);
            await refresh();
          }}
          onClose={() => setUnlinking(null)}
        >
          <p>
            <Name>{unlinking}</Name> is signed out. Administrator rights from the provider end. The next
            sign-in is treated like the first one.
          </p>
        </Confirm>
      )}
    </Panel>
  );
}

function NewLink({ source }: { source: number }) {
  const [user, setUser] = useState('');
  const [subject, setSubject] = useState('');
  const [failure, setFailure] = useState<unknown>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    setFailure(null);
    try {
      await linkUser(source, user.trim(), subject);
      await refresh();
      announce('The account is linked.');
      setUser('');
      setSubject('');
    } catch (error) {
      setFailure(error);
    }
  };
  return (
    <form class="stack" onSubmit={event => void submit(event)}>
      <div class="fields">
        <Field label="User on this server" value={user} onInput={setUser} />
        <Field label="Subject at the provider (sub)" value={subject} onInput={setSubject} isCode />
        <button type="submit" disabled={user.trim() === '' || subject === ''}>
          Link account
        </button>
      </div>
      {failure !== null && <Fault of={failure} />}
    </form>
  );
}
