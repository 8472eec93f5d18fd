/** One rule: what it limits, who has it, whom it refuses; changed and deleted. */

import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { printable, subjectWords } from '../../../src/quota/index.ts';
import type { Rule as OneRule, WholePolicy } from '../../../src/wire/index.ts';
import { policyQuery } from '../api/queries.ts';
import { Size } from '../parts/figures.tsx';
import { Name } from '../parts/name.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { PolicyConfirm } from '../parts/policy-confirm.tsx';
import { RuleForm } from '../parts/rule-form.tsx';
import { Answered, Empty } from '../parts/states.tsx';
import { WithoutIt } from '../parts/without-it.tsx';
import { go, to } from '../place.ts';
import { groupsWith, withoutRule } from '../policy/edit.ts';
import { GroupLinks } from './rules.tsx';

export function Rule({ name }: { name: string }) {
  const policy = useQuery(policyQuery);
  const [doing, setDoing] = useState<'nothing' | 'editing' | 'deleting'>('nothing');
  return (
    <Page
      title={`Rule ${name}`}
      heading={
        <>
          Rule <Name>{name}</Name>
        </>
      }
      trail={<a href={to('rules')}>Rules</a>}
      actions={
        doing !== 'editing' && (
          <>
            <button type="button" onClick={() => setDoing('editing')}>
              Edit
            </button>
            <button type="button" class="danger" onClick={() => setDoing('deleting')}>
              Delete
            </button>
          </>
        )
      }
    >
      <Answered query={policy} what="the rule">
        {whole => {
          const rule = whole.rules.find(each => each.name === name);
          if (rule === undefined) return <Empty>There is no rule of this name, or it was deleted.</Empty>;
          return (
            <>
              {doing === 'editing' ? (
                <Panel title="Edit">
                  <RuleForm
                    policy={whole}
                    rule={rule}
                    onSaved={() => setDoing('nothing')}
                    onCancel={() => setDoing('nothing')}
                  />
                </Panel>
              ) : (
                <Shown policy={whole} rule={rule} />
              )}
              {doing === 'deleting' && (
                <PolicyConfirm
                  title={`Delete the rule ${printable(name)}?`}
                  action="Delete the rule"
                  done="The rule is deleted."
                  policy={whole}
                  edited={withoutRule(whole, name)}
                  onClose={isDone => (isDone ? go(to('rules'), { replace: true }) : setDoing('nothing'))}
                >
                  <p>It is taken out of every group that has it, and limits nobody any more.</p>
                </PolicyConfirm>
              )}
            </>
          );
        }}
      </Answered>
    </Page>
  );
}

function Shown({ policy, rule: { name, limit, subjects } }: { policy: WholePolicy; rule: OneRule }) {
  return (
    <>
      <Panel title="What it says">
        <dl class="facts">
          <dt>Limit</dt>
          <dd>
            <Size bytes={limit} />
          </dd>
          <dt>Of</dt>
          <dd>
            {subjects.length === 0 ? 'nothing' : subjects.map(subjectWords).join(', ')}{' '}
            <code class="quiet-text">{subjects.join(' ')}</code>
          </dd>
          <dt>Groups with it</dt>
          <dd>
            <GroupLinks names={groupsWith(policy, name)} />
          </dd>
        </dl>
      </Panel>
      <Panel title="Whom it hits">
        <WithoutIt policy={policy} without={withoutRule(policy, name)} what="this rule" />
      </Panel>
    </>
  );
}
