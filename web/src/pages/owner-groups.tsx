/** The groups that an owner is in, and the change of them, with what that would change. */

import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import type { WholePolicy } from '../../../src/wire/index.ts';
import { policyQuery } from '../api/queries.ts';
import { Button } from '../parts/button.tsx';
import { Check } from '../parts/field.tsx';
import { changed } from '../parts/group-form.tsx';
import { NameLinks } from '../parts/name.tsx';
import { Panel } from '../parts/page.tsx';
import { PolicyForm } from '../parts/policy-form.tsx';
import { Answered, Empty } from '../parts/states.tsx';
import { to } from '../place.ts';
import { groupsOf, withGroupsOf } from '../policy/edit.ts';

export function OwnerGroups({ name }: { name: string }) {
  const policy = useQuery(policyQuery);
  const [isEditing, setEditing] = useState(false);
  const edit = <Button onClick={() => setEditing(true)}>Edit groups</Button>;
  return (
    <Panel title="Groups" actions={isEditing ? undefined : edit}>
      <Answered query={policy} what="the groups" rows={1}>
        {whole => {
          if (isEditing) return <Form policy={whole} name={name} onClose={() => setEditing(false)} />;
          const groups = groupsOf(whole, name);
          return groups.length === 0 ? (
            <p class="quiet-text">In no group. The default groups apply, or else the built-in group.</p>
          ) : (
            <p>
              <NameLinks page="group" names={groups} />
            </p>
          );
        }}
      </Answered>
    </Panel>
  );
}

interface FormProps {
  readonly policy: WholePolicy;
  readonly name: string;
  readonly onClose: () => void;
}

function Form({ policy, name, onClose }: FormProps) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(groupsOf(policy, name)));
  if (policy.groups.length === 0) {
    return (
      <Empty>
        No groups yet. <a href={to('groups')}>Create one</a>.
      </Empty>
    );
  }
  return (
    <PolicyForm
      policy={policy}
      edited={withGroupsOf(policy, name, chosen)}
      action="Save the groups"
      done="The groups are saved."
      onSaved={onClose}
      onCancel={onClose}
    >
      <fieldset class="columns">
        <legend>Groups</legend>
        {policy.groups.map(group => (
          <Check
            key={group.name}
            label={group.name}
            checked={chosen.has(group.name)}
            onChange={isIn => setChosen(changed(chosen, group.name, isIn))}
          />
        ))}
      </fieldset>
    </PolicyForm>
  );
}
