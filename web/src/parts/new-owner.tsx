/** Makes a user or an organization known before anything of theirs is stored. */

import { useState } from 'preact/hooks';
import { nameFault } from '../../../src/quota/index.ts';
import type { User } from '../../../src/wire/index.ts';
import { ask } from '../api/ask.ts';
import { go, to } from '../place.ts';
import { Confirm } from './dialog.tsx';
import { Choice } from './field.tsx';
import { NameField } from './rule-fields.tsx';

export function NewOwner({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [type, setType] = useState<User['type']>('user');
  return (
    <Confirm
      title="New owner"
      action="Create owner"
      isReady={nameFault(name) === null}
      act={() => ask(['admin', 'users'], { method: 'POST', body: { username: name, type } })}
      onClose={isDone => (isDone ? go(to('owner', name)) : onClose())}
    >
      <NameField label="Name" name={name} taken={new Set()} onInput={setName} />
      <Choice
        label="Type"
        value={type}
        onChoice={setType}
        options={[
          ['user', 'a user'],
          ['organization', 'an organization'],
        ]}
      />
    </Confirm>
  );
}
