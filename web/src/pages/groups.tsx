/** All groups: what they allow, and how many are in them. */

import type { WholePolicy } from '../../../src/wire/index.ts';
import { Count } from '../parts/figures.tsx';
import { GroupForm } from '../parts/group-form.tsx';
import { Name } from '../parts/name.tsx';
import { PolicyList } from '../parts/policy-pages.tsx';
import { SearchedList } from '../parts/searched-list.tsx';
import { Empty } from '../parts/states.tsx';
import { Table } from '../parts/table.tsx';
import { to } from '../place.ts';

export function Groups() {
  return (
    <PolicyList
      kind="group"
      form={(policy, ends) => <GroupForm policy={policy} {...ends} />}
      list={policy => <List policy={policy} />}
    />
  );
}

function List({ policy: { groups } }: { policy: WholePolicy }) {
  if (groups.length === 0) {
    return (
      <Empty>
        <p>No groups yet. Until then, TOTAL in [quota.default] is the limit for everybody.</p>
        <p>A group has rules, and applies to its members.</p>
      </Empty>
    );
  }
  return (
    <SearchedList rows={groups} of={['group', 'groups']}>
      {rows => (
        <Table
          caption="Groups"
          rows={rows}
          keyOf={({ name }) => name}
          columns={[
            {
              key: 'name',
              title: 'Group',
              cell: ({ name }) => (
                <a href={to('group', name)}>
                  <Name>{name}</Name>
                </a>
              ),
            },
            {
              key: 'rules',
              title: 'Rules',
              cell: ({ rules }) =>
                rules.length === 0 ? <span class="quiet-text">none</span> : <RuleLinks names={rules} />,
            },
            {
              key: 'users',
              title: 'Members',
              isNumber: true,
              cell: ({ users }) => <Count>{users.length}</Count>,
            },
          ]}
        />
      )}
    </SearchedList>
  );
}

export function RuleLinks({ names }: { names: readonly string[] }) {
  return (
    <>
      {names.map((name, index) => (
        <span key={name}>
          {index > 0 && ', '}
          <a href={to('rule', name)}>
            <Name>{name}</Name>
          </a>
        </span>
      ))}
    </>
  );
}
