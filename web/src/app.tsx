/** The app: the signed-in user, the current page, and the frame around it. */

import { QueryClientProvider } from '@tanstack/preact-query';
import { useEffect } from 'preact/hooks';
import type { PageId } from '../../src/wire/pages.ts';
import { client } from './api/client.ts';
import { faultOf } from './api/fault.ts';
import { type Session, useSession } from './api/session.ts';
import { views } from './pages/index.ts';
import { NoSuchPage, NotForYou } from './pages/no-page.tsx';
import { Administrator } from './parts/name.tsx';
import { Failed, Loading } from './parts/states.tsx';
import { followLinks, forEverybody, go, to, usePlace } from './place.ts';
import { Shell } from './shell.tsx';

export function App() {
  useEffect(followLinks, []);
  return (
    <QueryClientProvider client={client}>
      <Inside />
    </QueryClientProvider>
  );
}

function Inside() {
  const place = usePlace();
  const session = useSession();
  const isUnknown = session.data === undefined && session.error !== null;
  const mustSignIn =
    isUnknown && faultOf(session.error).is === 'signed-out' && place !== null && !isOpen(place.page);
  useEffect(() => {
    if (mustSignIn) go(to('signIn', undefined, { back: hereBelowBase() }), { replace: true });
  }, [mustSignIn]);

  if (place?.page === 'signIn' || (session.data === undefined && (place === null || isOpen(place.page)))) {
    return <Shell session={null}>{drawn(place?.page ?? null, '')}</Shell>;
  }
  if (session.data === undefined) {
    return (
      <Shell session={null}>
        {isUnknown && !mustSignIn ? <Failed query={session} what="who you are" /> : <Loading rows={6} />}
      </Shell>
    );
  }
  return (
    <Shell session={session.data} page={place?.page}>
      <Administrator.Provider value={session.data.is_admin}>
        <Allowed session={session.data} page={place?.page ?? null} name={place?.name ?? ''} />
      </Administrator.Provider>
    </Shell>
  );
}

/** Returns true for pages without a sign-in. */
function isOpen(page: PageId): boolean {
  return page === 'signIn' || page === 'help';
}

function Allowed({ session, page, name }: { session: Session; page: PageId | null; name: string }) {
  const isHome = page === 'overview' && !session.is_admin;
  useEffect(() => {
    if (isHome) go(to('mine'), { replace: true });
  }, [isHome]);
  if (isHome) return null;
  if (page !== null && !session.is_admin && !forEverybody.has(page)) return <NotForYou />;
  return drawn(page, name);
}

/** Renders a page. The key contains the name, so that input for one owner is not kept for another. */
function drawn(page: PageId | null, name: string) {
  const View = page === null ? undefined : views[page];
  return View === undefined ? <NoSuchPage /> : <View key={`${page} ${name}`} name={name} />;
}

function hereBelowBase(): string {
  const base = new URL(document.baseURI).pathname;
  return `${window.location.pathname}${window.location.search}`.slice(base.length);
}
