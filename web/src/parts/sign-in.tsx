/** Signs in with a pasted token. */

import { useState } from 'preact/hooks';
import { faultOf, wordsOf } from '../api/fault.ts';
import { signIn } from '../api/session.ts';
import { useAction } from './button.tsx';
import { Field } from './field.tsx';

export function SignInForm({ onSignedIn }: { readonly onSignedIn: () => void }) {
  const [token, setToken] = useState('');
  const { start, isBusy, failure } = useAction(async () => {
    await signIn({ token: token.trim() });
    onSignedIn();
  });
  return (
    <form class="stack" onSubmit={start}>
      <Field
        label="Token"
        type="password"
        value={token}
        onInput={setToken}
        hint="The token is sent once and is not stored in the browser, which gets a session instead."
        autocomplete="current-password"
        required
        isCode
      />
      {failure !== null && (
        <p class="fault-text" role="alert">
          {whyNot(failure)}
        </p>
      )}
      <div class="actions">
        <button type="submit" class="primary" disabled={isBusy || token.trim() === ''}>
          Sign in
        </button>
      </div>
    </form>
  );
}

function whyNot(failure: unknown): string {
  const fault = faultOf(failure);
  return fault.is === 'signed-out' ? 'Invalid or expired token.' : wordsOf(fault);
}
