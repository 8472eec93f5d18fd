/** One group: its rules, who is in it, whom it refuses; changed and deleted. */

import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { printable } from '../../../src/quota/index.ts';
import type { WholePolicy } from '../../../src/wire/index.ts';
import { policyQuery } from '../api/queries.ts';
import { counted } from '../parts/figures.tsx';
import { GroupForm } from '../parts/group-form.tsx';
import { limitWords } from '../parts/limit-words.ts';
import { Name } from '../parts/name.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { PolicyConfirm } from '../parts/policy-confirm.tsx';
import { Answered, Empty } from '../parts/states.tsx';
import { WithoutIt } from '../parts/without-it.tsx';
import { go, to } from '../place.ts';
import { type Group as OneGroup, withoutGroup } from '../policy/edit.ts';

export function Group({ name }: { name: string }) {
  const policy = useQuery(policyQuery);
  const [doing, setDoing] = useState<'nothing' | 'editing' | 'deleting'>('nothing');
  return (
    <Page
      title={`Group ${name}`}
      heading={
        <>
          Group <Name>{name}</Name>
        </>
      }
      trail={<a href={to('groups')}>Groups</a>}
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
      <Answered query={policy} what="the group">
        {whole => {
          const group = whole.groups.find(each => each.name === name);
          if (group === undefined) return <Empty>There is no group of this name, or it was deleted.</Empty>;
          return (
            <>
              {doing === 'editing' ? (
                <Panel title="Edit">
                  <GroupForm
                    policy={whole}
                    group={group}
                    onSaved={() => setDoing('nothing')}
                    onCancel={() => setDoing('nothing')}
                  />
                </Panel>
              ) : (
                <Shown policy={whole} group={group} />
              )}
              {doing === 'deleting' && (
                <PolicyConfirm
                  title={`Delete the group ${printable(name)}?`}
                  action="Delete the group"
                  done="The group is deleted."
                  policy={whole}
                  edited={withoutGroup(whole, name)}
                  onClose={isDone => (isDone ? go(to('groups'), { replace: true }) : setDoing('nothing'))}
                >
                  <p>
                    {counted(group.users.length, 'owner is', 'owners are')} in it, and will not be any more.
                    Its rules remain.
                  </p>
                </PolicyConfirm>
              )}
            </>
          );
        }}
      </Answered>
    </Page>
  );
}

const shownUsers = 100;

function Shown({ policy, group }: { policy: WholePolicy; group: OneGroup }) {
  const { name, users } = group;
  const rules = group.rules.flatMap(each => policy.rules.find(rule => rule.name === each) ?? []);
  return (
    <>
      <Panel title="Rules">
        {rules.length === 0 ? (
          <Empty>It has no rule, and so decides nothing. Edit it to give it one.</Empty>
        ) : (
          <ul class="faults">
            {rules.map(rule => (
              <li key={rule.name}>
                <a href={to('rule', rule.name)}>
                  <Name>{rule.name}</Name>
                </a>{' '}
                <span class="quiet-text">{limitWords(rule)}</span>
              </li>
            ))}
          </ul>
        )}
      </Panel>
      <Panel title={counted(users.length, 'owner in it', 'owners in it')}>
        {users.length === 0 ? (
          <Empty>
            Nobody was put into it. Where it is one of DEFAULT_GROUPS it bears on all who are in no group.
          </Empty>
        ) : (
          <ul class="row">
            {users.slice(0, shownUsers).map(user => (
              <li key={user}>
                <a href={to('owner', user)}>
                  <Name>{user}</Name>
                </a>
              </li>
            ))}
            {users.length > shownUsers && (
              <li class="quiet-text">and {counted(users.length - shownUsers, 'other', 'others')}</li>
            )}
          </ul>
        )}
      </Panel>
      <Panel title="Whom it hits">
        <WithoutIt policy={policy} without={withoutGroup(policy, name)} what="this group" />
      </Panel>
    </>
  );
}
