/**
 * Banners on all pages: the daemon does not answer, the session has ended, the store cannot be written,
 * another version runs.
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import { daemonVersion, reachability, signedOut, storeAwaySince } from '../api/connection.ts';
import { useWatched } from '../api/watched.ts';
import { to } from '../place.ts';
import { announce } from './announcer.tsx';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { timeWords } from './figures.tsx';
import { SignInForm } from './sign-in.tsx';

export function Banners({ isSignedIn }: { readonly isSignedIn: boolean }) {
  return (
    <>
      <Unreachable />
      {isSignedIn && <SignedOut />}
      {isSignedIn && <StoreAway />}
      <OtherVersion />
    </>
  );
}

function Unreachable() {
  const now = useWatched(reachability);
  useReturn(now.is === 'away', 'The daemon answers again.');
  if (now.is === 'there') return null;
  return (
    <div class="banner" role="alert">
      {now.since === null
        ? 'The daemon does not answer. This page continues automatically when it answers.'
        : `The daemon has not answered since ${timeWords(now.since)}; the figures are from that time. This page continues automatically when it answers.`}
    </div>
  );
}

function StoreAway() {
  const since = useWatched(storeAwaySince);
  useReturn(since !== null, 'The store can be written again.');
  if (since === null) return null;
  return (
    <div class="banner" role="alert">
      The store has not been writable since {timeWords(new Date(since))}. Pushes and uploads are still decided
      from the known figures, but nothing can be changed until the store is writable again.
    </div>
  );
}

/** Announces the end of an outage. */
function useReturn(isAway: boolean, words: string): void {
  const wasAway = useRef(false);
  useEffect(() => {
    if (!isAway && wasAway.current) announce(words);
    wasAway.current = isAway;
  }, [isAway]);
}

function SignedOut() {
  const isOut = useWatched(signedOut);
  const [isAsking, setAsking] = useState(false);
  if (!isOut) return null;
  return (
    <div class="banner" role="alert">
      <span>Your session has ended. Sign in to continue on this page.</span>
      <Button onClick={() => setAsking(true)}>Sign in</Button>
      {isAsking && (
        <Dialog title="Sign in" onClose={() => setAsking(false)}>
          <SignInForm onSignedIn={() => setAsking(false)} />
          <p>
            <a href={to('signIn')} target="_blank" rel="noopener">
              Sign in another way, in a new tab
            </a>
          </p>
        </Dialog>
      )}
    </div>
  );
}

function OtherVersion() {
  const version = useWatched(daemonVersion);
  const first = useRef<string | null>(null);
  first.current ??= version;
  if (version === first.current) return null;
  return (
    <div class="banner" role="status">
      <span>The server now runs softquota {version}; this page is from another version.</span>
      <Button onClick={() => window.location.reload()}>Reload</Button>
    </div>
  );
}
