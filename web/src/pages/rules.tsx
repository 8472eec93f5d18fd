/** All rules: what they limit, and which groups have them. */

import { subjectWords } from '../../../src/quota/index.ts';
import type { WholePolicy } from '../../../src/wire/index.ts';
import { Size } from '../parts/figures.tsx';
import { Name } from '../parts/name.tsx';
import { PolicyList } from '../parts/policy-pages.tsx';
import { RuleForm } from '../parts/rule-form.tsx';
import { SearchedList } from '../parts/searched-list.tsx';
import { Empty } from '../parts/states.tsx';
import { Table } from '../parts/table.tsx';
import { to } from '../place.ts';
import { groupsWith } from '../policy/edit.ts';

export function Rules() {
  return (
    <PolicyList
      kind="rule"
      form={(policy, ends) => <RuleForm policy={policy} {...ends} />}
      list={policy => <List policy={policy} />}
    />
  );
}

function List({ policy }: { policy: WholePolicy }) {
  if (policy.rules.length === 0) {
    return (
      <Empty>
        <p>
          No rules yet. A rule limits some kinds of data, counted together, for the members of the groups that
          have the rule.
        </p>
      </Empty>
    );
  }
  return (
    <SearchedList rows={policy.rules} of={['rule', 'rules']}>
      {rows => (
        <Table
          caption="Rules"
          rows={rows}
          keyOf={({ name }) => name}
          columns={[
            {
              key: 'name',
              title: 'Rule',
              cell: ({ name, mode }) => (
                <>
                  <a href={to('rule', name)}>
                    <Name>{name}</Name>
                  </a>
                  {mode === 'report' && <span class="mark">report mode</span>}
                </>
              ),
            },
            { key: 'limit', title: 'Limit', isNumber: true, cell: ({ limit }) => <Size bytes={limit} /> },
            {
              key: 'subjects',
              title: 'Kinds of data',
              cell: ({ subjects }) =>
                subjects.length === 0 ? 'nothing' : subjects.map(subjectWords).join(', '),
            },
            {
              key: 'groups',
              title: 'Groups',
              cell: ({ name }) => <GroupLinks names={groupsWith(policy, name)} />,
            },
          ]}
        />
      )}
    </SearchedList>
  );
}

export function GroupLinks({ names }: { names: readonly string[] }) {
  if (names.length === 0) return <span class="quiet-text">none</span>;
  return (
    <>
      {names.map((name, index) => (
        <span key={name}>
          {index > 0 && ', '}
          <a href={to('group', name)}>
            <Name>{name}</Name>
          </a>
        </span>
      ))}
    </>
  );
}
