/** All groups: what they allow, and how many are in them. */

import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import type { WholePolicy } from '../../../src/wire/index.ts';
import { policyQuery } from '../api/queries.ts';
import { Count } from '../parts/figures.tsx';
import { GroupForm } from '../parts/group-form.tsx';
import { Name } from '../parts/name.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { Answered, Empty } from '../parts/states.tsx';
import { Table } from '../parts/table.tsx';
import { go, to } from '../place.ts';

export function Groups() {
  const policy = useQuery(policyQuery);
  const [isCreating, setCreating] = useState(false);
  const create = (
    <button type="button" class="primary" onClick={() => setCreating(true)}>
      New group
    </button>
  );
  return (
    <Page title="Groups" actions={isCreating ? undefined : create}>
      <Answered query={policy} what="the groups">
        {whole => (
          <>
            {isCreating && (
              <Panel title="New group">
                <GroupForm
                  policy={whole}
                  onSaved={name => go(to('group', name))}
                  onCancel={() => setCreating(false)}
                />
              </Panel>
            )}
            <List policy={whole} />
          </>
        )}
      </Answered>
    </Page>
  );
}

function List({ policy: { groups } }: { policy: WholePolicy }) {
  if (groups.length === 0) {
    return (
      <Empty>
        <p>There is no group. Everybody has the limit of TOTAL in [quota.default], where there is one.</p>
        <p>A group has rules, and applies to the owners who are put into it.</p>
      </Empty>
    );
  }
  return (
    <Table
      caption="Groups"
      rows={groups}
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
            rules.length === 0 ? (
              <span class="quiet-text">none: it is silent</span>
            ) : (
              <RuleLinks names={rules} />
            ),
        },
        {
          key: 'users',
          title: 'Owners in it',
          isNumber: true,
          cell: ({ users }) => <Count>{users.length}</Count>,
        },
      ]}
    />
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
