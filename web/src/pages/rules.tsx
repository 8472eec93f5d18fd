/** All rules: what they limit, and which groups have them. */

import { subjectWords } from '../../../src/quota/index.ts';
import type { WholePolicy } from '../../../src/wire/index.ts';
import { Size } from '../parts/figures.tsx';
import { NameLink, NameLinks } from '../parts/name.tsx';
import { PolicyList } from '../parts/policy-pages.tsx';
import { RuleForm } from '../parts/rule-form.tsx';
import { SearchedList } from '../parts/searched-list.tsx';

import { Table } from '../parts/table.tsx';
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
  return (
    <SearchedList rows={policy.rules} of={['rule', 'rules']}>
      {rows => (
        <Table
          caption="Rules"
          empty="No rules yet. A rule limits some kinds of data, counted together, for the members of the groups that have the rule."
          rows={rows}
          keyOf={({ name }) => name}
          columns={[
            {
              title: 'Rule',
              cell: ({ name, mode }) => (
                <>
                  <NameLink page="rule">{name}</NameLink>
                  {mode === 'report' && <span class="mark">report mode</span>}
                </>
              ),
            },
            { title: 'Limit', isNumber: true, cell: ({ limit }) => <Size bytes={limit} /> },
            {
              title: 'Kinds of data',
              cell: ({ subjects }) =>
                subjects.length === 0 ? 'nothing' : subjects.map(subjectWords).join(', '),
            },
            {
              title: 'Groups',
              cell: ({ name }) => <NameLinks page="group" names={groupsWith(policy, name)} />,
            },
          ]}
        />
      )}
    </SearchedList>
  );
}
