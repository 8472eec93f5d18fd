/** Tells whether a request comes from a page of this very origin, as the browser tells. */

import type { IncomingHttpHeaders } from 'node:http';

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Safe methods change nothing, whoever had a browser send the request. */
export function isSafeMethod(method: string): boolean {
  return safeMethods.has(method);
}

/**
 * A browser sends its cookies along with whatever a page of another site has it send, so what changes
 * something has to say where it comes from; no script can change these headers.
 *
 * Sec-Fetch-Site compares scheme, host and port as the browser sees them, and needs to know nothing of
 * proxies. Browsers send it only over https and to this host, so over plain http Origin decides: it is to
 * be that of the base URL, or, where that is no https, the host that was asked (who reaches the daemon by
 * another name, such as its address, brings the cookie of that name alone). A request with neither is no
 * browser's of these years, and is refused.
 */
export function isSameOrigin(headers: IncomingHttpHeaders, baseUrl: string): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin, host } = headers;
  if (origin === undefined) return false;
  const base = new URL(baseUrl);
  return origin === base.origin || (base.protocol === 'http:' && origin === `http://${host}`);
}
