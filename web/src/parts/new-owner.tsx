/** Makes a user or an organization known before anything of theirs is stored. */

import { useState } from 'preact/hooks';
import { nameFault } from '../../../src/quota/index.ts';
import type { User } from '../../../src/wire/index.ts';
import { ask } from '../api/ask.ts';
import { refresh } from '../api/client.ts';
import { Dialog } from './dialog.tsx';
import { Choice } from './field.tsx';
import { NameField } from './rule-fields.tsx';
import { Fault } from './states.tsx';

/** `onClose` gets the name of the one that was made, or null. */
export function NewOwner({ onClose }: { readonly onClose: (made: string | null) => void }) {
  const [name, setName] = useState('');
  const [type, setType] = useState<User['type']>('user');
  const [failure, setFailure] = useState<unknown>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    try {
      const made = await ask<User>(['admin', 'users'], { method: 'POST', body: { username: name, type } });
      await refresh();
      onClose(made.login);
    } catch (error) {
      setFailure(error);
    }
  };
  return (
    <Dialog title="New owner" onClose={() => onClose(null)}>
      <form onSubmit={event => void submit(event)}>
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
        {failure !== null && <Fault of={failure} />}
        <div class="actions">
          <button type="button" onClick={() => onClose(null)}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={nameFault(name) !== null}>
            Create owner
          </button>
        </div>
      </form>
    </Dialog>
  );
}
