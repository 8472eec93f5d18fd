/** Pages of all rules, and of one rule with its limit, groups and affected owners. */

import { useQuery } from '@tanstack/preact-query';
import type { Rule as OneRule, WholePolicy } from '../../../src/wire/index.ts';
import { policyQuery } from '../api/queries.ts';
import { WithoutIt } from '../parts/effect.tsx';
import { graceWords, kindsWords, Limit, modeWords, warnWords } from '../parts/figures.tsx';
import { NameLink, NameLinks } from '../parts/name.tsx';
import { Fact, Panel } from '../parts/page.tsx';
import { SearchedList } from '../parts/pager.tsx';
import { PolicyList, PolicyPiece } from '../parts/policy-pages.tsx';
import { mayHaveGrace, RuleForm } from '../parts/rule-form.tsx';
import { Table } from '../parts/table.tsx';
import { draftOf, groupsWith, withoutRule } from '../policy/edit.ts';

export function Rules() {
  return (
    <PolicyList
      kind="rule"
      form={(policy, ends, name) => <RuleForm policy={policy} wanted={name} {...ends} />}
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
          empty="No rules yet: choose “New rule” to make one. A rule limits what each member of a group stores, what all members store together, or each repository, push or file."
          rows={rows}
          keyOf={({ name }) => name}
          columns={[
            {
              title: 'Rule',
              cell: ({ name, mode }) => (
                <>
                  <NameLink page="rule">{name}</NameLink>
                  {mode !== undefined && <span class="mark">{modeWords[mode]}</span>}
                </>
              ),
            },
            { title: 'Limit', cell: rule => <Limit {...rule} /> },
            { title: 'Kinds of data', cell: kindsWords },
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

export function Rule({ name }: { name: string }) {
  const { data: policy, error, refetch } = useQuery(policyQuery);
  const find = ({ rules }: WholePolicy) => rules.find(rule => rule.name === name);
  const rule = policy && find(policy);
  const data = policy && (rule === undefined ? null : { policy, rule });
  return (
    <PolicyPiece<OneRule, Seen>
      kind="rule"
      name={name}
      query={{ error, refetch, data }}
      find={find}
      form={(policy, rule, ends) => <RuleForm policy={policy} rule={rule} {...ends} />}
      shown={seen => <Shown {...seen} />}
      without={policy => withoutRule(policy, name)}
      deleting={() => <p>The rule is removed from all its groups, and limits nobody any more.</p>}
    />
  );
}

const modeSentences = {
  report: 'report: what it would refuse is only recorded',
  warn: 'warn: whoever passes the limit is told, and refused nothing',
} as const;

interface Seen {
  readonly policy: WholePolicy;
  readonly rule: OneRule;
}

function Shown({ policy, rule }: Seen) {
  const { name, subjects, per, mode } = rule;
  return (
    <>
      <Panel title="Limit">
        <dl class="facts">
          <Fact name="Limit">
            <Limit {...rule} />
          </Fact>
          <Fact name="Kinds of data">
            {kindsWords(rule)} <code class="quiet-text">{subjects.join(' ')}</code>
          </Fact>
          {mayHaveGrace(per) && <Fact name="Grace">{graceWords(rule) ?? 'as configured'}</Fact>}
          <Fact name="Warn at">{warnWords(rule) ?? 'as configured'}</Fact>
          <Fact name="Mode">{mode === undefined ? 'in force' : modeSentences[mode]}</Fact>
          <Fact name="Groups with this rule">
            <NameLinks page="group" names={groupsWith(policy, name)} />
          </Fact>
        </dl>
      </Panel>
      <Panel title="Affected owners">
        <WithoutIt
          draft={draftOf(policy, withoutRule(policy, name))}
          version={policy.version}
          what="this rule"
        />
      </Panel>
    </>
  );
}
