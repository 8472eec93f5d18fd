/**
 * Sends a browser to a provider, and gets the claims of the user whom the provider sends back with a code.
 */

import {
  AuthorizationResponseError,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildAuthorizationUrlWithPAR,
  type Configuration,
  fetchUserInfo,
  ResponseBodyError,
} from 'openid-client';
import { systemCode } from '../errors.ts';
import type { SignInFaultCode } from '../wire/index.ts';
import type { Claims } from './claims.ts';
import { SignInFault } from './fault.ts';
import type { PendingLogin } from './pending-sign-ins.ts';
import { causesOf, type Provider } from './providers.ts';
import type { LoginResult } from './synchronization.ts';

/** `address` is the one that the browser came to. Rejects with a `SignInFault`. */
export async function arrivalBy(provider: Provider, address: URL, begun: PendingLogin): Promise<LoginResult> {
  const { verifier: pkceCodeVerifier, nonce: expectedNonce, state: expectedState } = begun;
  const checks = { pkceCodeVerifier, expectedNonce, expectedState, idTokenExpected: true };
  try {
    const { by, tokens } = await byFirstWay(provider, async by => ({
      by,
      tokens: await authorizationCodeGrant(by, address, checks),
    }));
    const idToken = tokens.claims();
    if (idToken === undefined) throw new SignInFault('not_believed', 'the provider gave no ID token');
    const { sub: subject } = idToken;
    const { userinfo_endpoint: more } = by.serverMetadata();
    const userinfo = more === undefined ? {} : await fetchUserInfo(by, tokens.access_token, subject);
    return { subject, claims: mergedClaims(idToken, userinfo) };
  } catch (error) {
    if (error instanceof AuthorizationResponseError) {
      throw new SignInFault('provider_refused', `the provider says ${JSON.stringify(error.error)}`);
    }
    const isAway = error instanceof TypeError || systemCode(error) === 'OAUTH_TIMEOUT';
    throw (
      refusalIn(error, 'not_believed', 'the provider refuses the code') ??
      new SignInFault(isAway ? 'provider_away' : 'not_believed', causesOf(error))
    );
  }
}

/**
 * Asks by the first way to say who we are that the provider takes: one that it does not take uses up no code.
 */
async function byFirstWay<T>(
  [by, next, ...others]: Provider,
  ask: (by: Configuration) => Promise<T>,
): Promise<T> {
  try {
    return await ask(by);
  } catch (error) {
    if (next === undefined || !isUnknownClient(error)) throw error;
    return byFirstWay([next, ...others], ask);
  }
}

/**
 * Fault of what the provider refused; null: it refused nothing. Its answer goes nowhere, not even to the log,
 * except the name of its error.
 */
function refusalIn(error: unknown, code: SignInFaultCode, words: string): SignInFault | null {
  if (error instanceof SignInFault) return error;
  if (isUnknownClient(error)) {
    return new SignInFault('misconfigured', 'the provider does not know this client id with this secret');
  }
  return error instanceof ResponseBodyError
    ? new SignInFault(code, `${words}: ${JSON.stringify(error.error)}`)
    : null;
}

function isUnknownClient(error: unknown): boolean {
  return error instanceof ResponseBodyError && error.error === 'invalid_client';
}

/** Userinfo goes before; that a claim is elsewhere (`_claim_names`) holds if either says so. */
export function mergedClaims(idToken: Claims, userinfo: Claims): Claims {
  const markers = [idToken, userinfo].flatMap(claims =>
    Object.hasOwn(claims, '_claim_names') ? [claims._claim_names] : [],
  );
  const [first, second] = markers;
  const both = isObject(first) && isObject(second) ? { ...first, ...second } : (second ?? first);
  // An unreadable marker stands for every claim, so a readable one must not hide it.
  const marker = isObject(second) && first !== undefined && !isObject(first) ? first : both;
  return { ...idToken, ...userinfo, ...(markers.length === 0 ? {} : { _claim_names: marker }) };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Anybody can begin a sign-in: no more than so many wait for providers at once. */
const mostAtOnce = 32;

let underWay = 0;

/**
 * Makes the address that a browser is sent to at a provider. The parameters go there beforehand if the
 * provider takes that (pushed authorization requests, RFC 9126): the browser then brings a reference alone.
 * If a provider takes such requests but does not require them, the browser brings the parameters itself
 * whenever the provider does not take them beforehand. Rejects with a `SignInFault`.
 */
export async function authorizationAddress(
  provider: Provider,
  parameters: Readonly<Record<string, string>>,
): Promise<URL> {
  const [configuration] = provider;
  const {
    pushed_authorization_request_endpoint: offered,
    require_pushed_authorization_requests: isRequired,
  } = configuration.serverMetadata();
  if (offered === undefined) return buildAuthorizationUrl(configuration, parameters);
  try {
    return await pushedAddress(provider, parameters);
  } catch (error) {
    if (isRequired !== true) return buildAuthorizationUrl(configuration, parameters);
    throw (
      refusalIn(error, 'provider_refused', 'the provider refuses the pushed request') ??
      new SignInFault('provider_away', `the request could not be pushed: ${causesOf(error)}`)
    );
  }
}

async function pushedAddress(provider: Provider, parameters: Readonly<Record<string, string>>): Promise<URL> {
  if (underWay >= mostAtOnce) {
    throw new SignInFault('not_now', `${mostAtOnce} sign-ins wait for their providers already`);
  }
  underWay += 1;
  try {
    return await byFirstWay(provider, by => buildAuthorizationUrlWithPAR(by, { ...parameters }));
  } finally {
    underWay -= 1;
  }
}
