/** An OAuth2 source: its settings, how they are saved, and what claims would change by them. */

import { useQuery } from '@tanstack/preact-query';
import { useState } from 'preact/hooks';
import { printable } from '../../../src/text/index.ts';
import type { SavedSource, Source } from '../../../src/wire/index.ts';
import { saveSource } from '../api/auth-queries.ts';
import { refresh } from '../api/client.ts';
import { policyQuery } from '../api/queries.ts';
import { announce } from '../parts/announcer.tsx';
import { Check, Choice, Field, type FieldProps } from '../parts/field.tsx';
import { Name } from '../parts/name.tsx';
import { Panel } from '../parts/page.tsx';
import { Fault } from '../parts/states.tsx';
import { TextArea } from '../parts/text-area.tsx';
import { TryIt } from './try-it.tsx';
import { fieldsOf, mappingSeen, newSource, type TypedSource, typedOf } from './typed.ts';

export interface SourceFormProps {
  /** Left out: a new one. */
  readonly source?: Source;
  readonly onSaved: (saved: SavedSource) => void;
  readonly onCancel: () => void;
}

export function SourceForm({ source, onSaved, onCancel }: SourceFormProps) {
  const [typed, setTyped] = useState(source === undefined ? newSource : typedOf(source));
  const [failure, setFailure] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const policy = useQuery(policyQuery);
  const seen = mappingSeen(typed.mapping, new Set(policy.data?.groups.map(({ name }) => name)));
  const set = (change: Partial<TypedSource>) => setTyped({ ...typed, ...change });
  const part = { typed, set };
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      const saved = await saveSource(source?.id ?? null, fieldsOf(typed));
      // From now on no page has it any more.
      setTyped(now => ({ ...now, clientSecret: '', hasNoSecret: false }));
      await refresh();
      announce('The source is saved.');
      onSaved(saved);
    } catch (error) {
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Panel title={source === undefined ? 'New source' : `Source ${printable(source.name)}`}>
        <form class="stack" onSubmit={event => void submit(event)}>
          <div class="overview">
            <Provider {...part} source={source} />
            <People {...part} />
          </div>
          <fieldset class="stack headed">
            <legend>Quota groups</legend>
            <SourceText
              {...part}
              of="groupClaim"
              label="Claim name providing group names for this source to be used for quota management"
              hint="Such as groups. Without a claim name, a sign-in changes no quota groups."
              isCode
            />
            <TextArea
              label="Map claimed groups to quota groups"
              value={typed.mapping}
              onInput={mapping => set({ mapping })}
              fault={seen.faults.length === 0 ? undefined : printable(seen.faults.join('; '))}
            />
            {policy.data !== undefined && seen.unknown.length > 0 && (
              <p role="status">
                <span class="mark near">unknown</span> No such quota group:{' '}
                {seen.unknown.map((name, index) => (
                  <span key={name}>
                    {index > 0 && ', '}“<Name>{name}</Name>”
                  </span>
                ))}
                . A sign-in skips it.
              </p>
            )}
            <Check
              label="Remove users from synchronized quota groups if user does not belong to corresponding group"
              checked={typed.removal}
              onChange={removal => set({ removal })}
            />
            <Choice
              label="If the claim is absent"
              value={typed.missingClaim}
              onChoice={missingClaim => set({ missingClaim })}
              options={[
                ['remove', 'treat it like a claim without groups'],
                ['keep', 'change nothing'],
              ]}
            />
          </fieldset>
          <Check
            label="Also end the session at the provider at sign-out"
            note="Works only if the provider has an end_session_endpoint. Most providers ask the user first."
            checked={typed.signOutAtProvider}
            onChange={signOutAtProvider => set({ signOutAtProvider })}
          />
          {source !== undefined && typed.signOutAtProvider && (
            <p>
              Post-logout redirect URI, to be entered at the provider:{' '}
              <code>{source.post_logout_redirect_uri}</code>
            </p>
          )}
          <Check
            label="Active"
            note="The sign-in page offers active sources. Switching a source off signs out its users."
            checked={typed.isActive}
            onChange={isActive => set({ isActive })}
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
            <button type="button" onClick={onCancel}>
              Close
            </button>
          </div>
        </form>
      </Panel>
      <TryIt typed={typed} isReady={isWhole(typed) && seen.faults.length === 0} />
    </>
  );
}

function isWhole({ name, discoveryUrl, clientId }: TypedSource): boolean {
  return name.trim() !== '' && discoveryUrl.trim() !== '' && clientId.trim() !== '';
}

interface PartProps {
  readonly typed: TypedSource;
  readonly set: (change: Partial<TypedSource>) => void;
}

/** The settings that are any text. */
type TextKey = {
  [Key in keyof TypedSource]: string extends TypedSource[Key] ? Key : never;
}[keyof TypedSource];

type SourceTextProps = PartProps & Omit<FieldProps, 'value' | 'onInput'> & { readonly of: TextKey };

/** One of them to be typed. */
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
        of="discoveryUrl"
        label="Issuer or discovery URL"
        hint="Such as https://login.example/realms/git"
        required
        isCode
      />
      <SourceText {...part} of="clientId" label="Client ID" required isCode />
      {!typed.hasNoSecret && (
        <SourceText
          {...part}
          of="clientSecret"
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
          onChange={hasNoSecret => set({ hasNoSecret, clientSecret: '' })}
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
      <SourceText {...part} of="usernameClaim" label="Claim with the user name" isCode />
      <Check
        label="Users with the same name at the provider and on this server are the same person"
        note="The first sign-in is then linked to the user with the same name on this server. Otherwise an administrator has to link the account. Administrators and users with tokens are never linked automatically."
        checked={part.typed.trustUsernames}
        onChange={trustUsernames => part.set({ trustUsernames })}
      />
      <SourceText
        {...part}
        of="adminClaim"
        label="Claim with the groups for administrators"
        hint="Without a claim, a sign-in makes nobody an administrator."
        isCode
      />
      <SourceText
        {...part}
        of="adminGroup"
        label="Group whose members are administrators on this server"
        isCode
      />
    </fieldset>
  );
}
