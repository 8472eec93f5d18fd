/** The claims of an ID token and of userinfo together. */

import type { Claims } from './claim-names.ts';

/** Userinfo goes before; that a claim is elsewhere (`_claim_names`) holds if either says so. */
export function mergedClaims(idToken: Claims, userinfo: Claims): Claims {
  const markers = [idToken, userinfo].flatMap(claims =>
    Object.hasOwn(claims, '_claim_names') ? [claims._claim_names] : [],
  );
  const [first, second] = markers;
  const both = isObject(first) && isObject(second) ? { ...first, ...second } : (second ?? first);
  // A marker that cannot be read stands for every claim, and must not be covered by one that can.
  const marker = isObject(second) && first !== undefined && !isObject(first) ? first : both;
  return { ...idToken, ...userinfo, ...(markers.length === 0 ? {} : { _claim_names: marker }) };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
