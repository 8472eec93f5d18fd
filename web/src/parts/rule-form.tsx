/** A rule in a form of its own, and the groups that have it. */

import { useState } from 'preact/hooks';
import type { Rule, WholePolicy } from '../../../src/wire/index.ts';
import { groupsWith, withGroup, withRule } from '../policy/edit.ts';
import { Check } from './field.tsx';
import { changed } from './group-form.tsx';
import { PolicyForm } from './policy-form.tsx';
import type { FormEnds } from './policy-pages.tsx';
import { newRule, RuleFields, ruleIn, typedOf } from './rule-fields.tsx';

interface RuleFormProps extends FormEnds {
  readonly policy: WholePolicy;
  /** Left out: a new one. */
  readonly rule?: Rule;
}

export function RuleForm({ policy, rule, onSaved, onCancel }: RuleFormProps) {
  const [typed, setTyped] = useState(rule === undefined ? newRule : typedOf(rule));
  const [groups, setGroups] = useState<ReadonlySet<string>>(
    new Set(rule === undefined ? [] : groupsWith(policy, rule.name)),
  );
  const isNew = rule === undefined;
  const taken = new Set(policy.rules.map(({ name }) => name));
  const made = ruleIn(typed);
  const edited = made === null || (isNew && taken.has(made.name)) ? null : placed(policy, made, groups);
  return (
    <PolicyForm
      policy={policy}
      edited={edited}
      action={isNew ? 'Create the rule' : 'Save the rule'}
      done={isNew ? 'The rule is created.' : 'The rule is saved.'}
      onSaved={() => onSaved(typed.name)}
      onCancel={onCancel}
    >
      <RuleFields rule={typed} onChange={setTyped} isNamed={!isNew} taken={taken} />
      {policy.groups.length > 0 && (
        <fieldset class="stack">
          <legend>Groups with this rule</legend>
          <div class="columns">
            {policy.groups.map(({ name }) => (
              <Check
                key={name}
                label={name}
                checked={groups.has(name)}
                onChange={isIn => setGroups(changed(groups, name, isIn))}
              />
            ))}
          </div>
        </fieldset>
      )}
    </PolicyForm>
  );
}

function placed(policy: WholePolicy, rule: Rule, groups: ReadonlySet<string>): WholePolicy {
  return policy.groups
    .filter(group => group.rules.includes(rule.name) !== groups.has(group.name))
    .map(group => ({
      ...group,
      rules: groups.has(group.name)
        ? [...group.rules, rule.name]
        : group.rules.filter(each => each !== rule.name),
    }))
    .reduce(withGroup, withRule(policy, rule));
}
