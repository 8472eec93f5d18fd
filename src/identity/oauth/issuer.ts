/** Checks and converts the address of a provider, and fetches from it safely. */

import { isIPv4 } from 'node:net';
import type { CustomFetch } from 'openid-client';

const wellKnown = '/.well-known/openid-configuration';
const longest = 2048;

/**
 * Returns the reason why an address is invalid; null: it is valid. Plain http is only for this host itself.
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

/** Tells whether nobody on the way can read data that is sent to this address. */
export function isSafeAddress(url: URL): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}

/** Returns the issuer, without a slash at the end, from its own address or that of the discovery document. */
export function issuerOf(address: string): string {
  const { href } = new URL(address);
  let issuer = href.endsWith(wellKnown) ? href.slice(0, -wellKnown.length) : href;
  while (issuer.endsWith('/')) issuer = issuer.slice(0, -1);
  return issuer;
}

export function discoveryOf(address: string): URL {
  return new URL(issuerOf(address) + wellKnown);
}

function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
  );
}

/** Longest answer of a provider; ten thousand groups fit. To read a longer one would block other requests. */
const mostBytes = 1024 * 1024;

/** Fetches without redirects. Rejects if the address is not safe or the answer is too long. */
export const boundedFetch: CustomFetch = async (address, { method, headers, body, signal }) => {
  if (!isSafeAddress(new URL(address))) throw new Error(`${address} is plain http, and not this host`);
  const asked = { method, headers, redirect: 'manual', signal: signal ?? null } as const;
  const response = await fetch(address, body === undefined ? asked : { ...asked, body });
  const { status, statusText } = response;
  const bytes = await bytesOf(response, address);
  return new Response(bytes.length === 0 ? null : bytes, { status, statusText, headers: response.headers });
};

async function bytesOf(response: Response, address: string): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.byteLength;
    // The throw leaves the loop, which ends the transfer.
    if (length > mostBytes) throw new Error(`${address} answers with more than ${mostBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
