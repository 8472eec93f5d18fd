/**
 * Posts a notice to a webhook.
 *
 * Each address is checked after the look-up of the name, and the connection goes to that same address, so
 * that no name and no redirect leads into the own network. Only redirects that keep the request (307, 308)
 * are followed. The body of the answer is read up to a limit, and dropped.
 */

import { createHmac } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { BlockList, isIP } from 'node:net';
import type { WebhookSettings } from '../config/index.ts';
import { messageOf } from '../errors.ts';
import { printable } from '../text.ts';
import { within } from '../turns.ts';

interface Post {
  /** The id of the notice, the same in each attempt. */
  readonly id: string;
  /** JSON. */
  readonly body: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly signal: AbortSignal;
}

interface Address {
  readonly address: string;
  readonly family: number;
}

const mostRedirects = 3;
const mostAnswerBytes = 65_536;
const drainMs = 1000;
/** Time limit of an attempt, from the look-up of the name to the end of the answer. */
const attemptMs = 10_000;

/** A failure with a message for administrators, which never has the path of an address. */
class PostFault extends Error {}

/** Posts a notice. Returns null if it is delivered, or else the reason. */
export async function postWebhook(
  hook: WebhookSettings,
  post: Post,
  timeoutMs = attemptMs,
): Promise<string | null> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([post.signal, timeout]);
  try {
    await postTo(new URL(hook.url), hook, { ...post, signal }, mostRedirects);
    return null;
  } catch (error) {
    if (timeout.aborted) return `no answer within ${timeoutMs / 1000} s`;
    if (post.signal.aborted) return 'the daemon stopped before there was an answer';
    return printable(messageOf(error)).slice(0, 300);
  }
}

async function postTo(url: URL, hook: WebhookSettings, post: Post, redirectsLeft: number): Promise<void> {
  const addresses = await checkedAddresses(url, hook, post.signal);
  const answer = await answerOf(url, addresses, hook, post).catch(error => {
    const why = certificateFault(error, url.host);
    throw why === null ? error : new PostFault(why, { cause: error });
  });
  const { statusCode: status = 0 } = answer;
  await drained(answer);
  if (status >= 200 && status < 300) return;
  const { location } = answer.headers;
  if (status < 300 || status >= 400 || location === undefined) {
    throw new PostFault(`${url.host} answered ${status}`);
  }
  const next = URL.parse(location, url.href);
  if (next === null || !/^https?:$/.test(next.protocol) || next.username !== '' || next.password !== '') {
    throw new PostFault(`${url.host} redirects to what is no address of a webhook`);
  }
  // Checked first, so that a redirect to an inside address always has this reason.
  await checkedAddresses(next, hook, post.signal, `${url.host} redirects to `);
  if (url.protocol === 'https:' && next.protocol === 'http:') {
    throw new PostFault(`${url.host} redirects from https to http`);
  }
  if (status !== 307 && status !== 308) {
    throw new PostFault(
      `${url.host} answered ${status}, which would lose the notice: set URL to the address that it redirects to`,
    );
  }
  if (redirectsLeft === 0) throw new PostFault(`more than ${mostRedirects} redirects`);
  await postTo(next, hook, post, redirectsLeft - 1);
}

/** Returns all addresses of the host; rejects if one of them is inside the own network and not allowed. */
async function checkedAddresses(
  url: URL,
  { name, allowPrivate }: WebhookSettings,
  signal: AbortSignal,
  through = '',
): Promise<readonly Address[]> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const found = isIP(host) === 0 ? await lookedUp(host, signal) : [{ address: host, family: isIP(host) }];
  for (const { address } of found) {
    if (isAllowedAddress(address, allowPrivate)) continue;
    const named = host === address ? address : `${host}, which is ${address}`;
    throw new PostFault(
      `${through}${named}: an address inside the own network, and not in [webhook.${name}] ALLOW_PRIVATE`,
    );
  }
  return found;
}

async function lookedUp(host: string, signal: AbortSignal): Promise<readonly Address[]> {
  signal.throwIfAborted();
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const end = () => reject(new PostFault(`the name ${host} could not be looked up in time`));
  signal.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([lookup(host, { all: true }), ended]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

function answerOf(
  url: URL,
  addresses: readonly Address[],
  { secrets }: WebhookSettings,
  post: Post,
): Promise<IncomingMessage> {
  const { body, signal } = post;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = url.protocol === 'https:' ? tlsRequest : plainRequest;
  const outgoing = sent(
    url,
    {
      method: 'POST',
      agent: false,
      signal,
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'content-length': Buffer.byteLength(body),
        'user-agent': 'softquota',
        ...signedHeaders(post, secrets),
      },
      // Returns the checked addresses, since a second look-up could give others.
      lookup: (_host, { all }, found) => {
        const [first] = addresses;
        if (all === true || first === undefined) found(null, [...addresses]);
        else found(null, first.address, first.family);
      },
    },
    resolve,
  );
  outgoing.on('error', reject);
  outgoing.end(body);
  return promise;
}

/** Reads and drops the body for a moment, so that the receiver can finish its answer. */
async function drained(answer: IncomingMessage): Promise<void> {
  let bytes = 0;
  answer.on('data', chunk => {
    bytes += Buffer.byteLength(chunk);
    if (bytes > mostAnswerBytes) answer.destroy();
  });
  const ended = new Promise(resolve => answer.once('close', resolve));
  answer.on('error', () => {});
  await within(ended, drainMs, undefined);
  answer.destroy();
}

/** Returns headers in the format of Standard Webhooks, with one signature for each secret. */
function signedHeaders({ id, body, now }: Post, secrets: readonly string[]) {
  const timestamp = Math.floor(now / 1000);
  const signatures = secrets.map(secret => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  };
}

/** The special-purpose registry of IPv4 (RFC 6890 and later). */
const special4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

/** Special networks in the public space of IPv6: protocols, documentation, and embedded IPv4 addresses. */
const special6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const special = networksOf([...special4, ...special6]);
const public6 = networksOf(['2000::/3']);

function isPrivateAddress(address: string): boolean {
  const family = familyOf(address);
  if (family === null) return true;
  if (family === 'ipv4') return special.check(address, family);
  return !public6.check(address, family) || special.check(address, family);
}

/** Tells whether an address is in the public internet, or in one of the networks, such as `10.0.0.0/8`. */
export function isAllowedAddress(address: string, networks: readonly string[]): boolean {
  const family = familyOf(address);
  return !isPrivateAddress(address) || (family !== null && networksOf(networks).check(address, family));
}

function networksOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = familyOf(address);
    if (family === null) continue;
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

function familyOf(address: string): 'ipv4' | 'ipv6' | null {
  const version = isIP(address);
  return version === 0 ? null : version === 4 ? 'ipv4' : 'ipv6';
}

/** Error codes of Node and OpenSSL for a rejected certificate. */
const codes: ReadonlySet<unknown> = new Set([
  'CERT_CHAIN_TOO_LONG',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'HOSTNAME_MISMATCH',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Describes a certificate fault; null: it is another error. `place`: the host, and its port if known. */
export function certificateFault(error: unknown, place: string): string | null {
  if (!(error instanceof Error)) return null;
  // nodemailer replaces `code` by its own, and keeps the original one.
  const code = 'originalCode' in error ? error.originalCode : 'code' in error ? error.code : null;
  if (!codes.has(code)) return null;
  // After a semicolon, the message has advice about options of Node.
  const [why = ''] = error.message.split(';');
  return `the certificate of ${place} is not trusted: ${why}`;
}
