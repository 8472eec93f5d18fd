/** Actions for the owners that were chosen in the list: adding them to a group, or removing them. */

import { useState } from 'preact/hooks';
import { counted, printable } from '../../../src/text.ts';
import type { WholePolicy } from '../../../src/wire/index.ts';
import { policyQuery } from '../api/queries.ts';
import { Button } from '../parts/button.tsx';
import { Choice } from '../parts/field.tsx';
import { Name, Others } from '../parts/name.tsx';
import { PolicyForm } from '../parts/policy-form.tsx';
import { Empty, Query } from '../parts/states.tsx';
import { to } from '../place.ts';
import { withMembers } from '../policy/edit.ts';

interface ChosenOwnersProps {
  readonly names: readonly string[];
  readonly onClear: () => void;
}

const shownNames = 20;

const actions = [
  ['add', 'Add to the group'],
  ['remove', 'Remove from the group'],
] as const;

export function ChosenOwners({ names, onClear }: ChosenOwnersProps) {
  const [isOpen, setOpen] = useState(false);

  return (
    <section class="panel stack chosen" aria-label="Chosen owners">
      <div class="row">
        <strong>{counted(names.length, 'owner chosen', 'owners chosen')}</strong>
        {!isOpen && (
          <Button look="primary" onClick={() => setOpen(true)}>
            Change a group
          </Button>
        )}
        <Button onClick={onClear}>Clear selection</Button>
      </div>
      <ul class="row">
        {names.slice(0, shownNames).map(name => (
          <li key={name} class="mark">
            <Name>{name}</Name>
          </li>
        ))}
        <Others count={names.length - shownNames} />
      </ul>
      {isOpen && (
        <Query of={policyQuery} what="the groups" rows={2}>
          {whole => <Form policy={whole} names={names} onSaved={onClear} onCancel={() => setOpen(false)} />}
        </Query>
      )}
    </section>
  );
}

interface FormProps {
  readonly policy: WholePolicy;
  readonly names: readonly string[];
  readonly onSaved: () => void;
  readonly onCancel: () => void;
}

function Form({ policy, names, onSaved, onCancel }: FormProps) {
  const [first] = policy.groups;
  const [group, setGroup] = useState(first?.name ?? '');
  const [action, setAction] = useState<(typeof actions)[number][0]>('add');
  if (first === undefined) {
    return (
      <Empty>
        No groups yet. <a href={to('groups')}>Create one</a>.
      </Empty>
    );
  }
  const edited = withMembers(policy, group, names, action === 'add');
  return (
    <PolicyForm
      policy={policy}
      base={policy}
      edited={edited}
      action={action === 'add' ? 'Add the owners' : 'Remove the owners'}
      done={action === 'add' ? 'The owners are in the group.' : 'The owners are no longer in the group.'}
      onSaved={onSaved}
      onCancel={onCancel}
    >
      <div class="fields">
        <Choice label="Action" value={action} options={actions} onChoice={setAction} />
        <Choice
          label="Group"
          value={group}
          options={policy.groups.map(({ name }) => [name, printable(name)] as const)}
          onChoice={setGroup}
        />
      </div>
      {edited === policy && (
        <p class="quiet-text">
          {action === 'add'
            ? 'All chosen owners are in this group already.'
            : 'None of the chosen owners is in this group.'}
        </p>
      )}
    </PolicyForm>
  );
}
