/** Signs in with the code of a link: at once where nobody is signed in, else after asking. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { faultOf, wordsOf } from '../api/fault.ts';
import { signIn, useSession } from '../api/session.ts';
import { Button } from '../parts/button.tsx';
import { Name } from '../parts/name.tsx';
import { Panel } from '../parts/page.tsx';
import { Loading } from '../parts/states.tsx';

export function ByLink({ code, onSignedIn }: { readonly code: string; readonly onSignedIn: () => void }) {
  const session = useSession();
  const [failure, setFailure] = useState<unknown>(null);
  const used = useRef<string | null>(null);
  const enter = async () => {
    // It works once.
    if (used.current === code) return;
    used.current = code;
    try {
      await signIn({ code });
      onSignedIn();
    } catch (error) {
      setFailure(error);
    }
  };
  const isNobody = session.data === undefined && session.error !== null;
  useEffect(() => {
    if (isNobody) void enter();
  }, [isNobody, code]);

  if (failure !== null) {
    return (
      <p class="state failed" role="alert">
        {whyNot(failure)}
      </p>
    );
  }
  if (session.data === undefined || used.current !== null) return <Loading rows={2} />;
  return (
    <Panel title="Sign in with this link?">
      <p>
        You are signed in as <Name>{session.data.login}</Name>. The link ends this session, and signs in the
        user for whom it was created.
      </p>
      <div class="actions">
        <Button onClick={onSignedIn}>Stay signed in</Button>
        <Button look="primary" onClick={() => void enter()}>
          Sign in with the link
        </Button>
      </div>
    </Panel>
  );
}

function whyNot(failure: unknown): string {
  const fault = faultOf(failure);
  return fault.is === 'signed-out'
    ? 'The link is invalid, expired, or already used. Ask an administrator for a new one.'
    : wordsOf(fault);
}
