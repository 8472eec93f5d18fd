/** Pages of all groups, and of one group with its rules, members and affected owners. */

import { useQuery } from '@tanstack/preact-query';
import { counted } from '../../../src/text.ts';
import type { Group as OneGroup, WholePolicy } from '../../../src/wire/index.ts';
import { groupQuery } from '../api/queries.ts';
import { WithoutIt } from '../parts/effect.tsx';
import { Count, limitWords } from '../parts/figures.tsx';
import { GroupForm } from '../parts/group-form.tsx';
import { NameLink, NameLinks } from '../parts/name.tsx';
import { Panel } from '../parts/page.tsx';
import { SearchedList } from '../parts/pager.tsx';
import { PolicyList, PolicyPiece } from '../parts/policy-pages.tsx';
import { GroupMembers } from '../parts/pools.tsx';
import { Empty } from '../parts/states.tsx';
import { Table } from '../parts/table.tsx';
import { type Group as WholeGroup, withoutGroup } from '../policy/edit.ts';

export function Groups() {
  return (
    <PolicyList
      kind="group"
      form={(policy, ends, name) => <GroupForm policy={policy} wanted={name} {...ends} />}
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
              <p>No groups yet. Until then, the limit for everybody (TOTAL in [quota.default]) applies.</p>
              <p>A group has rules, and applies to its members: choose “New group” to make one.</p>
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

export function Group({ name }: { name: string }) {
  const query = useQuery(groupQuery(name));
  return (
    <PolicyPiece<WholeGroup, OneGroup>
      kind="group"
      name={name}
      query={query}
      find={({ groups }) => groups.find(group => group.name === name)}
      form={(policy, group, ends) => <GroupForm policy={policy} group={group} {...ends} />}
      shown={group => <Shown group={group} />}
      without={policy => withoutGroup(policy, name)}
      deleting={({ users }) => (
        <p>{counted(users.length, 'owner', 'owners')} will be removed from the group. Its rules remain.</p>
      )}
    />
  );
}

function Shown({ group: { name, rules } }: { group: OneGroup }) {
  return (
    <>
      <Panel title="Rules">
        {rules.length === 0 ? (
          <Empty>This group has no rules, so it decides nothing. Edit it to add a rule.</Empty>
        ) : (
          <ul class="faults">
            {rules.map(rule => (
              <li key={rule.name}>
                <NameLink page="rule">{rule.name}</NameLink>{' '}
                <span class="quiet-text">{limitWords(rule)}</span>
              </li>
            ))}
          </ul>
        )}
      </Panel>
      <GroupMembers group={name} />
      <Panel title="Affected owners">
        <WithoutIt draft={{ settings: {}, without_group: name }} version="" what="this group" />
      </Panel>
    </>
  );
}
