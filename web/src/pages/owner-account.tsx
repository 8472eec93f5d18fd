/** Account of an owner: renaming, deleting, administrator rights, members of an organization, and groups. */

import { useState } from 'preact/hooks';
import { nameFault } from '../../../src/quota/index.ts';
import { printable } from '../../../src/text.ts';
import type { Member, User, UserEdit, WholePolicy } from '../../../src/wire/index.ts';
import { ask } from '../api/ask.ts';
import { refresh } from '../api/client.ts';
import { membersQuery, policyQuery } from '../api/queries.ts';
import { announce } from '../parts/announcer.tsx';
import { Button, useAction } from '../parts/button.tsx';
import { Confirm } from '../parts/dialog.tsx';
import { Checks, Choice, Field } from '../parts/field.tsx';
import { Time } from '../parts/figures.tsx';
import { Name, NameLink, NameLinks } from '../parts/name.tsx';
import { Fact, Panel } from '../parts/page.tsx';
import { PolicyForm } from '../parts/policy-form.tsx';
import { NameField } from '../parts/rule-form.tsx';
import { Empty, Fault, Query } from '../parts/states.tsx';
import { RowButton, Table } from '../parts/table.tsx';
import { go, to } from '../place.ts';
import { groupsOf, withGroupsOf } from '../policy/edit.ts';

interface OwnerAccountProps {
  readonly account: User;
  /** True if the owner stores data, and so cannot be deleted. */
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
        <Fact name="Type">
          {isAdmin ? 'an administrator' : type === 'organization' ? 'an organization' : 'a user'}
        </Fact>
        {fullName !== '' && (
          <Fact name="Full name">
            <Name>{fullName}</Name>
          </Fact>
        )}
        {email !== '' && (
          <Fact name="E-mail">
            <Name>{email}</Name>
          </Fact>
        )}
        <Fact name="Known since">
          <Time at={created} />
        </Fact>
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

export function OwnerMembers({ organization }: { organization: string }) {
  const [login, setLogin] = useState('');
  const [role, setRole] = useState<Member['role']>('owner');
  const path = (user: string) => ['admin', 'orgs', organization, 'members', user];
  const add = useAction(async () => {
    await ask(path(login.trim()), { method: 'PUT', body: { role } });
    setLogin('');
    announce('The member is added.');
    await refresh();
  });
  const remove = useAction(async (user: string) => {
    await ask(path(user), { method: 'DELETE' });
    announce('The member is removed.');
    await refresh();
  });
  const failure = add.failure ?? remove.failure;
  return (
    <Panel title="Members">
      <Query of={membersQuery(organization)} what="the members" rows={2}>
        {list => (
          <Table
            caption="Members"
            empty="No members. Members with the role owner see its usage, and why pushes are refused."
            rows={list}
            keyOf={member => member.login}
            columns={[
              { title: 'User', cell: member => <NameLink page="owner">{member.login}</NameLink> },
              { title: 'Role', cell: member => member.role },
              {
                title: 'Remove',
                cell: member => (
                  <RowButton
                    words="Take out"
                    about={printable(member.login)}
                    onClick={() => void remove.start(member.login)}
                  />
                ),
              },
            ]}
          />
        )}
      </Query>
      <form class="row" onSubmit={add.start}>
        <Field label="User" value={login} onInput={setLogin} />
        <Choice
          label="Role"
          value={role}
          onChoice={setRole}
          options={[
            ['owner', 'owner: can see the quota'],
            ['member', 'member'],
          ]}
        />
        <button type="submit" disabled={add.isBusy || login.trim() === ''}>
          Add member
        </button>
      </form>
      {failure !== null && <Fault of={failure} />}
    </Panel>
  );
}

export function OwnerGroups({ name }: { name: string }) {
  const [isEditing, setEditing] = useState(false);
  const edit = <Button onClick={() => setEditing(true)}>Edit groups</Button>;
  return (
    <Panel title="Groups" actions={isEditing ? undefined : edit}>
      <Query of={policyQuery} what="the groups" rows={1}>
        {whole => {
          if (isEditing) return <Form policy={whole} name={name} onClose={() => setEditing(false)} />;
          const groups = groupsOf(whole, name);
          return groups.length === 0 ? (
            <p class="quiet-text">
              In no group. The default groups apply, or else the limit for everybody (TOTAL).
            </p>
          ) : (
            <p>
              <NameLinks page="group" names={groups} />
            </p>
          );
        }}
      </Query>
    </Panel>
  );
}

interface FormProps {
  readonly policy: WholePolicy;
  readonly name: string;
  readonly onClose: () => void;
}

function Form({ policy, name, onClose }: FormProps) {
  const [base] = useState(policy);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(groupsOf(base, name)));
  if (base.groups.length === 0) {
    return (
      <Empty>
        No groups yet. <a href={to('groups')}>Create one</a>.
      </Empty>
    );
  }
  return (
    <PolicyForm
      policy={policy}
      base={base}
      edited={withGroupsOf(base, name, chosen)}
      action="Save the groups"
      done="The groups are saved."
      onSaved={onClose}
      onCancel={onClose}
    >
      <Checks
        label="Groups"
        options={base.groups.map(group => ({ name: group.name }))}
        chosen={chosen}
        onChange={setChosen}
      />
    </PolicyForm>
  );
}
