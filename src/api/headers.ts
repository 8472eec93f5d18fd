/** Headers that tell browsers what an answer of ours never does. */

import type { RequestHandler } from 'express';
import helmet from 'helmet';

/** Lets a page load only what is from here and not inline; no page of anybody's frames it. */
const ownOnly = {
  defaultSrc: ["'none'"],
  scriptSrc: ["'self'"],
  styleSrc: ["'self'"],
  imgSrc: ["'self'", 'data:'],
  connectSrc: ["'self'"],
  formAction: ["'self'"],
  baseUri: ["'none'"],
  frameAncestors: ["'none'"],
};

/** For the page of the web UI: no text becomes markup or script by a browser's own ways (Trusted Types). */
export const documentHeaders: RequestHandler = helmet.contentSecurityPolicy({
  useDefaults: false,
  directives: {
    ...ownOnly,
    baseUri: ["'self'"],
    requireTrustedTypesFor: ["'script'"],
    trustedTypes: ["'none'"],
  },
});

/**
 * helmet's, with nothing from any other host; that a browser has to come by https is said only where it can,
 * and where the whole host is ours.
 */
export function securityHeaders({ baseUrl }: { baseUrl(): string }): RequestHandler {
  const directives = { ...ownOnly, fontSrc: ["'self'"], objectSrc: ["'none'"] };
  const contentSecurityPolicy = { useDefaults: false, directives };
  const usual = { contentSecurityPolicy, xFrameOptions: { action: 'deny' } } as const;
  const plain = helmet({ ...usual, strictTransportSecurity: false });
  const secure = helmet(usual);
  return (request, response, next) =>
    (/^https:\/\/[^/]+\/?$/.test(baseUrl()) ? secure : plain)(request, response, next);
}
