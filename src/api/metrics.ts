/**
 * `/metrics`: metrics for Prometheus.
 *
 * The Unix socket needs no token. An address needs the token, or, if none is configured, a direct connection
 * of a program on this host. A request that a proxy forwarded may come from anywhere, and is refused then if
 * a header tells it.
 */

import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type RequestHandler, Router } from 'express';
import { SoftquotaError } from '../errors.ts';
import { comesFrom } from '../service/index.ts';
import { unauthenticated } from './asker.ts';
import { wrongMethod } from './faults.ts';
import type { ApiServices } from './services.ts';

const isOfThisHost = comesFrom([]);
const forwarded = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

/** `isLocal`: on the socket that only the administrator of this host can use. */
export function metricsPage(metrics: ApiServices['metrics'], isLocal: boolean): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const serve: RequestHandler = async (request, response) => {
    if (metrics === null) {
      throw new SoftquotaError('not_found', 'there are no metrics: [metrics] ENABLED is false');
    }
    if (!isLocal) mustBeAllowed(request, metrics.token);
    const { contentType, text } = await metrics.text();
    response.set('Cache-Control', 'no-store').set('Content-Type', contentType).send(text);
  };
  router.get('/metrics', serve);
  router.all('/metrics', (request, response) => {
    throw wrongMethod(request, response, ['GET', 'HEAD']);
  });
  return router;
}

function mustBeAllowed(request: IncomingMessage, token: string | null): void {
  if (token === null) {
    if (isOfThisHost(request.socket) && forwarded.every(name => request.headers[name] === undefined)) return;
    const message = 'metrics are only for programs of this host: [metrics] TOKEN lets others read them';
    throw new SoftquotaError('not_permitted', message);
  }
  const [, given = ''] = /^Bearer ([!-~]+)$/i.exec(request.headers.authorization ?? '') ?? [];
  if (!isSame(given, token)) unauthenticated('send Authorization: Bearer and [metrics] TOKEN');
}

/** Compares in constant time. */
function isSame(given: string, token: string): boolean {
  const digest = (text: string) => hash('sha256', text, 'buffer');
  return timingSafeEqual(digest(given), digest(token));
}
