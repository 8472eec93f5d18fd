/**
 * Calls a running daemon over its sockets, or over HTTP if SOFTQUOTA_URL is set.
 *
 * Every reason for a missing answer becomes one clear fault.
 */

import { type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Config } from '../config/index.ts';
import { type ErrorCode, isErrorCode, messageOf, SoftquotaError, systemCode } from '../errors.ts';
import { jsonOf } from '../parsed.ts';
import { startCommand } from '../supervised.ts';
import type { WholePolicy } from '../wire/index.ts';

export interface ApiCall {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path with its query. */
  readonly path: string;
  readonly body?: unknown;
}

interface Answered<Json> {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** Undefined with status 204. */
  readonly json: Json;
}

/** Client of the API. It trusts the daemon to answer with the types of its routes. */
export interface DaemonClient {
  /** Returns the answer, whatever its status. Rejects with `unreachable` or `not_permitted`. */
  ask<Json = unknown>(call: ApiCall): Promise<Answered<Json>>;
  /** Returns the answer of a successful call, undefined without a body. Rejects with the daemon's fault. */
  get<Json = unknown>(call: ApiCall): Promise<Json>;
}

/** Time limit of each step of a call; long enough for a daemon under load. */
const answerMs = 30_000;

/** Returns true if SOFTQUOTA_URL names a daemon, which may be another host's. */
export function isByUrl(): boolean {
  return (process.env.SOFTQUOTA_URL ?? '') !== '';
}

export function adminClient(config: () => Config): DaemonClient {
  const url = process.env.SOFTQUOTA_URL ?? '';
  if (url === '') return localAdminClient(config());
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    const message = 'SOFTQUOTA_URL: expected an address such as https://git.example/quota/';
    throw new SoftquotaError('usage', message);
  }
  const { protocol, hostname, port, host, pathname } = new URL(url);
  return clientAt(
    { protocol, hostname: hostname.replace(/^\[|\]$/g, ''), port, headers: authorization() },
    `${pathname.replace(/\/$/, '')}/api/v1`,
    // The address may have a password, which must not be shown.
    `${protocol}//${host}${pathname}`,
  );
}

function authorization(): Readonly<Record<string, string>> {
  const token = process.env.SOFTQUOTA_TOKEN;
  if (token === undefined || token === '') return {};
  if (!/^[!-~]+$/.test(token)) {
    throw new SoftquotaError('usage', 'SOFTQUOTA_TOKEN: expected a token without spaces and line breaks');
  }
  return { Authorization: `token ${token}` };
}

/** The daemon of this host. */
interface Local<Socket extends keyof Config['server']> {
  readonly server: Pick<Config['server'], Socket>;
  /** The configuration file; null or omitted: the default one. */
  readonly file?: string | null;
}

/** Client of the administrator's API of this host's daemon, even if SOFTQUOTA_URL names another one. */
export function localAdminClient({ server, file = null }: Local<'adminSocket'>): DaemonClient {
  return clientAt({ socketPath: server.adminSocket }, '/api/v1', server.adminSocket, file);
}

/**
 * Creates an entry of a list, unless the same one exists already; returns the entry. Rejects with `conflict`
 * if a different one has the name.
 */
export async function createUnlessSame<T>(
  client: DaemonClient,
  { list, name, body, isSame }: NewEntry<T>,
): Promise<Created<T>> {
  try {
    return { isNew: true, value: await client.get({ method: 'POST', path: list, body }) };
  } catch (error) {
    if (!(error instanceof SoftquotaError) || error.code !== 'conflict') throw error;
    const value = await client.get<T>({ path: `${list}/${pathStep(name)}` });
    if (!isSame(value)) throw error;
    return { isNew: false, value };
  }
}

interface NewEntry<T> {
  /** The path of the list, with the entry at `name` below it. */
  readonly list: string;
  readonly name: string;
  readonly body: object;
  isSame(found: T): boolean;
}

export interface Created<T> {
  readonly isNew: boolean;
  readonly value: T;
}

/** Most rows of one answer. */
export const mostRows = 1000;

export async function everyRow<Row>(client: DaemonClient, path: string, query: Query): Promise<Row[]> {
  const found: Row[] = [];
  for (let page = 1; ; page++) {
    const rows = await client.get<readonly Row[]>({
      path: withQuery(path, { ...query, page: String(page), limit: String(mostRows) }),
    });
    found.push(...rows);
    if (rows.length < mostRows) return found;
  }
}

type Query = Readonly<Record<string, string | undefined>>;

export function withQuery(path: string, query: Query): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, value);
  return `${path}?${given}`;
}

export function gateClient({ server, file = null }: Local<'socket'>): DaemonClient {
  return clientAt({ socketPath: server.socket }, '', server.socket, file);
}

function clientAt(
  target: RequestOptions & { readonly headers?: Readonly<Record<string, string>> },
  prefix: string,
  shown: string,
  file: string | null = null,
): DaemonClient {
  const fault = (error: unknown): SoftquotaError => unreachable(error, shown, file);
  const send = async (call: ApiCall): Promise<IncomingMessage> => {
    // TLS is loaded only if it is needed, so that commands that use a socket start faster.
    const begin = target.protocol === 'https:' ? (await import('node:https')).request : requestHttp;
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    const request = begin({
      ...target,
      path: prefix + call.path,
      method: call.method ?? 'GET',
      // A long answer, such as a backup, may take any time while bytes are sent or received.
      timeout: answerMs,
      headers: {
        ...target.headers,
        Accept: 'application/json',
        ...(body !== undefined && {
          'Content-Type': 'application/json',
          'Content-Length': Buffer.byteLength(body),
        }),
      },
    });
    let answer: IncomingMessage | null = null;
    const giveUp = (): void => {
      (answer ?? request).destroy(new Error(`no answer within ${answerMs / 1000} s`));
    };
    // The timer of the request does not cover headers that never end.
    let answering: NodeJS.Timeout | undefined;
    request
      .on('timeout', giveUp)
      // The answer may arrive before the whole request is sent.
      .on('finish', () => {
        if (answer === null) answering = setTimeout(giveUp, answerMs);
      })
      .on('response', response => {
        answer = response;
        resolve(response);
      })
      .on('error', reject)
      .end(body);
    try {
      return await promise;
    } catch (error) {
      throw fault(error);
    } finally {
      clearTimeout(answering);
    }
  };

  const ask = async <Json>(call: ApiCall): Promise<Answered<Json>> => {
    const response = await send(call);
    // The body may break off, or stall.
    const body = await text(response).catch((error: unknown) => {
      throw fault(error);
    });
    const status = response.statusCode ?? 0;
    const json = status === 204 ? undefined : jsonOf(body);
    if (json === undefined && status !== 204)
      throw new SoftquotaError('unreachable', `the server at ${shown} is not a softquota daemon`);
    // The caller names the type of the route's answer.
    return { status, headers: response.headers, json: json as Json };
  };

  const get = async <Json>(call: ApiCall): Promise<Json> => {
    const { status, json } = await ask<Json>(call);
    if (status < 300) return json;
    throw new SoftquotaError(
      codeIn(json) ?? codes[status] ?? (status < 500 ? 'invalid' : 'not_ready'),
      messageIn(json) ?? `the daemon answered with status ${status}`,
    );
  };

  return { ask, get };
}

/** The codes for answers that have none, such as a proxy's. */
const codes: Readonly<Record<number, ErrorCode>> = {
  401: 'unauthenticated',
  403: 'not_permitted',
  404: 'not_found',
  409: 'conflict',
  429: 'slowed',
  500: 'internal',
};

/** Encodes a name as one step of a path. Throws `usage` for names that would lead to another path. */
export function pathStep(name: string): string {
  if (name !== '' && name !== '.' && name !== '..') return encodeURIComponent(name);
  throw new SoftquotaError('usage', `"${name}" cannot be a name`);
}

/** The `code` of a fault; null if there is none that this version knows. */
function codeIn(json: unknown): ErrorCode | null {
  const code = typeof json === 'object' && json !== null && 'code' in json ? json.code : null;
  return isErrorCode(code) ? code : null;
}

export function messageIn(json: unknown): string | null {
  if (typeof json === 'object' && json !== null && 'message' in json) return String(json.message);
  return null;
}

function unreachable(error: unknown, shown: string, file: string | null): SoftquotaError {
  const code = systemCode(error);
  if (code === 'EACCES' || code === 'EPERM') {
    return new SoftquotaError(
      'not_permitted',
      `no permission to use ${shown}; run this as the daemon's user or as root`,
      { cause: error },
    );
  }
  const why = messageOf(error);
  const isAway = code === 'ENOENT' || code === 'ECONNREFUSED';
  const hint = isAway ? `; is it running? Start it with ${startCommand(file)}` : '';
  return new SoftquotaError('unreachable', `no daemon answers at ${shown} (${why})${hint}`, { cause: error });
}

export async function policyInForce(client: DaemonClient): Promise<WholePolicy> {
  return await client.get<WholePolicy>({ path: '/admin/quota/policy' });
}
