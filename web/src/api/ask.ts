/** Sends requests to the daemon's HTTP API in the name of the signed-in user. */

import { answered, authenticated, notAnswered, unauthenticated } from './connection.ts';
import { AskFailed } from './fault.ts';

export interface Question {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Parameters of the address; undefined ones are left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface Page<Entry> {
  readonly entries: readonly Entry[];
  /** Number of items on all pages. */
  readonly total: number;
}

/** Milliseconds to wait for an answer: a stopped daemon accepts connections and never answers. */
const patienceMs = 60_000;

/**
 * Sends a request and returns the answer; undefined if it has no body. `segments` are the unencoded parts of
 * the path below api/v1. Rejects with `AskFailed`, or because of `signal`.
 */
export async function ask<Answer = void>(
  segments: readonly string[],
  question: Question = {},
): Promise<Answer> {
  const response = await send(segments, question);
  // The type is trusted: the daemon that answers also served this app and shares its types.
  return (response.status === 204 ? undefined : await response.json()) as Answer;
}

/**
 * Requests an answer that may be long and changes rarely. If the daemon still has the version of `held`, that
 * object is returned.
 */
export async function askUnless<Answer extends { readonly version: string }>(
  held: Answer | undefined,
  segments: readonly string[],
  question: Question = {},
): Promise<Answer> {
  if (held === undefined) return ask(segments, question);
  const headers = { ...question.headers, 'If-None-Match': `"${held.version}"` };
  const response = await send(segments, { ...question, headers });
  return response.status === 304 ? held : ((await response.json()) as Answer); // as in `ask`
}

/** Requests one page of a list, or the last page if the list has become shorter. Rejects as `ask` does. */
export async function askPage<Entry>(segments: readonly string[], question: Question): Promise<Page<Entry>> {
  const response = await send(segments, question);
  const entries = (await response.json()) as readonly Entry[]; // as in `ask`
  const total = Number(response.headers.get('X-Total-Count') ?? entries.length);
  const page = linked(response, 'prev')?.get('page');
  if (entries.length > 0 || total === 0 || !page) return { entries, total };
  return askPage(segments, { ...question, query: { ...question.query, page } });
}

/**
 * Requests one page of a list by the end of the previous page. `next` is the end of this page; null for the
 * last one. Rejects as `ask` does.
 */
export async function askStretch<Entry>(
  segments: readonly string[],
  question: Question,
): Promise<{ readonly entries: readonly Entry[]; readonly next: string | null }> {
  const response = await send(segments, question);
  const entries = (await response.json()) as readonly Entry[]; // as in `ask`
  return { entries, next: linked(response, 'next')?.get('after') ?? null };
}

/** Returns the query of the address of another page; undefined if there is no such page. */
function linked(response: Response, relation: 'next' | 'prev'): URLSearchParams | undefined {
  const links = (response.headers.get('Link') ?? '').matchAll(/<([^<>]*)>; rel="([a-z]+)"/g);
  const [, address] = [...links].find(([, , rel]) => rel === relation) ?? [];
  return address === undefined ? undefined : new URL(address).searchParams;
}

/** Returns the address of a request, for links and the browser's own requests. */
export function apiUrl(segments: readonly string[], query: Question['query'] = {}): URL {
  const url = new URL(`api/v1/${segments.map(encodeURIComponent).join('/')}`, document.baseURI);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

async function send(
  segments: readonly string[],
  { method = 'GET', query = {}, body, headers = {}, signal }: Question,
): Promise<Response> {
  const patience = AbortSignal.timeout(patienceMs);
  let response: Response;
  try {
    response = await fetch(apiUrl(segments, query), {
      method,
      credentials: 'same-origin',
      cache: 'no-store',
      signal: signal === undefined ? patience : AbortSignal.any([signal, patience]),
      headers: { ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    notAnswered();
    throw new AskFailed({ is: 'unreachable' });
  }
  const isGood = response.ok || response.status === 304;
  const message = isGood ? '' : await messageIn(response);
  if (message === null) {
    notAnswered();
    throw new AskFailed({ is: 'unreachable' });
  }
  answered();
  if (response.status === 401) {
    unauthenticated();
    throw new AskFailed({ is: 'signed-out' });
  }
  if (!isGood) throw new AskFailed({ is: 'refused', status: response.status, message });
  authenticated();
  return response;
}

/** Returns the daemon's error message; null if a proxy says that it cannot reach the daemon. */
async function messageIn(response: Response): Promise<string | null> {
  try {
    const { message }: { message?: unknown } = await response.json();
    if (typeof message === 'string') return message;
  } catch {
    // The body is not from the daemon.
  }
  return response.status >= 502 ? null : `status ${response.status}`;
}
