/** Form of an OAuth2 source: its settings, and a test of claims. */

import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { printable } from '../../../src/text.ts';
import type { SavedSource, Source, TriedSynchronization } from '../../../src/wire/index.ts';
import { saveSource, trySource } from '../api/auth-queries.ts';
import { refresh } from '../api/client.ts';
import { policyQuery } from '../api/queries.ts';
import { announce } from '../parts/announcer.tsx';
import { Button, useAction } from '../parts/button.tsx';
import { Check, Choice, Field, type FieldProps, TextArea } from '../parts/field.tsx';
import { Listed, Name } from '../parts/name.tsx';
import { Fact, Panel } from '../parts/page.tsx';
import { Fault } from '../parts/states.tsx';
import { changesOf, claimsIn, fieldsOf, mappingSeen, newSource, type TypedSource, typedOf } from './typed.ts';

interface SourceFormProps {
  /** Absent for a new source. */
  readonly source?: Source;
  readonly onSaved: (saved: SavedSource) => void;
  readonly onCancel: () => void;
}

export function SourceForm({ source, onSaved, onCancel }: SourceFormProps) {
  /** The source as it was opened, or saved last. */
  const [opened, setOpened] = useState(source === undefined ? newSource : typedOf(source));
  const [typed, setTyped] = useState(opened);

  const policy = useQuery(policyQuery);
  const seen = mappingSeen(typed.quota_group_map, new Set(policy.data?.groups.map(({ name }) => name)));
  const set = (change: Partial<TypedSource>) => setTyped({ ...typed, ...change });
  const part = { typed, set };
  const { start, isBusy, failure } = useAction(async () => {
    const saved = await (source === undefined
      ? saveSource(null, fieldsOf(typed))
      : saveSource(source.id, changesOf(opened, typed)));
    // The secret is not kept in the page after it was saved.
    setOpened({ ...typed, client_secret: '', hasNoSecret: false });
    setTyped(now => ({ ...now, client_secret: '', hasNoSecret: false }));
    await refresh();
    announce('The source is saved.');
    onSaved(saved);
  });
  return (
    <>
      <Panel title={source === undefined ? 'New source' : `Source ${printable(source.name)}`}>
        <form class="stack" onSubmit={start}>
          <div class="overview">
            <Provider {...part} source={source} />
            <People {...part} />
          </div>
          <fieldset class="stack headed">
            <legend>Quota groups</legend>
            <SourceText
              {...part}
              of="quota_group_claim_name"
              label="Claim name providing group names for this source to be used for quota management"
              hint="Such as groups. Without a claim name, a sign-in changes no quota groups."
              isCode
            />
            <TextArea
              label="Map claimed groups to quota groups"
              value={typed.quota_group_map}
              onInput={mapping => set({ quota_group_map: mapping })}
              fault={seen.faults.length === 0 ? undefined : printable(seen.faults.join('; '))}
            />
            {policy.data !== undefined && seen.unknown.length > 0 && (
              <p role="status">
                <span class="mark near">unknown</span> No such quota group:{' '}
                <Listed of={seen.unknown}>
                  {name => (
                    <>
                      “<Name>{name}</Name>”
                    </>
                  )}
                </Listed>
                . A sign-in skips it.
              </p>
            )}
            <Check
              label="Remove users from synchronized quota groups if user does not belong to corresponding group"
              checked={typed.quota_group_map_removal}
              onChange={removal => set({ quota_group_map_removal: removal })}
            />
            <Choice
              label="If the claim is absent"
              value={typed.missing_claim}
              onChoice={missingClaim => set({ missing_claim: missingClaim })}
              options={[
                ['remove', 'treat it like a claim without groups'],
                ['keep', 'change nothing'],
              ]}
            />
          </fieldset>
          <Check
            label="Also end the session at the provider at sign-out"
            note="Works only if the provider has an end_session_endpoint. Most providers ask the user first."
            checked={typed.sign_out_at_provider}
            onChange={signOutAtProvider => set({ sign_out_at_provider: signOutAtProvider })}
          />
          {source !== undefined && typed.sign_out_at_provider && (
            <p>
              Post-logout redirect URI, to be entered at the provider:{' '}
              <code>{source.post_logout_redirect_uri}</code>
            </p>
          )}
          <Check
            label="Active"
            note="The sign-in page offers active sources. Switching a source off signs out its users."
            checked={typed.is_active}
            onChange={isActive => set({ is_active: isActive })}
          />
          {failure !== null && <Fault of={failure} />}
          <div class="actions">
            <button
              type="submit"
              class="primary"
              disabled={isBusy || !isWhole(typed) || seen.faults.length > 0}
            >
              {source === undefined ? 'Create the source' : 'Save the source'}
            </button>
            <Button onClick={onCancel}>Close</Button>
          </div>
        </form>
      </Panel>
      <TryIt typed={typed} isReady={isWhole(typed) && seen.faults.length === 0} />
    </>
  );
}

function isWhole({ name, openid_connect_auto_discovery_url: url, client_id: id }: TypedSource): boolean {
  return [name, url, id].every(text => text.trim() !== '');
}

interface PartProps {
  readonly typed: TypedSource;
  readonly set: (change: Partial<TypedSource>) => void;
}

/** Settings whose value is any text. */
type TextKey = {
  [Key in keyof TypedSource]: string extends TypedSource[Key] ? Key : never;
}[keyof TypedSource];

type SourceTextProps = PartProps & Omit<FieldProps, 'value' | 'onInput'> & { readonly of: TextKey };

function SourceText({ typed, set, of, ...field }: SourceTextProps) {
  const change = (text: string): Partial<Record<TextKey, string>> => ({ [of]: text });
  return <Field {...field} value={typed[of]} onInput={text => set(change(text))} />;
}

const secretWords: Readonly<Record<Source['client_secret_state'], string>> = {
  none: 'No secret is set, because the provider needs none.',
  set: 'A secret is set, and is never shown. Leave this field empty to keep it.',
  unreadable: 'The secret cannot be read with the present [security] SECRET_KEY. Enter it again.',
};

function Provider({ source, ...part }: PartProps & { readonly source: Source | undefined }) {
  const { typed, set } = part;
  const secretState = source?.client_secret_state ?? 'none';
  return (
    <fieldset class="stack headed">
      <legend>Provider</legend>
      <SourceText {...part} of="name" label="Name" hint="The name on the sign-in page" required />
      <SourceText
        {...part}
        of="openid_connect_auto_discovery_url"
        label="Issuer or discovery URL"
        hint="Such as https://login.example/realms/git"
        required
        isCode
      />
      <SourceText {...part} of="client_id" label="Client ID" required isCode />
      {!typed.hasNoSecret && (
        <SourceText
          {...part}
          of="client_secret"
          label="Client secret"
          type="password"
          hint={secretWords[secretState]}
          autocomplete="new-password"
          isCode
        />
      )}
      {secretState !== 'none' && (
        <Check
          label="No client secret"
          note="The present secret is deleted, because the provider needs none."
          checked={typed.hasNoSecret}
          onChange={hasNoSecret => set({ hasNoSecret, client_secret: '' })}
        />
      )}
      <SourceText
        {...part}
        of="scopes"
        label="Scopes"
        hint="Separated by spaces. Many providers send groups only with a scope such as groups."
        isCode
      />
      {source !== undefined && (
        <p>
          Redirect URI to enter at the provider: <code>{source.redirect_uri}</code>
        </p>
      )}
    </fieldset>
  );
}

function People(part: PartProps) {
  return (
    <fieldset class="stack headed">
      <legend>Users</legend>
      <SourceText {...part} of="username_claim" label="Claim with the user name" isCode />
      <Check
        label="Users with the same name at the provider and on this server are the same person"
        note="The first sign-in is then linked to the user with the same name on this server. Otherwise an administrator has to link the account. Administrators and users with tokens are never linked automatically."
        checked={part.typed.trust_usernames}
        onChange={trustUsernames => part.set({ trust_usernames: trustUsernames })}
      />
      <SourceText
        {...part}
        of="admin_group_claim_name"
        label="Claim with the groups for administrators"
        hint="Without a claim, a sign-in makes nobody an administrator."
        isCode
      />
      <SourceText
        {...part}
        of="admin_group"
        label="Group whose members are administrators on this server"
        isCode
      />
    </fieldset>
  );
}

interface TryItProps {
  readonly typed: TypedSource;
  readonly isReady: boolean;
}

function TryIt({ typed, isReady }: TryItProps) {
  const [user, setUser] = useState('');
  const [text, setText] = useState('');
  const [result, setResult] = useState<TriedSynchronization | null>(null);

  const claims = claimsIn(text);
  const { start, isBusy, failure } = useAction(async () => {
    if (claims === null) return;
    setResult(null);
    const who = user.trim() === '' ? null : user.trim();
    setResult(await trySource({ source: fieldsOf(typed), user: who, claims }));
  });
  return (
    <Panel title="Test claims">
      <form class="stack" onSubmit={start}>
        <p>
          Shows what a sign-in with these claims would change with the settings above, saved or not. Nothing
          is changed.
        </p>
        <Field label="User" value={user} onInput={setUser} hint="Without a name: the user in the claims" />
        <TextArea
          label="Claims (payload of an ID token, JSON)"
          value={text}
          onInput={setText}
          fault={text.trim() === '' || claims !== null ? undefined : 'This is not a JSON object.'}
        />
        {failure !== null && <Fault of={failure} />}
        <div class="actions">
          <button type="submit" disabled={isBusy || !isReady || claims === null}>
            Test
          </button>
        </div>
        <div aria-live="polite">{result !== null && <Result of={result} />}</div>
      </form>
    </Panel>
  );
}

const outcomes: Readonly<Record<TriedSynchronization['outcome'], string>> = {
  synchronized: 'The quota groups would follow the claim.',
  kept: 'The claim is absent, so nothing would change.',
  overage: 'The provider has too many groups to name them, so nothing would change.',
  off: 'The source has no claim for quota groups, so nothing would change.',
};

const administration: Readonly<Record<TriedSynchronization['administration'], string>> = {
  given: 'The user would become an administrator.',
  ended: 'The user would no longer be an administrator.',
  unchanged: 'No change.',
};

function Result({ of }: { of: TriedSynchronization }) {
  return (
    <div class="stack">
      <p>
        <strong>{outcomes[of.outcome]}</strong>
        {!of.is_known && ' This user does not exist yet.'}
      </p>
      <dl class="facts">
        <Names title="Added to" names={of.added} />
        <Names title="Removed from" names={of.removed} />
        <Names title="Groups afterwards" names={of.groups} />
        <Names title="Claimed groups" names={of.claimed} />
        {of.skipped.length > 0 && <Names title="No such quota group" names={of.skipped} />}
        {of.ignored.length > 0 && <Names title="Not understood" names={of.ignored} />}
        <Fact name="Administrator rights">{administration[of.administration]}</Fact>
      </dl>
    </div>
  );
}

function Names({ title, names }: { title: string; names: readonly string[] }) {
  return (
    <Fact name={title}>
      {names.length === 0 && '–'}
      <Listed of={names}>{name => <Name>{name}</Name>}</Listed>
    </Fact>
  );
}
