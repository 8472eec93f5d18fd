/** Sign-in page: with an identity provider, a token, or a one-time link. */

import { useQuery } from '@tanstack/preact-query';
import { useEffect, useRef, useState } from 'preact/hooks';
import { signInFaults, wayBack } from '../../../src/wire/pages.ts';
import { offeredSourcesQuery } from '../api/auth-queries.ts';
import { faultOf, wordsOf } from '../api/fault.ts';
import { signIn, useSession } from '../api/session.ts';
import { Button } from '../parts/button.tsx';
import { Name } from '../parts/name.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { SignInForm } from '../parts/sign-in.tsx';
import { Loading } from '../parts/states.tsx';
import { go, useQueryPart } from '../place.ts';

export function SignIn() {
  const [query] = useQueryPart();
  const session = useSession();
  const code = useCode();
  const back = wayBack(query.get('back'), new URL(document.baseURI));
  const leave = () => go(back, { replace: true });
  return (
    <Page title="Sign in" help="sign-in">
      <div class="narrow stack">
        <SourceFault code={query.get('fault')} />
        {code !== null && <ByLink code={code} onSignedIn={leave} />}
        {code === null && session.data !== undefined && (
          <p class="state">
            You are signed in as <Name>{session.data.login}</Name>. <a href={back}>Continue</a>, or sign in as
            another user.
          </p>
        )}
        <Sources back={back} />
        <Panel title="With a token">
          <SignInForm onSignedIn={leave} />
        </Panel>
        <p class="quiet-text small">
          Ask your administrator for a token (<code>softquota token create --user NAME</code>) or a one-time
          link (<code>softquota sign-in-link --user NAME</code>).
        </p>
      </div>
    </Page>
  );
}

/** Shows only known sentences, so that a prepared address cannot show another text. */
function SourceFault({ code }: { code: string | null }) {
  const words = new Map<string, string>(Object.entries(signInFaults)).get(code ?? '');
  if (words === undefined) return null;
  return (
    <p class="state failed" role="alert">
      {words}
    </p>
  );
}

function Sources({ back }: { back: string }) {
  const sources = useQuery(offeredSourcesQuery);
  if (sources.data === undefined || sources.data.length === 0) return null;
  return (
    <Panel title="With single sign-on">
      <ul class="stack">
        {sources.data.map(({ id, name, href }) => (
          <li key={id}>
            <a class="button" href={`${href}?${new URLSearchParams({ return_to: back })}`}>
              Sign in with <Name>{name}</Name>
            </a>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Signs in at once if nobody is signed in, and otherwise after a question. */
function ByLink({ code, onSignedIn }: { readonly code: string; readonly onSignedIn: () => void }) {
  const session = useSession();
  const [failure, setFailure] = useState<unknown>(null);
  const used = useRef<string | null>(null);
  const enter = async () => {
    // A code signs in only once.
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
      <div class="state failed" role="alert">
        <p>{whyNot(failure)}</p>
        {faultOf(failure).is !== 'signed-out' && (
          <Button
            onClick={() => {
              used.current = null;
              setFailure(null);
              void enter();
            }}
          >
            Try again
          </Button>
        )}
      </div>
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

/**
 * Returns the code of a sign-in link; null if there is none. It is in the fragment, which browsers do not
 * send to servers, and is removed from the address at once.
 */
function useCode(): string | null {
  const [code, setCode] = useState(takenCode);
  useEffect(() => {
    // Another link in the same tab changes only the fragment.
    const take = () => setCode(before => takenCode() ?? before);
    window.addEventListener('hashchange', take);
    return () => window.removeEventListener('hashchange', take);
  }, []);
  return code;
}

function takenCode(): string | null {
  const { hash, pathname, search } = window.location;
  const code = new URLSearchParams(hash.slice(1)).get('code');
  if (code === null) return null;
  window.history.replaceState(null, '', `${pathname}${search}`);
  return code;
}
