/** Address of a provider, and the issuer that it is known by. */

import { isIPv4 } from 'node:net';

const wellKnown = '/.well-known/openid-configuration';
const longest = 2048;

/**
 * Why a provider cannot be at this address; null: it can. Nothing is sent in the clear, but to this host
 * itself.
 */
export function addressFault(text: string): string | null {
  const example = 'such as https://login.example/realms/git or its /.well-known/openid-configuration';
  const url = text.length <= longest && URL.canParse(text) ? new URL(text) : null;
  if (url === null) return `expected the address of a provider, ${example}`;
  if (url.username !== '' || url.password !== '') return 'expected an address without user and password';
  if (url.hash !== '' || url.search !== '') return `expected an address without ? and #, ${example}`;
  return isSafeAddress(url)
    ? null
    : 'expected https; plain http is only for an address of this host itself, such as 127.0.0.1';
}

/** Tells whether what is sent there cannot be read on the way. */
export function isSafeAddress(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}

/** Issuer of a provider, whichever of its two addresses is given: without a slash at its end. */
export function issuerOf(address: string): string {
  const { href } = new URL(address);
  let issuer = href.endsWith(wellKnown) ? href.slice(0, -wellKnown.length) : href;
  while (issuer.endsWith('/')) issuer = issuer.slice(0, -1);
  return issuer;
}

/** Address of a provider's metadata. */
export function discoveryOf(address: string): URL {
  return new URL(issuerOf(address) + wellKnown);
}

function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
  );
}
