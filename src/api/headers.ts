/** Security headers for browsers. */

import type { RequestHandler } from 'express';
import helmet from 'helmet';

/** Allows only resources of this host, nothing inline, and no frames. */
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

/**
 * Content policy for the page of the web UI. Trusted Types keep the browser from turning text into HTML or
 * scripts.
 */
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
 * Sets helmet's headers, without resources of other hosts. Strict-Transport-Security is sent only if the base
 * URL has https and no path, because it applies to the whole host.
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
