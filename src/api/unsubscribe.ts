/**
 * `/unsubscribe`: the page behind the link in a mail, and the one-click request of mail programs (RFC 8058).
 * Opening the page changes nothing, because programs open links, too.
 */

import { type RequestHandler, type Response, Router } from 'express';
import { SoftquotaError } from '../errors.ts';
import { setMailWanted } from '../identity/index.ts';
import { ownerUnsubscribing } from '../notices/index.ts';
import { wrongMethod } from './faults.ts';
import type { ApiServices } from './services.ts';

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
