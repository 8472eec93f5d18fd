/**
 * `…/info/lfs/objects/batch`, at its own address or below `/v1/lfs`: stands in front of an LFS server's batch
 * endpoint.
 *
 * A client tells there what it wants to upload before it sends anything. The question goes on to the server,
 * which knows who asks and what it has already; only if the server would take something, the owner's quota is
 * asked about that. A refusal is an error of git-lfs's own, so that `git lfs push` shows the reason, and
 * sends no object. Every other answer of the server is passed on as it is. The objects themselves do not come
 * here.
 */

import { once } from 'node:events';
import {
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as requestHttp,
  type ServerResponse,
} from 'node:http';
import { z } from 'zod';
import { messageOf, SoftquotaError } from '../errors.ts';
import { type Upload, uploadsOf, withoutBase } from '../layout/index.ts';
import { jsonOf } from '../parsed.ts';
import { refusal } from '../quota/index.ts';
import { printable } from '../text/index.ts';
import { recordDecision, repositoryOfUpload, startUpload } from './check.ts';
import { type ComingObject, incomingOf, uploadPartsOf } from './lfs-objects.ts';
import { contactLine } from './refusal-text.ts';
import { bodyOf, requestAddress } from './request.ts';
import type { GateServices } from './services.ts';

const lfsPrefix = '/v1/lfs/';

/** git-lfs asks about a hundred objects at a time, of some 90 bytes each; servers answer with a link each. */
const longestBatchBytes = 1024 * 1024;
const longestAnswerBytes = 16 * 1024 * 1024;
const answerMs = 30_000;
const longestOid = 200;
const lfsType = 'application/vnd.git-lfs+json';

const offered = z.object({ objects: z.array(z.unknown()) });
/** An object that the server would take. A size that it makes nothing of counts as none. */
const wanted = z.object({
  oid: z.string().max(longestOid).catch(''),
  size: z.number().int().min(0).catch(0),
  actions: z.looseObject({ upload: z.unknown().refine(action => action !== undefined && action !== null) }),
});

interface Passed {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

/** Tells whether a proxy passes a batch on: it may leave the address as the client wrote it. */
export function isLfsBatch(services: GateServices, request: IncomingMessage): boolean {
  const address = requestAddress(request);
  if (address.startsWith('/v1/')) return address.startsWith(lfsPrefix);
  const { batchRoutes } = services.uploads().lfs;
  return request.method === 'POST' && uploadsOf(batchRoutes, 'POST', address).length > 0;
}

/** Answers; never rejects. */
export async function answerLfsBatch(
  services: GateServices,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const { upstream, batchRoutes, base } = services.uploads().lfs;
    const { url = '' } = request;
    const target = url.startsWith(lfsPrefix) ? url.slice(lfsPrefix.length - 1) : url;
    const uploads = uploadsOf(batchRoutes, request.method ?? '', target);
    const body = await bodyOf(request, longestBatchBytes);
    if (upstream === null) return fail(response, 404, '[lfs] UPSTREAM is not set');
    if (uploads.length === 0) {
      return fail(response, 404, 'only POST to …/info/lfs/objects/batch is served here');
    }
    const passed = await passedOn(upstream, withoutBase(target, base), request, body);
    const objects = objectsToUpload(passed);
    const asked = objects.length === 0 ? [] : uploads;
    let refused: string | undefined;
    for (const { owner } of asked) await services.settleOwner(owner, false);
    for (const upload of asked) refused ??= refusalOf(services, upload, objects) ?? undefined;
    if (refused === undefined) response.writeHead(passed.status, passed.headers).end(passed.body);
    else fail(response, 507, refused);
  } catch (error) {
    if (error instanceof SoftquotaError) fail(response, error.status, error.message);
    else fail(response, 502, `the LFS server does not answer: ${messageOf(error)}`);
  }
}

/** The objects that the server would take, by its answer, whatever the client wrote. */
function objectsToUpload({ status, body }: Passed): readonly ComingObject[] {
  if (status !== 200) return [];
  const objects = offered.safeParse(jsonOf(body.toString())).data?.objects ?? [];
  // One by one: an object that is odd hides no other.
  return objects.flatMap(object => wanted.safeParse(object).data ?? []);
}

/** Null: let through, and the room for it is kept. A refusal is on record, as that of a check is. */
function refusalOf(services: GateServices, upload: Upload, objects: readonly ComingObject[]): string | null {
  const subject = 'size:git:lfs';
  const { owner: ownerName } = upload;
  const { mode } = services.ledger.settings;
  const parts = uploadPartsOf(objects);
  const things = { repository: repositoryOfUpload(services, upload), incoming: incomingOf(objects) };
  const { owner, decision } = startUpload(services, { ownerName, subject, path: null, parts, things });
  recordDecision(services, { owner: owner.name, subject, actor: '', decision });
  if (decision.allowed || mode === 'report') return null;
  const contact = services.contact();
  return `${refusal(owner.name, subject, decision)}${contact === null ? '' : ` ${contactLine(contact)}`}`;
}

/** Asks the LFS server the same; rejects where it does not answer in time, or with too much. */
async function passedOn(
  upstream: URL,
  target: string,
  { headers }: IncomingMessage,
  body: Buffer,
): Promise<Passed> {
  // TLS takes memory that nobody needs who has no such server.
  const begin = upstream.protocol === 'https:' ? (await import('node:https')).request : requestHttp;
  const asking = begin({
    protocol: upstream.protocol,
    hostname: upstream.hostname.replace(/^\[|\]$/g, ''),
    port: upstream.port,
    path: upstream.pathname.replace(/\/$/, '') + target,
    method: 'POST',
    headers: { ...kept(headers), 'content-length': String(body.length) },
    signal: AbortSignal.timeout(answerMs),
  });
  // The error reaches whoever waits for the answer.
  asking.on('error', () => {}).end(body);
  const [answer]: IncomingMessage[] = await once(asking, 'response');
  if (answer === undefined) throw new TypeError('a response comes with its event');
  const text = await bodyOf(answer, longestAnswerBytes).catch(() => {
    throw new Error('its answer breaks off, or is too long');
  });
  const ownHeaders = { ...kept(answer.headers), 'content-length': String(text.length) };
  return { status: answer.statusCode ?? 502, headers: ownHeaders, body: text };
}

/** Headers of one connection only, the length, which is written again, and what would compress the answer. */
const ofConnection = [
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

function kept(headers: IncomingMessage['headers']): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ofConnection.includes(name)));
}

function fail(response: ServerResponse, status: number, words: string): void {
  if (response.headersSent) return;
  const message = printable(words);
  const body = Buffer.from(JSON.stringify({ message }));
  response.writeHead(status, { 'Content-Type': lfsType, 'Content-Length': String(body.length) }).end(body);
}
