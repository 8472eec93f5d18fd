/** The account of an owner: rank and name, changed and deleted. */

import { useState } from 'preact/hooks';
import { nameFault } from '../../../src/quota/index.ts';
import { printable } from '../../../src/text/index.ts';
import type { User, UserEdit } from '../../../src/wire/index.ts';
import { ask } from '../api/ask.ts';
import { Button } from '../parts/button.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Time } from '../parts/figures.tsx';
import { Name } from '../parts/name.tsx';
import { Panel } from '../parts/page.tsx';
import { NameField } from '../parts/rule-fields.tsx';
import { go, to } from '../place.ts';

interface OwnerAccountProps {
  readonly account: User;
  /** Something is stored, so that it cannot be deleted. */
  readonly hasUnits: boolean;
}

export function OwnerAccount({ account, hasUnits }: OwnerAccountProps) {
  const [doing, setDoing] = useState<'nothing' | 'renaming' | 'ranking' | 'deleting'>('nothing');
  const done = () => setDoing('nothing');
  const { login, type, is_admin: isAdmin, email, full_name: fullName, created } = account;
  return (
    <Panel
      title="Account"
      actions={
        <span class="row">
          {type === 'user' && (
            <Button onClick={() => setDoing('ranking')}>
              {isAdmin ? 'Remove administrator rights' : 'Make an administrator'}
            </Button>
          )}
          <Button onClick={() => setDoing('renaming')}>Rename</Button>
          <Button look="danger" onClick={() => setDoing('deleting')}>
            Delete
          </Button>
        </span>
      }
    >
      <dl class="facts">
        <dt>Type</dt>
        <dd>{isAdmin ? 'an administrator' : type === 'organization' ? 'an organization' : 'a user'}</dd>
        {fullName !== '' && (
          <>
            <dt>Full name</dt>
            <dd>
              <Name>{fullName}</Name>
            </dd>
          </>
        )}
        {email !== '' && (
          <>
            <dt>E-mail</dt>
            <dd>
              <Name>{email}</Name>
            </dd>
          </>
        )}
        <dt>Known since</dt>
        <dd>
          <Time at={created} />
        </dd>
      </dl>
      {doing === 'renaming' && <Rename login={login} onClose={done} />}
      {doing === 'ranking' && <Rank login={login} isAdmin={isAdmin} onClose={done} />}
      {doing === 'deleting' && (
        <Confirm
          title={`Delete ${printable(login)}?`}
          action="Delete the owner"
          done="The owner is deleted."
          isDangerous
          act={() => ask(['admin', 'users', login], { method: 'DELETE' })}
          onClose={isDone => (isDone ? go(to('owners'), { replace: true }) : done())}
        >
          <p>
            Its tokens, sessions and memberships, also in groups, are deleted, too. Nothing on the disk is
            touched.
          </p>
          {hasUnits && (
            <p>This owner still has data, so it cannot be deleted. Remove the data first, then scan again.</p>
          )}
        </Confirm>
      )}
    </Panel>
  );
}

function edit(login: string, change: UserEdit): Promise<User> {
  return ask<User>(['admin', 'users', login], { method: 'PATCH', body: change });
}

function Rename({ login, onClose }: { login: string; onClose: () => void }) {
  const [name, setName] = useState(login);
  return (
    <Confirm
      title={`Rename ${printable(login)}`}
      action="Rename"
      done="The owner is renamed."
      isReady={name !== login && nameFault(name) === null}
      act={() => edit(login, { username: name })}
      onClose={isDone => (isDone ? go(to('owner', name), { replace: true }) : onClose())}
    >
      <NameField label="New name" name={name} taken={new Set()} onInput={setName} />
      <p>
        Groups, tokens and memberships stay. Rename the directories on the disk, too: they decide who owns the
        data.
      </p>
    </Confirm>
  );
}

function Rank({ login, isAdmin, onClose }: { login: string; isAdmin: boolean; onClose: () => void }) {
  return (
    <Confirm
      title={
        isAdmin
          ? `Remove the administrator rights of ${printable(login)}?`
          : `Make ${printable(login)} an administrator?`
      }
      action={isAdmin ? 'Remove administrator rights' : 'Make an administrator'}
      done={isAdmin ? 'The administrator rights are removed.' : 'The user is now an administrator.'}
      act={() => edit(login, { is_admin: !isAdmin })}
      onClose={onClose}
    >
      <p>
        {isAdmin
          ? 'This account and its tokens can then no longer see or change rules, groups and other owners.'
          : 'This account, and its tokens with the scope all, can then see and change all owners, rules, groups and tokens.'}
      </p>
    </Confirm>
  );
}
