/** Linked accounts: users, and their accounts at the provider of a source. */

import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { printable } from '../../../src/text/index.ts';
import { linksQuery, linkUser, unlinkUser } from '../api/auth-queries.ts';
import { refresh } from '../api/client.ts';
import { useAction } from '../parts/action.ts';
import { announce } from '../parts/announcer.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { Time } from '../parts/figures.tsx';
import { Name, NameLink } from '../parts/name.tsx';
import { Panel } from '../parts/page.tsx';
import { Answered, Fault } from '../parts/states.tsx';
import { RowButton, Table } from '../parts/table.tsx';

export function Links({ source }: { readonly source: number }) {
  const links = useQuery(linksQuery(source));
  const [unlinking, setUnlinking] = useState<string | null>(null);
  return (
    <Panel title="Linked accounts">
      <Answered query={links} what="the linked accounts" rows={2}>
        {list => (
          <Table
            caption="Users and their accounts at the provider"
            empty="No linked accounts. A sign-in with this provider creates a link."
            rows={list}
            keyOf={({ user }) => user}
            columns={[
              {
                title: 'User',
                cell: ({ user, gives_administration: isAdmin }) => (
                  <>
                    <NameLink page="owner">{user}</NameLink>{' '}
                    {isAdmin && <span class="mark">administrator through this source</span>}
                  </>
                ),
              },
              { title: 'Subject', cell: ({ subject }) => <Name>{subject}</Name> },
              { title: 'Since', isWide: true, cell: link => <Time at={link.created_at} /> },
              {
                title: 'Unlink',
                cell: ({ user }) => (
                  <RowButton words="Unlink" about={printable(user)} onClick={() => setUnlinking(user)} />
                ),
              },
            ]}
          />
        )}
      </Answered>
      <NewLink source={source} />
      {unlinking !== null && (
        <Confirm
          title="Unlink this user?"
          action="Unlink"
          done="The account is unlinked."
          isDangerous
          act={() => unlinkUser(source, unlinking)}
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
  const { start, failure } = useAction(async () => {
    await linkUser(source, user.trim(), subject);
    await refresh();
    announce('The account is linked.');
    setUser('');
    setSubject('');
  });
  return (
    <form class="stack" onSubmit={start}>
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
