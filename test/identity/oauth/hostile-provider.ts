/**
 * A provider that lies in whatever way a test asks for. Where it is not told to lie it is a good one: whoever
 * comes is signed in at once.
 */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import {
  type CryptoKey,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  type JWK,
  SignJWT,
  UnsecuredJWT,
} from 'jose';
import type { Test } from 'tap';
import { type Client, startIssuer } from './issuer.ts';

export interface Lies {
  /** Instead of what the discovery document says. */
  readonly discovery?: Readonly<Record<string, unknown>>;
  /** Instead of what the ID token claims; undefined leaves a claim out. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /**
   * `none`: it is not signed; `public`: HS256 with the public key as the secret; `other`: with a key that is
   * not published.
   */
  readonly signature?: 'none' | 'public' | 'other';
  /** Instead of the parameters that a browser brings back; null leaves one out. */
  readonly back?: Readonly<Record<string, string | null>>;
  /** Instead of all that userinfo says. */
  readonly userinfo?: Readonly<Record<string, unknown>>;
  /** Answer of the token endpoint that goes on for ever, or is a token and no JSON. */
  readonly endless?: boolean;
  readonly garbled?: boolean;
  /** The token endpoint answers only after it. */
  readonly waits?: Promise<unknown>;
  /** The one way in which clients may say their secret. */
  readonly knows?: 'client_secret_post';
  /** Pushed authorization requests. */
  readonly pushing?: 'refused';
}

export interface HostileProvider {
  readonly issuer: string;
  readonly client: Client;
  lies: Lies;
  /** The authorization requests that came, and the requests for tokens. */
  readonly asked: URLSearchParams[];
  readonly exchanged: URLSearchParams[];
  /** The authorization requests that were pushed. */
  readonly pushed: URLSearchParams[];
  /** Every token that it gave. */
  readonly given: string[];
  allow(redirectUri: string): void;
  /** From now on it signs with another key, and publishes that one alone. */
  rotateKeys(): Promise<void>;
}

interface SigningKey {
  readonly privateKey: CryptoKey;
  readonly publicPem: string;
  readonly jwk: JWK & { readonly kid: string };
}

async function signingKey(kid: string): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' };
  return { privateKey, publicPem: await exportSPKI(publicKey), jwk };
}

/** Making them takes longer than most tests. */
const firstKey = await signingKey('one');
const other = await generateKeyPair('RS256');

export async function hostileProvider(t: Test): Promise<HostileProvider> {
  let good = firstKey;
  const references = new Map<string, URLSearchParams>();
  const nonces = new Map<string, string>();
  const { issuer, client, server } = await startIssuer(t);
  const hostile: HostileProvider = {
    issuer,
    client,
    lies: {},
    asked: [],
    exchanged: [],
    pushed: [],
    given: [],
    allow: () => {},
    rotateKeys: async () => {
      good = await signingKey(`${good.jwk.kid} and another`);
    },
  };

  const idToken = async (nonce: string | undefined): Promise<string> => {
    const now = Math.floor(Date.now() / 1000);
    const payload = {
      iss: issuer,
      sub: 'sub-mallory',
      aud: hostile.client.id,
      iat: now,
      exp: now + 60,
      nonce,
      preferred_username: 'mallory',
      groups: ['staff'],
      ...hostile.lies.claims,
    };
    // Undefined claims are left out by the JSON.
    const claims = JSON.parse(JSON.stringify(payload));
    switch (hostile.lies.signature) {
      case 'none':
        return new UnsecuredJWT(claims).encode();
      case 'public':
        return new SignJWT(claims)
          .setProtectedHeader({ alg: 'HS256', kid: good.jwk.kid })
          .sign(new TextEncoder().encode(good.publicPem));
      default: {
        const { privateKey } = hostile.lies.signature === 'other' ? other : good;
        return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: good.jwk.kid }).sign(privateKey);
      }
    }
  };

  const answers: Readonly<
    Record<string, (url: URL, request: IncomingMessage, response: ServerResponse) => unknown>
  > = {
    '/.well-known/openid-configuration': () => ({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      userinfo_endpoint: `${issuer}/userinfo`,
      id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
      authorization_response_iss_parameter_supported: true,
      ...hostile.lies.discovery,
    }),
    '/keys': () => ({ keys: [good.jwk] }),
    '/authorize': (url, _request, response) => {
      const reference = url.searchParams.get('request_uri');
      const asked = reference === null ? url.searchParams : (references.get(reference) ?? url.searchParams);
      hostile.asked.push(asked);
      const back = new URL(asked.get('redirect_uri') ?? '');
      const code = `code-${randomUUID()}`;
      nonces.set(code, asked.get('nonce') ?? '');
      const parameters = { code, state: asked.get('state'), iss: issuer, ...hostile.lies.back };
      for (const [name, value] of Object.entries(parameters)) {
        if (value !== null) back.searchParams.set(name, value);
      }
      response.writeHead(303, { Location: back.href }).end();
    },
    '/pushed': async (_url, request, response) => {
      const form = new URLSearchParams(await textOf(request));
      hostile.pushed.push(form);
      const isKnown = hostile.lies.knows === undefined || form.has('client_secret');
      const error = isKnown ? 'invalid_request' : 'invalid_client';
      if (!isKnown || hostile.lies.pushing === 'refused') {
        response.statusCode = isKnown ? 400 : 401;
        return { error };
      }
      const reference = `urn:ietf:params:oauth:request_uri:${randomUUID()}`;
      references.set(reference, form);
      response.statusCode = 201;
      return { request_uri: reference, expires_in: 60 };
    },
    '/token': async (_url, request, response) => {
      const form = new URLSearchParams(await textOf(request));
      hostile.exchanged.push(form);
      await hostile.lies.waits;
      if (hostile.lies.endless === true) {
        response.writeHead(200, { 'Content-Type': 'application/json' });
        const more = () => {
          while (!response.destroyed && response.write(' '.repeat(65_536)));
          if (!response.destroyed) response.once('drain', more);
        };
        more();
        return;
      }
      const tokens = {
        access_token: `access-token-${randomUUID()}`,
        id_token: await idToken(nonces.get(form.get('code') ?? '')),
      };
      hostile.given.push(...Object.values(tokens));
      if (hostile.lies.garbled === true) {
        response.setHeader('Content-Type', 'application/json').end(tokens.access_token);
        return;
      }
      return { ...tokens, token_type: 'Bearer' };
    },
    '/userinfo': () => hostile.lies.userinfo ?? { sub: 'sub-mallory' },
  };

  server.on('request', async (request, response) => {
    const url = new URL(request.url ?? '/', issuer);
    const json = await answers[url.pathname]?.(url, request, response);
    if (json !== undefined) response.setHeader('Content-Type', 'application/json').end(JSON.stringify(json));
    else if (answers[url.pathname] === undefined) response.writeHead(404).end();
  });
  return hostile;
}
