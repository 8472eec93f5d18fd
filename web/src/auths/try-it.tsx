/** What pasted claims would change by a source as it is typed, without changing it. */

import { useState } from 'preact/hooks';
import type { TriedSynchronization } from '../../../src/wire/index.ts';
import { trySource } from '../api/auth-queries.ts';
import { Field } from '../parts/field.tsx';
import { Name } from '../parts/name.tsx';
import { Panel } from '../parts/page.tsx';
import { Fault } from '../parts/states.tsx';
import { TextArea } from '../parts/text-area.tsx';
import { claimsIn, fieldsOf, type TypedSource } from './typed.ts';

export interface TryItProps {
  readonly typed: TypedSource;
  /** Tells whether the source could be saved as it is typed. */
  readonly isReady: boolean;
}

export function TryIt({ typed, isReady }: TryItProps) {
  const [user, setUser] = useState('');
  const [text, setText] = useState('');
  const [result, setResult] = useState<TriedSynchronization | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const claims = claimsIn(text);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (claims === null) return;
    setFailure(null);
    setResult(null);
    try {
      const who = user.trim() === '' ? null : user.trim();
      setResult(await trySource({ source: fieldsOf(typed), user: who, claims }));
    } catch (error) {
      setFailure(error);
    }
  };
  return (
    <Panel title="Try it">
      <form class="stack" onSubmit={event => void submit(event)}>
        <p>
          What a sign-in with these claims would change by the settings above, saved or not. Nothing is
          changed.
        </p>
        <Field
          label="User"
          value={user}
          onInput={setUser}
          hint="Left empty: the one whose claims they are."
        />
        <TextArea
          label="Claims, as the payload of an ID token"
          value={text}
          onInput={setText}
          fault={text.trim() === '' || claims !== null ? undefined : 'That is no JSON object.'}
        />
        {failure !== null && <Fault of={failure} />}
        <div class="actions">
          <button type="submit" disabled={!isReady || claims === null}>
            Try it
          </button>
        </div>
        <div aria-live="polite">{result !== null && <Result of={result} />}</div>
      </form>
    </Panel>
  );
}

const outcomes: Readonly<Record<TriedSynchronization['outcome'], string>> = {
  synchronized: 'Quota groups would follow the claim.',
  kept: 'The claim is absent: nothing would change.',
  overage: 'The provider has too many groups to name them: nothing would change.',
  off: 'The source names no claim for quota groups: nothing would change.',
};

const administration: Readonly<Record<TriedSynchronization['administration'], string>> = {
  given: 'Would become an administrator.',
  ended: 'Would be an administrator no more.',
  unchanged: 'As before.',
};

function Result({ of }: { of: TriedSynchronization }) {
  return (
    <div class="stack">
      <p>
        <strong>{outcomes[of.outcome]}</strong>
        {!of.is_known && ' There is no such user yet.'}
      </p>
      <dl class="facts">
        <Names title="Comes into" names={of.added} />
        <Names title="Goes out of" names={of.removed} />
        <Names title="Is in afterwards" names={of.groups} />
        <Names title="Claimed" names={of.claimed} />
        {of.skipped.length > 0 && <Names title="No such quota group" names={of.skipped} />}
        {of.ignored.length > 0 && <Names title="Not understood" names={of.ignored} />}
        <dt>Administration</dt>
        <dd>{administration[of.administration]}</dd>
      </dl>
    </div>
  );
}

function Names({ title, names }: { title: string; names: readonly string[] }) {
  return (
    <>
      <dt>{title}</dt>
      <dd>
        {names.length === 0 && '–'}
        {names.map((name, index) => (
          <span key={name}>
            {index > 0 && ', '}
            <Name>{name}</Name>
          </span>
        ))}
      </dd>
    </>
  );
}
