/** Members of an organization; its owners see its quota. */

import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import type { Member } from '../../../src/wire/index.ts';
import { ask } from '../api/ask.ts';
import { refresh } from '../api/client.ts';
import { membersQuery } from '../api/queries.ts';
import { announce } from '../parts/announcer.tsx';
import { Choice, Field } from '../parts/field.tsx';
import { Name } from '../parts/name.tsx';
import { Panel } from '../parts/page.tsx';
import { Answered, Empty, Fault } from '../parts/states.tsx';
import { Table } from '../parts/table.tsx';
import { to } from '../place.ts';

export function OwnerMembers({ organization }: { organization: string }) {
  const members = useQuery(membersQuery(organization));
  const [login, setLogin] = useState('');
  const [role, setRole] = useState<Member['role']>('owner');
  const [failure, setFailure] = useState<unknown>(null);
  const change = async (user: string, to: Member['role'] | null, done: string) => {
    try {
      await ask(['admin', 'orgs', organization, 'members', user], {
        ...(to === null ? { method: 'DELETE' } : { method: 'PUT', body: { role: to } }),
      });
      setFailure(null);
      setLogin('');
      announce(done);
      await refresh();
    } catch (error) {
      setFailure(error);
    }
  };
  return (
    <Panel title="Members">
      <div class="stack">
        <Answered query={members} what="the members" rows={2}>
          {list =>
            list.length === 0 ? (
              <Empty>
                No members. Members with the role owner see its usage, and why pushes are refused.
              </Empty>
            ) : (
              <Table
                caption="Members"
                rows={list}
                keyOf={member => member.login}
                columns={[
                  {
                    key: 'login',
                    title: 'User',
                    cell: member => (
                      <a href={to('owner', member.login)}>
                        <Name>{member.login}</Name>
                      </a>
                    ),
                  },
                  { key: 'role', title: 'Role', cell: member => member.role },
                  {
                    key: 'remove',
                    title: 'Remove',
                    cell: member => (
                      <button
                        type="button"
                        class="quiet"
                        onClick={() => void change(member.login, null, 'The member is removed.')}
                      >
                        Take out{' '}
                        <span class="visually-hidden">
                          <Name>{member.login}</Name>
                        </span>
                      </button>
                    ),
                  },
                ]}
              />
            )
          }
        </Answered>
        <form
          class="row"
          onSubmit={event => {
            event.preventDefault();
            void change(login.trim(), role, 'The member is added.');
          }}
        >
          <Field label="User" value={login} onInput={setLogin} />
          <Choice
            label="Role"
            value={role}
            onChoice={setRole}
            options={[
              ['owner', 'owner: can see the quota'],
              ['member', 'member'],
            ]}
          />
          <button type="submit" disabled={login.trim() === ''}>
            Add member
          </button>
        </form>
        {failure !== null && <Fault of={failure} />}
      </div>
    </Panel>
  );
}
