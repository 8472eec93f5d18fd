/** The sign-in page: with an identity provider, a token, or a one-time link. */

import { useQuery } from '@tanstack/preact-query';
import { wayBack } from '../../../src/wire/pages.ts';
import { signInFaults } from '../../../src/wire/sign-in-faults.ts';
import { offeredSourcesQuery } from '../api/auth-queries.ts';
import { useSession } from '../api/session.ts';
import { Name } from '../parts/name.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { SignInForm } from '../parts/sign-in.tsx';
import { go, useQueryPart } from '../place.ts';
import { ByLink } from '../sign-in/by-link.tsx';
import { useCode } from '../sign-in/code.ts';

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

/** Only what is on the list is shown: an address that somebody was given says nothing else here. */
function SourceFault({ code }: { code: string | null }) {
  const words = new Map<string, string>(Object.entries(signInFaults)).get(code ?? '');
  if (words === undefined) return null;
  return (
    <p class="state failed" role="alert">
      {words}
    </p>
  );
}

/** Nothing where there are none. */
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
