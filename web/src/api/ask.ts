/** Questions to the daemon, over its HTTP API, as whoever is signed in. */

import { answered, authenticated, notAnswered, unauthenticated } from './connection.ts';
import { AskFailed } from './fault.ts';

export interface Question {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Parameters of the address; undefined ones are left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Above those that every question has. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface Page<Entry> {
  readonly entries: readonly Entry[];
  /** Number of items on all pages. */
  readonly total: number;
}

/** A daemon that is stopped rather than gone takes connections and says nothing. */
const patienceMs = 60_000;

/**
 * Gives the daemon's answer; undefined where it answers nothing. `segments` are the path below api/v1, each
 * as it is. Rejects with `AskFailed`, and as `signal` does.
 */
export async function ask<Answer = void>(
  segments: readonly string[],
  question: Question = {},
): Promise<Answer> {
  const response = await send(segments, question);
  // Its own shapes: the daemon that answers is the one that brought this app, and describes them with these
  // types.
  return (response.status === 204 ? undefined : await response.json()) as Answer;
}

/**
 * Asks for an answer that may be long and seldom changes: if the daemon still has the version that is `held`,
 * that very object is returned.
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

/** One page of a list. Rejects as `ask` does. */
export async function askPage<Entry>(segments: readonly string[], question: Question): Promise<Page<Entry>> {
  const response = await send(segments, question);
  const entries = (await response.json()) as readonly Entry[]; // as in `ask`
  return { entries, total: Number(response.headers.get('X-Total-Count') ?? entries.length) };
}

/**
 * One page of a list that goes on from a mark, and the mark of the next one; null: it is the last. Rejects as
 * `ask` does.
 */
export async function askStretch<Entry>(
  segments: readonly string[],
  question: Question,
): Promise<{ readonly entries: readonly Entry[]; readonly next: string | null }> {
  const response = await send(segments, question);
  const entries = (await response.json()) as readonly Entry[]; // as in `ask`
  const link = /<([^<>]*)>; rel="next"/.exec(response.headers.get('Link') ?? '')?.[1];
  return { entries, next: link === undefined ? null : new URL(link).searchParams.get('after') };
}

/** The address of a question, for what asks by itself. */
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

/** The daemon says what is wrong; null: a proxy said that it cannot reach the daemon. */
async function messageIn(response: Response): Promise<string | null> {
  try {
    const { message }: { message?: unknown } = await response.json();
    if (typeof message === 'string') return message;
  } catch {
    // It is not of the daemon.
  }
  return response.status >= 502 ? null : `status ${response.status}`;
}
