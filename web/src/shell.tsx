/** Frame of every page: links to the others, and notices that appear on every page. */

import { useQuery } from '@tanstack/preact-query';
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { PageId } from '../../src/wire/pages.ts';
import { faultOf, wordsOf } from './api/fault.ts';
import { openRequestsQuery } from './api/own-queries.ts';
import { type Session, signOut, signOutAt } from './api/session.ts';
import { Announcer, announce } from './parts/announcer.tsx';
import { Banners } from './parts/banners.tsx';
import { Button } from './parts/button.tsx';
import { Name } from './parts/name.tsx';
import { go, to } from './place.ts';

interface ShellProps {
  /** Null if nobody is signed in, or if this is not known yet. */
  readonly session: Session | null;
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
      {session?.is_admin && <Beside page={page} />}
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

/** A page with its label; `below` is the page of one item in its list. */
type EntryPage = readonly [words: string, page: PageId, below?: PageId];

interface Entry {
  readonly words: string;
  /** The first page is the target of the entry. */
  readonly pages: readonly [EntryPage, ...EntryPage[]];
}

const administration: readonly Entry[] = [
  { words: 'Overview', pages: [['Overview', 'overview']] },
  { words: 'Owners', pages: [['Owners', 'owners', 'owner']] },
  { words: 'Repositories', pages: [['Repositories', 'repositories']] },
  {
    words: 'Policy',
    pages: [
      ['Policy', 'policy'],
      ['Groups', 'groups', 'group'],
      ['Rules', 'rules', 'rule'],
    ],
  },
  { words: 'Requests', pages: [['Requests', 'requests']] },
  {
    words: 'Activity',
    pages: [
      ['Events', 'events'],
      ['Scans', 'scans'],
      ['Notices', 'notices'],
    ],
  },
  {
    words: 'Settings',
    pages: [
      ['Sources', 'auths'],
      ['Tokens', 'tokens'],
      ['Hosts', 'hosts'],
    ],
  },
];

/** Returns the menu entry of a page. */
function entryOf(page: PageId | undefined): Entry | undefined {
  return administration.find(({ pages }) =>
    pages.some(([, target, below]) => current(page, target, below) !== undefined),
  );
}

function Ways({ session, page }: { session: Session; page: PageId | undefined }) {
  const address = window.location.pathname;
  // The menu is open for one address only, so that it closes after a choice.
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
        {session.is_admin ? <Administration page={page} /> : <Own session={session} page={page} />}
        <ul>
          {session.is_admin && (
            <li>
              <a href={to('mine')} aria-current={current(page, 'mine')}>
                <Name>{session.login}</Name>
              </a>
            </li>
          )}
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

function Administration({ page }: { readonly page: PageId | undefined }) {
  const { data: open } = useQuery(openRequestsQuery);
  return (
    <ul>
      {administration.map(entry => {
        const [[, first]] = entry.pages;
        const isOne = entry.pages.length === 1;
        const here =
          entryOf(page) === entry ? (isOne ? (current(page, first) ?? 'true') : 'true') : undefined;
        return (
          <li key={entry.words}>
            <a href={to(first)} aria-current={here}>
              {entry.words}
              {first === 'requests' && <OpenCount count={open?.total ?? 0} />}
            </a>
          </li>
        );
      })}
    </ul>
  );
}

/** Number beside a menu entry, unless it is 0. */
function OpenCount({ count }: { readonly count: number }) {
  if (count === 0) return null;
  return (
    <>
      {' '}
      <span class="mark near">
        {count.toLocaleString('en-US')}
        <span class="visually-hidden"> open</span>
      </span>
    </>
  );
}

function Own({ session, page }: { readonly session: Session; readonly page: PageId | undefined }) {
  return (
    <ul>
      <li>
        <a href={to('mine')} aria-current={current(page, 'mine', 'organization')}>
          Usage
        </a>
      </li>
      <li>
        <a href={to('space', session.login)} aria-current={current(page, 'space')}>
          Space
        </a>
      </li>
      <li>
        <a href={to('requests')} aria-current={current(page, 'requests')}>
          Requests
        </a>
      </li>
    </ul>
  );
}

/** Links to all pages of the current entry, if it has several. */
function Beside({ page }: { readonly page: PageId | undefined }) {
  const entry = entryOf(page);
  if (entry === undefined || entry.pages.length === 1) return null;
  return (
    <nav class="beside" aria-label={entry.words}>
      <ul>
        {entry.pages.map(([words, target, below]) => (
          <li key={target}>
            <a href={to(target)} aria-current={current(page, target, below)}>
              {words}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function current(page: PageId | undefined, target: PageId, below?: PageId): 'page' | 'true' | undefined {
  if (page === target) return 'page';
  return page !== undefined && page === below ? 'true' : undefined;
}

/** `at` is the address that also signs out at the provider; null if there is none. */
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
