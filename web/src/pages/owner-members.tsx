/** Members of an organization; its owners see its quota. */

import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { printable } from '../../../src/text/index.ts';
import type { Member } from '../../../src/wire/index.ts';
import { ask } from '../api/ask.ts';
import { refresh } from '../api/client.ts';
import { membersQuery } from '../api/queries.ts';
import { useAction } from '../parts/action.ts';
import { announce } from '../parts/announcer.tsx';
import { Choice, Field } from '../parts/field.tsx';
import { NameLink } from '../parts/name.tsx';
import { Panel } from '../parts/page.tsx';
import { Answered, Fault } from '../parts/states.tsx';
import { RowButton, Table } from '../parts/table.tsx';

export function OwnerMembers({ organization }: { organization: string }) {
  const members = useQuery(membersQuery(organization));
  const [login, setLogin] = useState('');
  const [role, setRole] = useState<Member['role']>('owner');
  const path = (user: string) => ['admin', 'orgs', organization, 'members', user];
  const add = useAction(async () => {
    await ask(path(login.trim()), { method: 'PUT', body: { role } });
    setLogin('');
    announce('The member is added.');
    await refresh();
  });
  const remove = useAction(async (user: string) => {
    await ask(path(user), { method: 'DELETE' });
    announce('The member is removed.');
    await refresh();
  });
  const failure = add.failure ?? remove.failure;
  return (
    <Panel title="Members">
      <Answered query={members} what="the members" rows={2}>
        {list => (
          <Table
            caption="Members"
            empty="No members. Members with the role owner see its usage, and why pushes are refused."
            rows={list}
            keyOf={member => member.login}
            columns={[
              { title: 'User', cell: member => <NameLink page="owner">{member.login}</NameLink> },
              { title: 'Role', cell: member => member.role },
              {
                title: 'Remove',
                cell: member => (
                  <RowButton
                    words="Take out"
                    about={printable(member.login)}
                    onClick={() => void remove.start(member.login)}
                  />
                ),
              },
            ]}
          />
        )}
      </Answered>
      <form class="row" onSubmit={add.start}>
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
    </Panel>
  );
}
