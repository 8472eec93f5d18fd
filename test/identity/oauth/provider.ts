/**
 * A real provider, by oidc-provider, on the loopback: whoever comes is signed in at once as the user that is
 * set.
 */

import { Provider } from 'oidc-provider';
import type { Test } from 'tap';
import { type Client, startIssuer } from './issuer.ts';

/** User who signs in at the provider, and the provider's claims about them. */
export interface Someone {
  readonly subject: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

export interface RealProvider {
  readonly issuer: string;
  readonly client: Client;
  /** User who signs in from now on. */
  someone: Someone;
  /** The addresses that it may send browsers to that signed in, and where to when they have signed out. */
  allow(redirectUri: string, postLogoutRedirectUri?: string): void;
}

/** Told to whoever asks for the scope `profile`. */
const claimed = ['preferred_username', 'name', 'groups'] as const;

/** Tells whether it takes pushed authorization requests. */
export type Pushing = 'not offered' | 'offered' | 'required';

export async function realProvider(t: Test, pushing: Pushing = 'offered'): Promise<RealProvider> {
  const { issuer, client, server } = await startIssuer(t);
  const real: RealProvider = {
    issuer,
    client,
    someone: { subject: 'sub-0', claims: {} },
    allow: (redirectUri, postLogoutRedirectUri) => {
      redirectUris.push(redirectUri);
      if (postLogoutRedirectUri !== undefined) postLogoutRedirectUris.push(postLogoutRedirectUri);
      provider = providerFor();
    },
  };
  const redirectUris = [`${issuer}/nobody`];
  const postLogoutRedirectUris: string[] = [];
  const providerFor = () =>
    new Provider(issuer, {
      clients: [
        {
          client_id: client.id,
          client_secret: client.secret,
          redirect_uris: redirectUris,
          post_logout_redirect_uris: postLogoutRedirectUris,
          response_types: ['code'],
          grant_types: ['authorization_code'],
        },
      ],
      claims: {
        openid: ['sub'],
        profile: [...claimed],
        email: ['email'],
      },
      conformIdTokenClaims: false,
      features: {
        devInteractions: { enabled: false },
        pushedAuthorizationRequests: {
          enabled: pushing !== 'not offered',
          requirePushedAuthorizationRequests: pushing === 'required',
        },
      },
      cookies: { keys: ['keys of cookies for tests'] },
      findAccount: (_context, subject) => ({
        accountId: subject,
        claims: () => ({ sub: subject, ...real.someone.claims }),
      }),
      // Every visitor has signed in and agreed already.
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    });
  let provider = providerFor();
  server.on('request', async (request, response) => {
    if (!request.url?.startsWith('/interaction/')) return provider.callback()(request, response);
    const { someone } = real;
    const details = await provider.interactionDetails(request, response);
    const grant = new provider.Grant({ accountId: someone.subject, clientId: client.id });
    grant.addOIDCScope(String(details.params.scope));
    grant.addOIDCClaims([...claimed, 'email']);
    await provider.interactionFinished(request, response, {
      login: { accountId: someone.subject, remember: false },
      consent: { grantId: await grant.save() },
    });
  });
  return real;
}
