/**
 * Posts a notice to a webhook.
 *
 * Every address is checked after it was looked up, and that very address is connected to, so that no name and
 * no redirect leads into the own network. A redirect is followed if it keeps the request as it is (307, 308).
 * What the receiver answers is read up to a bound, and kept nowhere.
 */

import { createHmac } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { isIP } from 'node:net';
import type { WebhookSettings } from '../config/index.ts';
import { messageOf } from '../errors.ts';
import { printable } from '../text/index.ts';
import { within } from '../within.ts';
import { certificateFault, isInNetworks, isPrivateAddress } from './outgoing.ts';

interface Post {
  /** Stays the same in every attempt. */
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
/** From the look-up of the name to the end of the answer. */
const attemptMs = 10_000;

/** Why it failed, in words that may be shown to administrators; never the path of an address. */
class PostFault extends Error {}

/** Null: it was delivered; else why not. */
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
  // An address inside the network is the first reason to name, whatever redirects.
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

/** All addresses of the host; rejects where one of them is inside and not allowed. */
async function checkedAddresses(
  url: URL,
  { name, allowPrivate }: WebhookSettings,
  signal: AbortSignal,
  through = '',
): Promise<readonly Address[]> {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const found = isIP(host) === 0 ? await lookedUp(host, signal) : [{ address: host, family: isIP(host) }];
  for (const { address } of found) {
    if (!isPrivateAddress(address) || isInNetworks(address, allowPrivate)) continue;
    const named = host === address ? address : `${host}, which is ${address}`;
    throw new PostFault(
      `${through}${named}: an address inside the own network, and not in [webhook.${name}] ALLOW_PRIVATE`,
    );
  }
  return found;
}

async function lookedUp(host: string, signal: AbortSignal): Promise<readonly Address[]> {
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
      // Those that were checked: a second look-up could have another answer.
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

/** Reads the body for a moment, so that the receiver can end in peace; the status is known already. */
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

/** Headers in the form of Standard Webhooks, with one signature for each secret. */
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
