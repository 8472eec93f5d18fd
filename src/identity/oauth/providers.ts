/**
 * Talks to providers: reads and caches their discovery documents, makes the address that a browser is sent
 * to, and gets the claims of the user whom the provider sends back with a code.
 *
 * ID tokens need a signature by a private key: unsigned tokens and signatures with a shared secret are
 * rejected, and TLS does not replace a signature.
 */

import * as openid from 'openid-client';
import { z } from 'zod';
import { systemCode } from '../../errors.ts';
import { monotonicClock } from '../../turns.ts';
import type { SignInFaultCode } from '../../wire/index.ts';
import type { SourceDocument } from '../kinds.ts';
import { type Claims, isObject } from './claims.ts';
import { boundedFetch, discoveryOf, isSafeAddress, issuerOf } from './issuer.ts';
import type { SecretKeys } from './keys.ts';
import type { PendingLogin } from './pending-sign-ins.ts';
import { clientSecretOf, type KnownSecret } from './sources.ts';
import { type LoginResult, SignInFault } from './synchronization.ts';

const answerSeconds = 10;
const toleranceSeconds = 30;
/** Time for which a discovery document is cached. The provider's keys are fetched for each sign-in. */
const rememberedMs = 10 * 60_000;
/**
 * Time for which a failure is cached, so that nobody can cause endless requests to a provider that is down.
 */
const awayMs = 5000;

const asymmetric = /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/;

const endpoint = z.string().refine(text => URL.canParse(text));

/** The needed parts of a discovery document (OpenID Connect Discovery, 3). */
const usable = z.object({
  authorization_endpoint: endpoint,
  token_endpoint: endpoint,
  jwks_uri: endpoint,
  userinfo_endpoint: endpoint.optional(),
  pushed_authorization_request_endpoint: endpoint.optional(),
  require_pushed_authorization_requests: z.boolean().optional(),
  id_token_signing_alg_values_supported: z.array(z.string()).default(['RS256']),
  // If the provider names none, both are tried.
  token_endpoint_auth_methods_supported: z
    .array(z.string())
    .default(['client_secret_basic', 'client_secret_post']),
});

export const lostSecret =
  'the client secret was encrypted with a key that [security] SECRET_KEY does not have: add that key, or enter the secret again';

/** One configuration for each way to authenticate the client, in the order in which they are tried. */
export type Provider = readonly [openid.Configuration, ...openid.Configuration[]];

interface Remembered {
  readonly found: Promise<() => Provider>;
  /** Milliseconds of the monotonic clock, since a wall clock may be set back. */
  until: number;
}

/**
 * Returns a function that finds the provider of a source, and rejects with a `SignInFault`: `provider_away`
 * or `misconfigured`. It caches providers, but not their keys, since the provider may have rotated keys that
 * an earlier sign-in fetched. Keys are fetched only after the provider has accepted a code, so nobody can
 * cause such requests at will.
 */
export function rememberingProviders(keys: SecretKeys): (source: SourceDocument) => Promise<Provider> {
  const { now } = monotonicClock;
  const remembered = new Map<string, Remembered>();
  return async source => {
    const { id, discoveryUrl, clientId, clientSecret } = source;
    const key = JSON.stringify([id, discoveryUrl, clientId, clientSecret]);
    const at = now();
    for (const [other, { until }] of remembered) if (until <= at) remembered.delete(other);
    const known = remembered.get(key);
    if (known !== undefined) return (await known.found)();
    const asked: Remembered = { found: foundAt(source, keys), until: at + rememberedMs };
    remembered.set(key, asked);
    asked.found.catch(() => {
      asked.until = now() + awayMs;
    });
    return (await asked.found)();
  };
}

/** Returns a function that makes new configurations, since the library caches the keys in each of them. */
async function foundAt(source: SourceDocument, keys: SecretKeys): Promise<() => Provider> {
  const secret = clientSecretOf(source, keys);
  if (secret.is === 'lost') throw new SignInFault('misconfigured', lostSecret);
  const server = acceptable(await discovered(source), source);
  const [first, ...others] = waysFor(secret, server.token_endpoint_auth_methods_supported);
  return () => [configured(source, server, first), ...others.map(way => configured(source, server, way))];
}

function waysFor(
  secret: Exclude<KnownSecret, { readonly is: 'lost' }>,
  methods: readonly string[],
): readonly [openid.ClientAuth, ...openid.ClientAuth[]] {
  if (secret.is === 'none') return [openid.None()];
  const ways = [openid.ClientSecretBasic(secret.secret), openid.ClientSecretPost(secret.secret)] as const;
  if (!methods.includes('client_secret_post')) return [ways[0]];
  return methods.includes('client_secret_basic') ? ways : [ways[1]];
}

function configured(
  source: SourceDocument,
  server: openid.ServerMetadata,
  auth: openid.ClientAuth,
): openid.Configuration {
  const metadata = { [openid.clockTolerance]: toleranceSeconds };
  const configuration = new openid.Configuration(server, source.clientId, metadata, auth);
  configuration[openid.customFetch] = boundedFetch;
  configuration.timeout = answerSeconds;
  if (isPlain(source)) openid.allowInsecureRequests(configuration);
  openid.enableNonRepudiationChecks(configuration);
  return configuration;
}

async function discovered(source: SourceDocument): Promise<openid.ServerMetadata> {
  const address = discoveryOf(source.discoveryUrl);
  try {
    const found = await openid.discovery(address, source.clientId, undefined, openid.None(), {
      [openid.customFetch]: boundedFetch,
      timeout: answerSeconds,
      ...(isPlain(source) ? { execute: [openid.allowInsecureRequests] } : {}),
    });
    return found.serverMetadata();
  } catch (error) {
    throw new SignInFault('provider_away', `${address} could not be read: ${causesOf(error)}`, error);
  }
}

/** Checks a provider's metadata, and returns it with only the accepted signature algorithms. */
function acceptable(server: openid.ServerMetadata, source: SourceDocument) {
  const expected = issuerOf(source.discoveryUrl);
  const unusable = (why: string) => new SignInFault('misconfigured', `the provider at ${expected} ${why}`);
  if (server.issuer !== expected && server.issuer !== `${expected}/`) {
    throw unusable(`calls itself ${server.issuer}: enter that address in the source`);
  }
  const told = usable.safeParse(server);
  if (!told.success) {
    const wrong = [...new Set(told.error.issues.map(({ path }) => path.join('.')))].join(', ');
    throw unusable(`has no usable ${wrong}`);
  }
  const { data } = told;
  const { pushed_authorization_request_endpoint: pushed } = data;
  if (data.require_pushed_authorization_requests === true && pushed === undefined) {
    const lacking = 'but has no pushed_authorization_request_endpoint';
    throw unusable(`requires pushed authorization requests, ${lacking}`);
  }
  const { authorization_endpoint, token_endpoint, jwks_uri, userinfo_endpoint } = data;
  for (const one of [authorization_endpoint, token_endpoint, jwks_uri, userinfo_endpoint, pushed]) {
    const url = one === undefined ? null : new URL(one);
    if (url === null || isSafeFor(source, url)) continue;
    throw unusable(`has an address at ${url.origin} without encryption`);
  }
  const signing = data.id_token_signing_alg_values_supported.filter(alg => asymmetric.test(alg));
  if (signing.length === 0) throw unusable('signs ID tokens with no accepted algorithm, such as RS256');
  const { token_endpoint_auth_methods_supported } = data;
  return { ...server, token_endpoint_auth_methods_supported, id_token_signing_alg_values_supported: signing };
}

/** Tells whether a browser or softquota may connect to this address: plain http only on this host. */
export function isSafeFor(source: SourceDocument, url: URL): boolean {
  return url.protocol === 'https:' || (isPlain(source) && isSafeAddress(url));
}

function isPlain({ discoveryUrl }: SourceDocument): boolean {
  return new URL(discoveryUrl).protocol === 'http:';
}

/**
 * Returns the message of an error with those of its causes, since a library's error alone says little. Never
 * has a part of the provider's answer.
 */
export function causesOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof SyntaxError) return 'it is no JSON';
  const below = error.cause instanceof Error ? `: ${causesOf(error.cause)}` : '';
  return error.message + below;
}

/** Most sign-ins that wait for providers at the same time, since anybody can begin and end one. */
const mostAtOnce = 32;

let underWay = 0;

/** Rejects with the `SignInFault` `not_now` while too many sign-ins wait for providers. */
async function bounded<T>(ask: () => Promise<T>): Promise<T> {
  if (underWay >= mostAtOnce) {
    throw new SignInFault('not_now', `${mostAtOnce} sign-ins wait for their providers already`);
  }
  underWay += 1;
  try {
    return await ask();
  } finally {
    underWay -= 1;
  }
}

/** Redeems the code in `address`, to which the browser came back. Rejects with a `SignInFault`. */
export function arrivalBy(provider: Provider, address: URL, begun: PendingLogin): Promise<LoginResult> {
  return bounded(() => redeemed(provider, address, begun));
}

async function redeemed(provider: Provider, address: URL, begun: PendingLogin): Promise<LoginResult> {
  const { verifier: pkceCodeVerifier, nonce: expectedNonce, state: expectedState } = begun;
  const checks = { pkceCodeVerifier, expectedNonce, expectedState, idTokenExpected: true };
  try {
    const { by, tokens } = await byFirstWay(provider, async by => ({
      by,
      tokens: await openid.authorizationCodeGrant(by, address, checks),
    }));
    const idToken = tokens.claims();
    if (idToken === undefined) throw new SignInFault('not_believed', 'the provider gave no ID token');
    const { sub: subject } = idToken;
    const { userinfo_endpoint: more } = by.serverMetadata();
    const userinfo = more === undefined ? {} : await openid.fetchUserInfo(by, tokens.access_token, subject);
    return { subject, claims: mergedClaims(idToken, userinfo) };
  } catch (error) {
    if (error instanceof openid.AuthorizationResponseError) {
      throw new SignInFault('provider_refused', `the provider says ${JSON.stringify(error.error)}`);
    }
    const isAway = error instanceof TypeError || systemCode(error) === 'OAUTH_TIMEOUT';
    throw (
      refusalIn(error, 'not_believed', 'the provider refuses the code') ??
      new SignInFault(isAway ? 'provider_away' : 'not_believed', causesOf(error))
    );
  }
}

/** Tries the ways to authenticate the client in order. A rejected way does not use up the code. */
async function byFirstWay<T>(
  [by, next, ...others]: Provider,
  ask: (by: openid.Configuration) => Promise<T>,
): Promise<T> {
  try {
    return await ask(by);
  } catch (error) {
    if (next === undefined || !isUnknownClient(error)) throw error;
    return byFirstWay([next, ...others], ask);
  }
}

/** Returns the fault for a refusal by the provider; null: it is not one. Logs only the name of the error. */
function refusalIn(error: unknown, code: SignInFaultCode, words: string): SignInFault | null {
  if (error instanceof SignInFault) return error;
  if (isUnknownClient(error)) {
    return new SignInFault('misconfigured', 'the provider does not know this client id with this secret');
  }
  return error instanceof openid.ResponseBodyError
    ? new SignInFault(code, `${words}: ${JSON.stringify(error.error)}`)
    : null;
}

function isUnknownClient(error: unknown): boolean {
  return error instanceof openid.ResponseBodyError && error.error === 'invalid_client';
}

/** Merges claims; userinfo has precedence. Claims that either marks as elsewhere (`_claim_names`) are so. */
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

/**
 * Makes the address at the provider that a browser is sent to. If the provider supports pushed authorization
 * requests (RFC 9126), sends the parameters there beforehand, and the address has only a reference. If that
 * fails and the provider does not require it, the address has the parameters. Rejects with a `SignInFault`.
 */
export async function authorizationAddress(
  provider: Provider,
  parameters: Readonly<Record<string, string>>,
): Promise<URL> {
  const [configuration] = provider;
  const server = configuration.serverMetadata();
  if (server.pushed_authorization_request_endpoint === undefined)
    return openid.buildAuthorizationUrl(configuration, parameters);
  try {
    return await bounded(() =>
      byFirstWay(provider, by => openid.buildAuthorizationUrlWithPAR(by, { ...parameters })),
    );
  } catch (error) {
    if (server.require_pushed_authorization_requests !== true)
      return openid.buildAuthorizationUrl(configuration, parameters);
    throw (
      refusalIn(error, 'provider_refused', 'the provider refuses the pushed request') ??
      new SignInFault('provider_away', `the request could not be pushed: ${causesOf(error)}`)
    );
  }
}
