/**
 * Signing out at the provider as well (OpenID Connect RP-Initiated Logout 1.0).
 *
 * Browsers bring their cookies along with whatever link of another site leads here. So the address has the
 * number of the session in it, which no other site knows: who comes without it is signed out of nothing.
 */

import { buildEndSessionUrl } from 'openid-client';
import type { Snapshot } from '../documents/index.ts';
import type { SessionDocument } from '../identity/index.ts';
import { SignInFault } from './fault.ts';
import type { SourceDocument } from './kinds.ts';
import { causesOf, isSafeFor, type Provider } from './providers.ts';
import { sourceById } from './sources.ts';

/**
 * Path at which a browser with this session signs out, relative to the base URL; null: the session ends here
 * alone.
 */
export function signOutHref(snapshot: Snapshot, { id, via }: SessionDocument): string | null {
  const source = via.is === 'source' ? sourceById(snapshot, String(via.source)) : undefined;
  if (source?.signOutAtProvider !== true) return null;
  return `sign-in/oauth2/${source.id}/sign-out?session=${id}`;
}

/** Tells whether the address of this source with this mark is the one that this very session was given. */
export function isSignOutOf(session: SessionDocument, source: string, mark: string | null): boolean {
  return session.via.is === 'source' && String(session.via.source) === source && String(session.id) === mark;
}

/**
 * Address at which a browser ends its session at the provider, which sends it to `back` then. No token is
 * kept that could say whose session it is, so most providers ask the person. Throws a `SignInFault`.
 */
export function endSessionAddress([configuration]: Provider, source: SourceDocument, back: string): URL {
  const address = addressAt(configuration, back);
  if (isSafeFor(source, address)) return address;
  throw new SignInFault('still_signed_in_there', 'the end_session_endpoint of the provider is plain http');
}

function addressAt(configuration: Provider[0], back: string): URL {
  try {
    return buildEndSessionUrl(configuration, { post_logout_redirect_uri: back });
  } catch (error) {
    const reason = `the provider has no usable end_session_endpoint: ${causesOf(error)}`;
    throw new SignInFault('still_signed_in_there', reason, error);
  }
}
