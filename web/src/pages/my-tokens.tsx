/** One's own tokens, and where one is signed in. */

import { useSession } from '../api/session.ts';
import { Page } from '../parts/page.tsx';
import { Sessions } from '../parts/sessions.tsx';
import { Answered } from '../parts/states.tsx';
import { Tokens } from '../parts/tokens.tsx';

export function MyTokens() {
  const session = useSession();
  return (
    <Page title="My tokens and sessions" help="my-tokens">
      <Answered query={session} what="who you are">
        {({ login, is_admin: isAdmin }) => (
          <>
            <Tokens user={login} isAdmin={isAdmin} />
            <Sessions user={login} />
          </>
        )}
      </Answered>
    </Page>
  );
}
