/** Frame of every page: links to the others, and notices that appear on every page. */

import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { PageId } from '../../src/wire/pages.ts';
import { faultOf, wordsOf } from './api/fault.ts';
import { type Session, signOut, signOutAt } from './api/session.ts';
import { Announcer, announce } from './parts/announcer.tsx';
import { Banners } from './parts/banners.tsx';
import { Button } from './parts/button.tsx';
import { Name } from './parts/name.tsx';
import { go, to } from './place.ts';

interface ShellProps {
  /** Null: nobody is signed in, as far as is known. */
  readonly session: Session | null;
  /** The page that is shown. */
  readonly page?: PageId | undefined;
  readonly children: ComponentChildren;
}

export function Shell({ session, page, children }: ShellProps) {
  const main = useRef<HTMLElement>(null);
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <header class="top">
        <a class="brand" href={to('overview')}>
          softquota
        </a>
        {session !== null && <Ways session={session} page={page} />}
      </header>
      <Banners isSignedIn={session !== null} />
      <main ref={main} tabIndex={-1}>
        {children}
      </main>
      <footer class="foot">
        softquota {session?.version ?? ''} · <a href={to('help')}>Help</a> ·{' '}
        <a href="api/swagger">HTTP API</a> · <a href="licenses.txt">Licenses</a>
      </footer>
      <Announcer />
    </>
  );
}

/** Each page, and those that belong to it. */
const administration: readonly (readonly [words: string, page: PageId, below?: PageId])[] = [
  ['Overview', 'overview'],
  ['Owners', 'owners', 'owner'],
  ['Repositories', 'repositories'],
  ['Groups', 'groups', 'group'],
  ['Rules', 'rules', 'rule'],
  ['Policy', 'policy'],
  ['Requests', 'requests'],
  ['Scans', 'scans'],
  ['Events', 'events'],
  ['Notices', 'notices'],
  ['Hosts', 'hosts'],
  ['Tokens', 'tokens'],
  ['Sources', 'auths'],
];

function Ways({ session, page }: { session: Session; page: PageId | undefined }) {
  const address = window.location.pathname;
  // Open on one page only: who chose another wants to see that.
  const [openAt, setOpenAt] = useState<string | null>(null);
  const isOpen = openAt === address;
  return (
    <>
      <button
        type="button"
        class="menu"
        aria-expanded={isOpen}
        onClick={() => setOpenAt(isOpen ? null : address)}
      >
        Menu
      </button>
      <nav class={isOpen ? 'open' : ''} aria-label="Pages">
        {session.is_admin && (
          <ul>
            {administration.map(([words, target, below]) => (
              <li key={target}>
                <a href={to(target)} aria-current={current(page, target, below)}>
                  {words}
                </a>
              </li>
            ))}
          </ul>
        )}
        <ul>
          <li>
            <a href={to('mine')} aria-current={current(page, 'mine')}>
              {session.is_admin ? <Name>{session.login}</Name> : 'My usage'}
            </a>
          </li>
          {session.organizations.map(name => (
            <li key={name}>
              <a
                href={to('organization', name)}
                aria-current={isHere(to('organization', name)) ? 'page' : undefined}
              >
                <Name>{name}</Name>
              </a>
            </li>
          ))}
          <li>
            <a href={to('myTokens')} aria-current={current(page, 'myTokens')}>
              My tokens
            </a>
          </li>
          <li>
            <SignOut at={session.sign_out_href} />
          </li>
        </ul>
      </nav>
    </>
  );
}

function current(page: PageId | undefined, target: PageId, below?: PageId): 'page' | 'true' | undefined {
  if (page === target) return 'page';
  return page !== undefined && page === below ? 'true' : undefined;
}

function isHere(address: string): boolean {
  return new URL(address, document.baseURI).pathname === window.location.pathname;
}

/** `at`: where the browser goes to sign out at the provider as well; null: there is no such place. */
function SignOut({ at }: { at: string | null }) {
  const leave = async () => {
    if (at !== null) return signOutAt(at);
    try {
      await signOut();
      go(to('signIn'));
    } catch (error) {
      announce(wordsOf(faultOf(error)));
    }
  };
  return (
    <Button look="quiet" onClick={() => void leave()}>
      Sign out
    </Button>
  );
}
