/** The whole reasoning of a decision: the groups in order, the usage by each rule, and the deciding rule. */

import { subjectWords } from '../../../src/quota/index.ts';
import type { Explanation } from '../../../src/wire/index.ts';
import { Limit, modeWords, scopeWords, Use } from './figures.tsx';
import { NameLink } from './name.tsx';
import { Added, Allowed } from './verdict.tsx';

type Step = Explanation['steps'][number];
type Bound = NonNullable<Explanation['bounds']>[number];

const stepWords: Readonly<Record<Step['step'], string>> = {
  assigned: 'Groups of the owner',
  defaults: 'DEFAULT_GROUPS',
  builtin: 'Limit for everybody (TOTAL)',
};

export function Reasoning({ explanation }: { readonly explanation: Explanation }) {
  const { steps, bounds = [], decision, settings, reporting, warning } = explanation;
  return (
    <div class="stack">
      <p>
        <Allowed verdict={decision} /> <strong>{inWords(explanation)}</strong>
        {settings.mode === 'report' &&
          !decision.allowed &&
          ' Report mode: the refusal is only recorded, and everything is allowed.'}
      </p>
      <Steps steps={steps} />
      <Bounds bounds={bounds} />
      <Otherwise rules="rules in report mode" reasoning={reporting} />
      <Otherwise rules="rules that only warn" reasoning={warning} />
    </div>
  );
}

interface OtherwiseProps {
  /** Name of the rules that are not in force. */
  readonly rules: string;
  /** Undefined if no such rule applies to the owner. */
  readonly reasoning: Explanation['reporting'];
}

function Otherwise({ rules, reasoning }: OtherwiseProps) {
  if (reasoning === undefined) return null;
  return (
    <section class="stack" aria-label={`With ${rules}`}>
      <p>
        If the {rules} were in force: <Allowed verdict={reasoning.decision} />
      </p>
      <Steps steps={reasoning.steps} />
      <Bounds bounds={reasoning.bounds ?? []} />
    </section>
  );
}

function Steps({ steps }: { readonly steps: readonly Step[] }) {
  if (steps.length === 0) return null;
  return (
    <ol class="reasoning">
      {steps.map(step => (
        <li key={step.step}>
          {stepWords[step.step]}:
          <ul>
            {step.groups.length === 0 && <li class="quiet-text">none, so the next step decides</li>}
            {step.groups.map(group => (
              <GroupSaid key={group.group ?? ''} group={group} />
            ))}
          </ul>
        </li>
      ))}
    </ol>
  );
}

/** Limits of other things than the owner, which are checked after the groups have allowed the action. */
function Bounds({ bounds }: { readonly bounds: readonly Bound[] }) {
  if (bounds.length === 0) return null;
  return (
    <div class="reasoning">
      What the groups allow is also held to:
      <ul>
        {bounds.map(bound => (
          <li key={`${bound.group} ${bound.rule}`} class={bound.decided ? 'decided' : ''}>
            <NameLink page="rule">{bound.rule}</NameLink> of <NameLink page="group">{bound.group}</NameLink>
            {': '}
            <BoundSaid bound={bound} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function BoundSaid({ bound }: { readonly bound: Bound }) {
  const { per, used, limit, mode, verdict, decided } = bound;
  if (used === null || verdict === 'not_asked') {
    return (
      <>
        <Limit limit={limit} per={per} />{' '}
        <span class="quiet-text">
          {per === 'repository'
            ? '(asked when it is known which repository grows)'
            : '(asked when a push or an upload comes)'}
        </span>
      </>
    );
  }
  return (
    <>
      <Use used={used} limit={limit} /> {per === 'group' ? '' : scopeWords[per]}
      <Added verdict={bound} /> {mode !== undefined && <span class="mark">{modeWords[mode]}</span>}{' '}
      {ruleVerdicts[verdict]} {decided && <span class="mark">deciding rule</span>}
    </>
  );
}

function inWords({ subject, decision, settings }: Explanation): string {
  const what = subjectWords(subject);
  switch (decision.by) {
    case 'disabled':
      return 'Quotas are switched off.';
    case 'no_match':
      return `No rule covers ${what}, and data that no rule covers is refused.`;
    case 'rule': {
      if (decision.limit === 0) return 'The limit of the rule is 0.';
      if (decision.per !== 'owner') return boundSentences[decision.per];
      if (decision.allowed && decision.grace !== undefined)
        return 'The limit is exceeded, but its grace has not ended.';
      if (decision.allowed)
        return 'The deciding rule still has space. It is the strictest rule of the group with the most space left.';
      return settings.refuse_when === 'reached'
        ? 'In every group that could allow this, a limit is reached.'
        : 'In every group that could allow this, a limit is exceeded.';
    }
  }
}

/** Reasons of refusals; such limits never allow anything. */
const boundSentences = {
  group: 'The members of the group together are over a limit that they share.',
  repository: 'The repository is over its own limit.',
  push: 'More comes at once than a push or an upload may bring.',
  file: 'A file that comes is larger than a file may be.',
};

const groupVerdicts = {
  allows: 'allows this',
  refuses: 'refuses this',
  graced: 'lets this through by a grace',
  no_match: 'has no rule for this',
};

const ruleVerdicts = { allows: 'allows', refuses: 'refuses', graced: 'lets through by its grace' };

function GroupSaid({ group: said }: { readonly group: Step['groups'][number] }) {
  const { group, verdict, rules, decided } = said;
  return (
    <li>
      {group === null ? 'TOTAL' : <NameLink page="group">{group}</NameLink>} {groupVerdicts[verdict]}
      <ul>
        {rules.map(rule => (
          <li key={rule.rule ?? ''} class={decided && rule.decided ? 'decided' : ''}>
            {rule.rule === null ? 'TOTAL' : <NameLink page="rule">{rule.rule}</NameLink>}
            {': '}
            <Use used={rule.used} limit={rule.limit} />
            <Added verdict={rule} />{' '}
            {rule.mode !== undefined && <span class="mark">{modeWords[rule.mode]}</span>}{' '}
            {ruleVerdicts[rule.verdict]} {rule.decided && <span class="mark">deciding rule</span>}
          </li>
        ))}
      </ul>
    </li>
  );
}
