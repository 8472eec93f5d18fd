/** All groups, and one of them: its rules, who is in it, whom it refuses; changed and deleted. */

import type { WholePolicy } from '../../../src/wire/index.ts';
import { WithoutIt } from '../parts/effect.tsx';
import { Count, counted, limitWords } from '../parts/figures.tsx';
import { GroupForm } from '../parts/group-form.tsx';
import { NameLink, NameLinks, Others } from '../parts/name.tsx';
import { Panel } from '../parts/page.tsx';
import { SearchedList } from '../parts/pager.tsx';
import { PolicyList, PolicyPiece } from '../parts/policy-pages.tsx';
import { GroupPools } from '../parts/pools.tsx';
import { Empty } from '../parts/states.tsx';
import { Table } from '../parts/table.tsx';
import { type Group as OneGroup, withoutGroup } from '../policy/edit.ts';

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
  return (
    <PolicyPiece<OneGroup>
      kind="group"
      name={name}
      find={({ groups }) => groups.find(group => group.name === name)}
      form={(policy, group, ends) => <GroupForm policy={policy} group={group} {...ends} />}
      shown={(policy, group) => <Shown policy={policy} group={group} />}
      without={policy => withoutGroup(policy, name)}
      deleting={({ users }) => (
        <p>{counted(users.length, 'owner', 'owners')} will be removed from the group. Its rules remain.</p>
      )}
    />
  );
}

function Shown({ policy, group }: { policy: WholePolicy; group: OneGroup }) {
  const { name, users } = group;
  const rules = group.rules.flatMap(each => policy.rules.find(rule => rule.name === each) ?? []);
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
      {rules.some(({ per }) => per === 'group') ? (
        <GroupPools group={name} count={users.length} />
      ) : (
        <Members users={users} />
      )}
      <Panel title="Affected owners">
        <WithoutIt policy={policy} without={withoutGroup(policy, name)} what="this group" />
      </Panel>
    </>
  );
}

const shownUsers = 100;

function Members({ users }: Pick<OneGroup, 'users'>) {
  return (
    <Panel title={counted(users.length, 'member', 'members')}>
      {users.length === 0 ? (
        <Empty>
          This group has no members. If it is one of DEFAULT_GROUPS, it applies to all owners who are in no
          group.
        </Empty>
      ) : (
        <ul class="row">
          {users.slice(0, shownUsers).map(user => (
            <li key={user}>
              <NameLink page="owner">{user}</NameLink>
            </li>
          ))}
          <Others count={users.length - shownUsers} />
        </ul>
      )}
    </Panel>
  );
}
