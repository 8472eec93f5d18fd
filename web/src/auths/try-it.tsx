/** Shows what pasted claims would change by a source as it is typed, without changing it. */

import { useState } from 'preact/hooks';
import type { TriedSynchronization } from '../../../src/wire/index.ts';
import { trySource } from '../api/auth-queries.ts';
import { useAction } from '../parts/action.ts';
import { Field } from '../parts/field.tsx';
import { Listed, Name } from '../parts/name.tsx';
import { Panel } from '../parts/page.tsx';
import { Fault } from '../parts/states.tsx';
import { TextArea } from '../parts/text-area.tsx';
import { claimsIn, fieldsOf, type TypedSource } from './typed.ts';

interface TryItProps {
  readonly typed: TypedSource;
  /** Tells whether the source could be saved as it is typed. */
  readonly isReady: boolean;
}

export function TryIt({ typed, isReady }: TryItProps) {
  const [user, setUser] = useState('');
  const [text, setText] = useState('');
  const [result, setResult] = useState<TriedSynchronization | null>(null);

  const claims = claimsIn(text);
  const { start, failure } = useAction(async () => {
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
          <button type="submit" disabled={!isReady || claims === null}>
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
        <dt>Administrator rights</dt>
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
        <Listed of={names}>{name => <Name>{name}</Name>}</Listed>
      </dd>
    </>
  );
}
