/** Form of a group: its rules, including a new one, and its members. */

import { useState } from 'preact/hooks';
import { nameFault } from '../../../src/quota/index.ts';
import type { WholePolicy } from '../../../src/wire/index.ts';
import { type Group, withGroup, withRule } from '../policy/edit.ts';
import { Button } from './button.tsx';
import { Checks } from './field.tsx';
import { limitWords } from './figures.tsx';
import { OwnerPicker } from './owner-picker.tsx';
import { PolicyForm } from './policy-form.tsx';
import type { FormEnds } from './policy-pages.tsx';
import { NameField, newRule, RuleFields, ruleIn, type TypedRule } from './rule-form.tsx';

interface GroupFormProps extends FormEnds {
  readonly policy: WholePolicy;
  /** Absent for a new group. */
  readonly group?: Group;
  /** Initial name of a new group. */
  readonly wanted?: string;
}

const nobody: readonly string[] = [];

export function GroupForm({ policy, group, wanted = '', onSaved, onCancel }: GroupFormProps) {
  const [name, setName] = useState(group?.name ?? wanted);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(group?.rules));
  const [rule, setRule] = useState<TypedRule | null>(null);
  const [users, setUsers] = useState(group?.users ?? nobody);
  /** The policy and the group as they were when the form was opened. */
  const [opened] = useState({ policy, group });
  const base = opened.policy;
  const groupNames = new Set(policy.groups.map(each => each.name));
  const ruleNames = new Set(policy.rules.map(each => each.name));
  const isNew = group === undefined;
  return (
    <PolicyForm
      policy={policy}
      base={base}
      edited={editedBy()}
      action={isNew ? 'Create the group' : 'Save the group'}
      done={isNew ? 'The group is created.' : 'The group is saved.'}
      onSaved={() => onSaved(name)}
      onCancel={onCancel}
    >
      {isNew && <NameField label="Name of the group" name={name} taken={groupNames} onInput={setName} />}
      <Checks
        label="Rules"
        options={base.rules.map(each => ({ name: each.name, note: limitWords(each) }))}
        chosen={chosen}
        onChange={setChosen}
      >
        {rule === null ? (
          <div class="actions">
            <Button onClick={() => setRule(newRule)}>Add a new rule</Button>
          </div>
        ) : (
          <fieldset class="panel stack">
            <legend>New rule of this group</legend>
            <RuleFields rule={rule} onChange={setRule} taken={ruleNames} />
            <div class="actions">
              <Button onClick={() => setRule(null)}>Cancel the new rule</Button>
            </div>
          </fieldset>
        )}
      </Checks>
      <OwnerPicker label="Members" chosen={users} onChange={setUsers} />
    </PolicyForm>
  );

  function editedBy(): WholePolicy | null {
    if (isNew && (nameFault(name) !== null || groupNames.has(name))) return null;
    // Rules that the group has keep their order; added ones follow in the policy's order.
    const kept = (opened.group?.rules ?? []).filter(each => chosen.has(each));
    const added = base.rules.map(each => each.name).filter(each => chosen.has(each) && !kept.includes(each));
    const rules = [...kept, ...added];
    if (rule === null) return withGroup(base, { name, rules, users });
    const made = ruleIn(rule);
    if (made === null || ruleNames.has(made.name)) return null;
    return withGroup(withRule(base, made), { name, rules: [...rules, made.name], users });
  }
}
