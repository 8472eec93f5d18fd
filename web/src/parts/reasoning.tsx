/**
 * The whole reasoning of a decision: which groups were asked in turn, what each rule counted, and which one
 * decided.
 */

import { subjectWords } from '../../../src/quota/index.ts';
import type { Explanation } from '../../../src/wire/index.ts';
import { to } from '../place.ts';
import { Use } from './figures.tsx';
import { Name } from './name.tsx';
import { Allowed } from './verdict.tsx';

type Step = Explanation['steps'][number];

const stepWords: Readonly<Record<Step['step'], string>> = {
  assigned: 'The groups that the owner was put into',
  defaults: 'The groups of DEFAULT_GROUPS',
  builtin: 'The built-in group: TOTAL of [quota.default]',
};

export interface ReasoningProps {
  readonly explanation: Explanation;
  /** Groups and rules lead to their pages, which are for administrators. */
  readonly hasLinks?: boolean;
}

export function Reasoning({ explanation, hasLinks = true }: ReasoningProps) {
  const { steps, decision, settings } = explanation;
  return (
    <div class="stack">
      <p>
        <Allowed allowed={decision.allowed} /> <strong>{inWords(explanation)}</strong>
        {settings.mode === 'report' &&
          !decision.allowed &&
          ' It is only reported: everything is let through.'}
      </p>
      {steps.length > 0 && (
        <ol class="reasoning">
          {steps.map(step => (
            <li key={step.step}>
              {stepWords[step.step]}:
              <ul>
                {step.groups.length === 0 && (
                  <li class="quiet-text">there are none, so the next are asked</li>
                )}
                {step.groups.map(group => (
                  <GroupSaid key={group.group ?? ''} group={group} hasLinks={hasLinks} />
                ))}
              </ul>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

function inWords({ subject, decision, settings }: Explanation): string {
  const what = subjectWords(subject);
  switch (decision.by) {
    case 'disabled':
      return 'Quotas are switched off.';
    case 'no_match':
      return `No rule covers ${what}, and what none covers is refused.`;
    case 'rule': {
      if (decision.limit === 0) return 'The rule allows nothing at all.';
      if (decision.allowed)
        return 'The rule with the least room, in the group with the most, is not used up.';
      return settings.refuse_when === 'reached'
        ? 'The limit is reached, in every group that could allow it.'
        : 'The limit is exceeded, in every group that could allow it.';
    }
  }
}

const groupVerdicts = {
  allows: 'allows it',
  refuses: 'refuses it',
  no_match: 'has no rule that covers this',
};

interface GroupSaidProps {
  readonly group: Step['groups'][number];
  readonly hasLinks: boolean;
}

function GroupSaid({ group: { group, verdict, rules, decided }, hasLinks }: GroupSaidProps) {
  return (
    <li>
      {group === null ? 'built-in' : <Linked href={hasLinks ? to('group', group) : null} name={group} />}{' '}
      {groupVerdicts[verdict]}
      <ul>
        {rules.map(rule => (
          <li key={rule.rule ?? ''} class={decided && rule.decided ? 'decided' : ''}>
            {rule.rule === null ? (
              'built-in'
            ) : (
              <Linked href={hasLinks ? to('rule', rule.rule) : null} name={rule.rule} />
            )}
            {': '}
            <Use used={rule.used} limit={rule.limit} /> {rule.verdict}{' '}
            {rule.decided && <span class="mark">this one decided</span>}
          </li>
        ))}
      </ul>
    </li>
  );
}

function Linked({ href, name }: { href: string | null; name: string }) {
  if (href === null) return <Name>{name}</Name>;
  return (
    <a href={href}>
      <Name>{name}</Name>
    </a>
  );
}
