/** The links by which owners unsubscribe: they say whose mails, and nobody else can make one. */

import type { SecretKeys } from '../oauth/index.ts';

const purpose = 'unsubscribe from notices';

/** `baseUrl` ends with a slash. */
export function unsubscribeLink(keys: SecretKeys, ownerId: number, baseUrl: string): string {
  const address = new URL('unsubscribe', baseUrl);
  address.searchParams.set('token', keys.seal(String(ownerId), purpose));
  return address.href;
}

/** The id of the owner; null: it is no such token. */
export function ownerUnsubscribing(keys: SecretKeys, token: string): number | null {
  const opened = keys.open(token, purpose);
  return opened !== null && /^\d{1,16}$/.test(opened) ? Number(opened) : null;
}
