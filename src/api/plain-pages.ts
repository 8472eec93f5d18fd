/**
 * Pages that work without the web UI.
 *
 * `/sign-in/oauth2/{source}` redirects a browser to the provider, accepts the way back, and signs out at the
 * provider. Every outcome is a redirect: a fault becomes a code for the page /sign-in, and the log has the
 * reason.
 *
 * `/unsubscribe` is the page behind the link in a mail, and the one-click request of mail programs (RFC
 * 8058). Opening the page changes nothing, because programs open links, too.
 */

import { type RequestHandler, type Response, Router } from 'express';
import { SoftquotaError } from '../errors.ts';
import { SignInFault, setMailWanted } from '../identity/index.ts';
import { ownerUnsubscribing } from '../notices/index.ts';
import { sessionCookie } from './asker.ts';
import { wrongMethod } from './faults.ts';
import { queryOf } from './route.ts';
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

const longestToken = 500;

export function unsubscribePage({ documents, secretKeys }: ApiServices): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const ownerOf = (token: unknown): number => {
    const id =
      typeof token === 'string' && token.length <= longestToken
        ? ownerUnsubscribing(secretKeys, token)
        : null;
    if (id !== null && documents.owners.byId(id) !== undefined) return id;
    const message = 'the link is not whole, or its user is no more: use that of a mail';
    throw new SoftquotaError('not_found', message);
  };
  const show = (response: Response, content: string) => {
    response.set('Cache-Control', 'no-store').set('Referrer-Policy', 'no-referrer');
    response.type('html').send(content);
  };
  const ask: RequestHandler = (request, response) => {
    ownerOf(request.query.token);
    show(response, asking);
  };
  const change: RequestHandler = async (request, response) => {
    const id = ownerOf(request.query.token);
    // The address has everything; the body is discarded.
    request.resume();
    const known = documents.owners.byId(id);
    const by = { ownerId: id, name: known?.name ?? null, tokenId: null };
    const isWanted = request.query.mail === 'true';
    await documents.transact(({ changes }) => setMailWanted(changes, id, isWanted, Date.now()), by);
    const token = encodeURIComponent(String(request.query.token));
    show(response, isWanted ? subscribed : unsubscribed(token));
  };
  router.get('/unsubscribe', ask);
  router.post('/unsubscribe', change);
  router.all('/unsubscribe', (request, response) => {
    throw wrongMethod(request, response, ['GET', 'HEAD', 'POST']);
  });
  return router;
}

const page = (content: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Mails about your quota</title>
</head>
<body>
<main>
<h1>Mails about your quota</h1>
${content}
</main>
</body>
</html>
`;

// The form is sent to the page's own address, which contains the token.
const asking = page(`<p>No more mails when you come near to your limit, or get an answer to a request?</p>
<form method="post"><button type="submit">Unsubscribe</button></form>`);

const unsubscribed = (token: string) =>
  page(`<p>You get no more mails about your quota.</p>
<form method="post" action="?token=${token}&amp;mail=true"><button type="submit">Get them again</button></form>`);

const subscribed = page('<p>You get mails about your quota again.</p>');
