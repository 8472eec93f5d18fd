/**
 * Asking a provider: nothing in the clear but to this host itself, and never more than a bounded answer.
 */

import type { CustomFetch } from 'openid-client';
import { isSafeAddress } from './issuer.ts';

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
