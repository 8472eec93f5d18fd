/** All groups: what they allow, and how many are in them. */

import type { WholePolicy } from '../../../src/wire/index.ts';
import { Count } from '../parts/figures.tsx';
import { GroupForm } from '../parts/group-form.tsx';
import { NameLink, NameLinks } from '../parts/name.tsx';
import { PolicyList } from '../parts/policy-pages.tsx';
import { SearchedList } from '../parts/searched-list.tsx';

import { Table } from '../parts/table.tsx';

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
  return (
    <SearchedList rows={groups} of={['group', 'groups']}>
      {rows => (
        <Table
          caption="Groups"
          empty={
            <>
              <p>No groups yet. Until then, TOTAL in [quota.default] is the limit for everybody.</p>
              <p>A group has rules, and applies to its members.</p>
            </>
          }
          rows={rows}
          keyOf={({ name }) => name}
          columns={[
            { title: 'Group', cell: ({ name }) => <NameLink page="group">{name}</NameLink> },
            { title: 'Rules', cell: ({ rules }) => <NameLinks page="rule" names={rules} /> },
            { title: 'Members', isNumber: true, cell: ({ users }) => <Count>{users.length}</Count> },
          ]}
        />
      )}
    </SearchedList>
  );
}
