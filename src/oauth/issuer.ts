/** Address and names of a provider, and the way to query it. */

import { isIPv4 } from 'node:net';
import type { CustomFetch } from 'openid-client';

const wellKnown = '/.well-known/openid-configuration';
const longest = 2048;

/** Why a provider cannot be at this address; null: it can. In the clear only this host itself is asked. */
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

export function discoveryOf(address: string): URL {
  return new URL(issuerOf(address) + wellKnown);
}

function isLoopback(hostname: string): boolean {
  return (
    hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
  );
}

/** Ten thousand groups are less; what is longer would hold up all others while it is read. */
const mostBytes = 1024 * 1024;

/** Follows no redirect. Rejects where the address is not safe, or the answer too long. */
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
    // Leaving the loop ends the transfer.
    if (length > mostBytes) throw new Error(`${address} answers with more than ${mostBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
