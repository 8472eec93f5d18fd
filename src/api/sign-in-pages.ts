/**
 * `/sign-in/oauth2/{source}`: redirects a browser to the provider, accepts the way back, and signs out at the
 * provider. Every outcome is a redirect: a fault becomes a code for the page /sign-in, and the log has the
 * reason.
 */

import { type RequestHandler, type Response, Router } from 'express';
import { SignInFault } from '../oauth/index.ts';
import { sessionCookie } from './asker.ts';
import { queryOf } from './input.ts';
import type { ApiServices } from './services.ts';

export function signInPages({ signIn, identity, baseUrl, log }: ApiServices): Router {
  const router = Router({ caseSensitive: true, strict: true });

  const sent =
    (
      what: string,
      handle: (source: string, ...of: Parameters<RequestHandler>) => Promise<string>,
    ): RequestHandler =>
    async (request, response, next) => {
      response.set('Cache-Control', 'no-store');
      const source = String(request.params.source);
      try {
        response.redirect(303, await handle(source, request, response, next));
      } catch (error) {
        if (!(error instanceof SignInFault)) throw error;
        log.warn({ source, fault: error.code, reason: error.message }, `${what} came to nothing`);
        response.redirect(303, signIn.faultPage(error));
      }
    };

  router.get(
    '/sign-in/oauth2/:source',
    sent('a sign-in', async (source, request, response) => {
      const returnTo = new URLSearchParams(queryOf(request.url)).get('return_to');
      const { location, cookies } = await signIn.begin(source, returnTo, request.headers.cookie);
      appendCookies(response, cookies);
      return location;
    }),
  );
  router.get(
    '/sign-in/oauth2/:source/callback',
    sent('a sign-in', async (source, request, response) => {
      const cookie = sessionCookie(baseUrl());
      const { cookie: cookies } = request.headers;
      const held = cookie.read(cookies);
      const back = await signIn.finish(source, queryOf(request.url), cookies, held);
      appendCookies(response, [...back.cookies, cookie.set(back.session)]);
      return back.location;
    }),
  );
  router.get(
    '/sign-in/oauth2/:source/sign-out',
    sent('a sign-out at a provider', async (source, request, response) => {
      const cookie = sessionCookie(baseUrl());
      const held = cookie.read(request.headers.cookie);
      const known = held === null ? null : await identity.authenticateSession(held);
      if (known?.is !== 'caller') return signIn.postLogoutRedirectUri;
      const { caller, renewed } = known;
      const session = caller.sessionKey === null ? undefined : identity.signedIn.session(caller.sessionKey);
      const mark = new URLSearchParams(queryOf(request.url)).get('session');
      if (session === undefined || !(await signIn.endHere(session.document, source, mark, caller))) {
        if (renewed !== null) appendCookies(response, [cookie.set(renewed)]);
        return signIn.postLogoutRedirectUri;
      }
      appendCookies(response, [cookie.clear()]);
      return signIn.endThere(source);
    }),
  );
  return router;
}

function appendCookies(response: Response, cookies: readonly string[]): void {
  for (const cookie of cookies) response.append('Set-Cookie', cookie);
}
