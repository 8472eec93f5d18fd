/** One rule: what it limits, who has it, whom it refuses; changed and deleted. */

import { subjectWords } from '../../../src/quota/index.ts';
import type { Rule as OneRule, WholePolicy } from '../../../src/wire/index.ts';
import { Size } from '../parts/figures.tsx';
import { graceWords } from '../parts/limit-words.ts';
import { NameLinks } from '../parts/name.tsx';
import { Panel } from '../parts/page.tsx';
import { PolicyPiece } from '../parts/policy-pages.tsx';
import { RuleForm } from '../parts/rule-form.tsx';
import { WithoutIt } from '../parts/without-it.tsx';
import { groupsWith, withoutRule } from '../policy/edit.ts';

export function Rule({ name }: { name: string }) {
  return (
    <PolicyPiece<OneRule>
      kind="rule"
      name={name}
      find={({ rules }) => rules.find(rule => rule.name === name)}
      form={(policy, rule, ends) => <RuleForm policy={policy} rule={rule} {...ends} />}
      shown={(policy, rule) => <Shown policy={policy} rule={rule} />}
      without={policy => withoutRule(policy, name)}
      deleting={() => <p>The rule is removed from all its groups, and limits nobody any more.</p>}
    />
  );
}

function Shown({ policy, rule }: { policy: WholePolicy; rule: OneRule }) {
  const { name, limit, subjects, mode } = rule;
  return (
    <>
      <Panel title="Limit">
        <dl class="facts">
          <dt>Limit</dt>
          <dd>
            <Size bytes={limit} />
          </dd>
          <dt>Kinds of data</dt>
          <dd>
            {subjects.length === 0 ? 'nothing' : subjects.map(subjectWords).join(', ')}{' '}
            <code class="quiet-text">{subjects.join(' ')}</code>
          </dd>
          <dt>Grace</dt>
          <dd>{graceWords(rule) ?? 'as configured'}</dd>
          <dt>Mode</dt>
          <dd>{mode === 'report' ? 'report: what it would refuse is only recorded' : 'in force'}</dd>
          <dt>Groups with this rule</dt>
          <dd>
            <NameLinks page="group" names={groupsWith(policy, name)} />
          </dd>
        </dl>
      </Panel>
      <Panel title="Affected owners">
        <WithoutIt policy={policy} without={withoutRule(policy, name)} what="this rule" />
      </Panel>
    </>
  );
}
