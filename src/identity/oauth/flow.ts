/**
 * Sign-in at a provider: authorization code with PKCE, state and nonce (OpenID Connect Core, RFC 7636, RFC
 * 9207) with openid-client; and sign-out there (RP-Initiated Logout 1.0). All failures reject with a
 * `SignInFault`.
 *
 * A link on another site to the sign-out would carry the user's cookie. So the address of a sign-out has the
 * id of the session, which no other site knows; without it nothing is signed out.
 */

import * as openid from 'openid-client';
import type { Author, Documents, Snapshot } from '../../documents/index.ts';
import { SoftquotaError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import { printable } from '../../text.ts';
import { type OfferedSource, wayBack } from '../../wire/index.ts';
import type { SessionDocument, SourceDocument } from '../kinds.ts';
import { endBrought, endSessions, type SessionCookie, startSession } from '../sessions.ts';
import { issuerOf } from './issuer.ts';
import type { SecretKeys } from './keys.ts';
import { begunSeconds, type PendingLogin, PendingSignIns, usedOnce } from './pending-sign-ins.ts';
import {
  arrivalBy,
  authorizationAddress,
  causesOf,
  isSafeFor,
  lostSecret,
  type Provider,
  rememberingProviders,
} from './providers.ts';
import { clientSecretOf, sourceById, sourcesIn } from './sources.ts';
import { type LoginResult, logIn, SignInFault, warn } from './synchronization.ts';

interface SignInFlowOptions {
  readonly documents: Pick<Documents, 'snapshot' | 'transact'>;
  readonly keys: SecretKeys;
  readonly log: Pick<Log, 'warn'>;
  /** Ends with a slash. */
  baseUrl(): string;
  /** Milliseconds since 1970. */
  now(): number;
}

interface Onward {
  readonly location: string;
  /** `Set-Cookie` headers. */
  readonly cookies: readonly string[];
}

export class SignInFlow {
  readonly #options: SignInFlowOptions;
  readonly #providerOf: (source: SourceDocument) => Promise<Provider>;
  readonly #useState = usedOnce(begunSeconds * 1000);

  constructor(options: SignInFlowOptions) {
    this.#options = options;
    this.#providerOf = rememberingProviders(options.keys);
  }

  offered(): readonly OfferedSource[] {
    const active = sourcesIn(this.#options.documents.snapshot).filter(({ isActive }) => isActive);
    return active.map(({ id, name }) => ({ id: String(id), name, href: `sign-in/oauth2/${id}` }));
  }

  /** Returns the address that the provider sends browsers back to; it has to be registered there. */
  redirectUri(sourceId: number): string {
    return new URL(`sign-in/oauth2/${sourceId}/callback`, this.#options.baseUrl()).href;
  }

  /**
   * The address that a provider sends browsers back to after a sign-out; it has to be registered there, too.
   */
  get postLogoutRedirectUri(): string {
    return new URL('sign-in', this.#options.baseUrl()).href;
  }

  faultPage({ code }: SignInFault): string {
    return new URL(`sign-in?fault=${code}`, this.#options.baseUrl()).href;
  }

  /**
   * Returns the reason why sign-ins with this source would fail now, or sign-outs if it is set to sign out at
   * the provider; null: they would work. Waits for the provider, but not for long.
   *
   * The text does not depend on what answers at the address, since otherwise administrators could explore the
   * network of this host. The log has the reason.
   */
  async trouble(source: SourceDocument): Promise<string | null> {
    const { keys, log } = this.#options;
    if (clientSecretOf(source, keys).is === 'lost')
      return `at the moment nobody can sign in with this source: ${lostSecret}`;
    try {
      const provider = await this.#providerOf(source);
      if (source.signOutAtProvider) endSessionAddress(provider, source, this.postLogoutRedirectUri);
      return null;
    } catch (error) {
      const reason = error instanceof SignInFault ? error.message : causesOf(error);
      const isOfSignOut = error instanceof SignInFault && error.code === 'still_signed_in_there';
      log.warn(
        { source: source.name, reason },
        isOfSignOut ? 'signing out cannot end sessions at a provider' : 'nobody could sign in by a source',
      );
      return isOfSignOut ? onlyHere : unusable;
    }
  }

  /**
   * Ends a session on this server if `mark` is its id, which shows that the browser comes from our own page.
   * False: it is not, and nothing has changed. Rejects with a `SignInFault`.
   */
  async endHere(
    session: SessionDocument,
    sourceId: string,
    mark: string | null,
    by: Author,
  ): Promise<boolean> {
    const { id: number, via } = session;
    const isOf = via.is === 'source' && String(via.source) === sourceId && String(number) === mark;
    if (!isOf) return false;
    try {
      await this.#options.documents.transact(
        ({ changes }) => endSessions(changes, session.owner, ({ id }) => id === session.id),
        by,
      );
      return true;
    } catch (error) {
      if (error instanceof SoftquotaError) throw new SignInFault('still_signed_in', error.message, error);
      throw error;
    }
  }

  /** Returns the address that ends the session at the provider. Rejects with a `SignInFault`. */
  async endThere(sourceId: string): Promise<string> {
    try {
      const source = this.#activeSource(sourceId);
      const provider = await this.#providerOf(source);
      return endSessionAddress(provider, source, this.postLogoutRedirectUri).href;
    } catch (error) {
      if (error instanceof SignInFault) throw new SignInFault('still_signed_in_there', error.message, error);
      throw error;
    }
  }

  /**
   * Begins a sign-in: returns the address at the provider, and cookies. `returnTo` is the page that the
   * browser wants afterwards; it is ignored if it is not our own.
   */
  async begin(sourceId: string, returnTo: string | null, cookies: string | undefined): Promise<Onward> {
    const source = this.#activeSource(sourceId);
    const provider = await this.#providerOf(source);
    const begun: PendingLogin = {
      state: openid.randomState(),
      nonce: openid.randomNonce(),
      verifier: openid.randomPKCECodeVerifier(),
      sourceId,
      issuer: issuerOf(source.discoveryUrl),
      // A path is relative to the base URL, even if that has a path itself.
      returnTo: wayBack(returnTo?.replace(/^\//, './') ?? null, new URL(this.#options.baseUrl())),
      at: this.#options.now(),
    };
    const location = await authorizationAddress(provider, {
      redirect_uri: this.redirectUri(source.id),
      scope: [...new Set(['openid', ...source.scopes])].join(' '),
      state: begun.state,
      nonce: begun.nonce,
      code_challenge: await openid.calculatePKCECodeChallenge(begun.verifier),
      code_challenge_method: 'S256',
    });
    return { location: location.href, cookies: this.#cookies.begin(cookies, begun) };
  }

  /**
   * Finishes a sign-in, only once: starts a session for the user who comes back from the provider, and ends
   * the session of the cookie `held`. `query` is unchanged, with the `?`; `cookies` is the header `Cookie`.
   */
  async finish(
    sourceId: string,
    query: string,
    cookies: string | undefined,
    held: string | null,
  ): Promise<Onward & { readonly session: SessionCookie }> {
    const source = this.#activeSource(sourceId);
    const begun = this.#begun(source, query, cookies);
    const address = new URL(this.redirectUri(source.id));
    address.search = query;
    const arrival = await arrivalBy(await this.#providerOf(source), address, begun);
    const session = await this.#signedIn(source, arrival, held);
    const location = new URL(begun.returnTo, this.#options.baseUrl()).href;
    return { location, cookies: [this.#cookies.end(begun.state)], session };
  }

  get #cookies(): PendingSignIns {
    return new PendingSignIns(this.#options.keys, this.#options.baseUrl());
  }

  #activeSource(id: string, snapshot: Snapshot = this.#options.documents.snapshot): SourceDocument {
    const source = sourceById(snapshot, id);
    if (source === undefined) throw new SignInFault('unknown_source', 'there is no such source');
    if (source.isActive) return source;
    throw new SignInFault('inactive_source', `the source ${printable(source.name)} is not active`);
  }

  #begun(source: SourceDocument, query: string, cookies: string | undefined): PendingLogin {
    const state = new URLSearchParams(query).get('state') ?? '';
    const now = this.#options.now();
    const begun = this.#cookies.find(cookies, state, now);
    if (begun === null) {
      const reason = 'this browser did not begin this sign-in, or began it too long ago';
      throw new SignInFault('not_started_here', reason);
    }
    // Each source has its own redirect URI, so an answer at that of another source is an attack (RFC 9700,
    // 4.4).
    if (begun.sourceId !== String(source.id) || begun.issuer !== issuerOf(source.discoveryUrl))
      throw otherProvider();
    if (!this.#useState(state, now)) {
      throw new SignInFault('not_started_here', 'the sign-in was finished before');
    }
    return begun;
  }

  /** Finds or creates the user, applies the claims, and replaces the session, all in one change. */
  async #signedIn(source: SourceDocument, arrival: LoginResult, held: string | null): Promise<SessionCookie> {
    const { documents, log } = this.#options;
    const at = this.#options.now();
    const issuer = issuerOf(source.discoveryUrl);
    const via = { is: 'source', source: source.id, issuer, subject: arrival.subject } as const;
    try {
      const { told, session } = await documents.transact(transaction => {
        // The source may have changed during the requests to the provider.
        const current = this.#activeSource(String(source.id), transaction.changes);
        if (issuerOf(current.discoveryUrl) !== issuer) throw otherProvider();
        const arrived = logIn(transaction, current, arrival, at);
        const { changes } = transaction;
        if (held !== null) endBrought(changes, held, at);
        const wanted = { via, scopes: ['all'], endsAt: null };
        return { told: arrived.told, session: startSession(changes, arrived.owner, wanted, at) };
      });
      warn(log, told);
      return session;
    } catch (error) {
      if (error instanceof SoftquotaError) throw new SignInFault('not_now', error.message, error);
      throw error;
    }
  }
}

function otherProvider(): SignInFault {
  const reason = 'the sign-in was begun with another provider than the one that answers';
  return new SignInFault('not_believed', reason);
}

const unusable =
  'at the moment nobody can sign in with this source: the provider cannot be used with these settings; the log of the daemon has the reason';
const onlyHere =
  'a sign-out ends only the session on this server: the provider has no usable end_session_endpoint';

/**
 * Returns the path that signs out also at the provider, relative to the base URL; null: not at the provider.
 */
export function signOutHref(snapshot: Snapshot, { id, via }: SessionDocument): string | null {
  const source = via.is === 'source' ? sourceById(snapshot, String(via.source)) : undefined;
  if (source?.signOutAtProvider !== true) return null;
  return `sign-in/oauth2/${source.id}/sign-out?session=${id}`;
}

/**
 * Returns the address at which a browser ends its session at the provider, which then sends it to `back`. No
 * ID token is stored that could name the session, so most providers ask the user. Throws a `SignInFault`.
 */
function endSessionAddress([configuration]: Provider, source: SourceDocument, back: string): URL {
  const address = addressAt(configuration, back);
  if (isSafeFor(source, address)) return address;
  throw new SignInFault('still_signed_in_there', 'the end_session_endpoint of the provider is plain http');
}

function addressAt(configuration: Provider[0], back: string): URL {
  try {
    return openid.buildEndSessionUrl(configuration, { post_logout_redirect_uri: back });
  } catch (error) {
    const reason = `the provider has no usable end_session_endpoint: ${causesOf(error)}`;
    throw new SignInFault('still_signed_in_there', reason, error);
  }
}
