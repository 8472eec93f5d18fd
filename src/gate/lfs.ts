/**
 * `…/info/lfs/objects/batch`, at its own address or below `/v1/lfs`: a filter before the batch endpoint of an
 * LFS server.
 *
 * A client announces there what it wants to upload, before it sends anything. Unless these are too many
 * objects, the gate passes the request on to the server, which knows the client and the objects that exist.
 * Only if the server asks for objects, the gate checks the owner's quota for them. A refusal is an error of
 * the LFS protocol, so `git lfs push` shows the reason and sends no object. All other answers are passed on
 * unchanged. The objects themselves do not pass the gate.
 *
 * hooks/receive-pack/git-lfs-transfer asks `/v1/check` about objects instead. It first asks without objects
 * whether it has to ask about each batch. It need not follow the upload if the owner is not refused and no
 * limit concerns the size of pushes or files.
 */

import { once } from 'node:events';
import {
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as requestHttp,
  type ServerResponse,
} from 'node:http';
import { z } from 'zod';
import { badParameter, messageOf, SoftquotaError } from '../errors.ts';
import { type Upload, uploadsOf, withoutBase } from '../layout/index.ts';
import { jsonOf } from '../parsed.ts';
import { hasBounds, type Incoming, refusal } from '../quota/index.ts';
import { excerpt, printable } from '../text.ts';
import { answered, askedQuestion, decidedFirstByDisk, recordDecision, repositoryOf } from './check.ts';
import { helpAfter } from './refusal-text.ts';
import { type BodyRoom, bodyOf, type Parameters, type Reply, replyWith } from './request.ts';
import type { GateServices } from './services.ts';
import { firstRefusal, repositoryOfUpload, startUpload } from './uploads.ts';

/** A proxy may pass on batches below this address. */
const lfsPrefix = '/v1/lfs/';

/**
 * git-lfs sends 100 objects at a time, of some 90 bytes each; servers answer with links of 1 to 4 KB for each
 * one. The answer is read in one turn of the event loop, so more would keep checks waiting.
 */
const mostBatchObjects = 1000;
const longestBatchBytes = 128 * 1024;
const longestAnswerBytes = 4 * 1024 * 1024;
const answerMs = 30_000;
const longestOid = 200;
const lfsType = 'application/vnd.git-lfs+json';

const offered = z.object({ objects: z.array(z.unknown()) });
const announced = offered.extend({ operation: z.literal('upload') });
/** An object that the server asks for. An unusable size counts as 0. */
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

/** Returns true for a batch, which a proxy passes on below `/v1/lfs/`, or with the client's address. */
export function isLfsBatch(services: GateServices, { method }: IncomingMessage, address: string): boolean {
  if (address.startsWith('/v1/')) return address.startsWith(lfsPrefix);
  const { batchRoutes } = services.uploads().lfs;
  return method === 'POST' && uploadsOf(batchRoutes, 'POST', address).length > 0;
}

/** Answers; never rejects. */
export async function answerLfsBatch(
  services: GateServices,
  room: BodyRoom,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    await room.read(request, longestBatchBytes, body => answerBatch(services, request, body, response));
  } catch (error) {
    if (error instanceof SoftquotaError) fail(response, error.status, error.message);
    else fail(response, 502, `the LFS server does not answer: ${messageOf(error)}`);
  }
}

async function answerBatch(
  services: GateServices,
  request: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
): Promise<void> {
  const { upstream, batchRoutes, base } = services.uploads().lfs;
  const { url = '' } = request;
  const target = url.startsWith(lfsPrefix) ? url.slice(lfsPrefix.length - 1) : url;
  const uploads = uploadsOf(batchRoutes, request.method ?? '', target);
  if (upstream === null) return fail(response, 404, '[lfs] UPSTREAM is not set');
  if (uploads.length === 0) {
    return fail(response, 404, 'only POST to …/info/lfs/objects/batch is served here');
  }
  mustBeFew(announced.safeParse(jsonOf(body.toString())).data?.objects ?? []);
  const passed = await passedOn(upstream, withoutBase(target, base), request, body);
  const objects = objectsToUpload(passed);
  const asked = objects.length === 0 ? [] : uploads;
  const first = await firstRefusal(services, asked, (upload, isTried) =>
    refusalOf(services, upload, objects, isTried),
  );
  if (first === null) response.writeHead(passed.status, passed.headers).end(passed.body);
  else fail(response, 507, first.refused);
}

/** Returns the objects that the server asks for, according to its answer. Throws `too_large`. */
function objectsToUpload({ status, body }: Passed): readonly ComingObject[] {
  // The answer to a download, which may have more objects, need not be parsed.
  if (status !== 200 || !body.includes('"upload"')) return [];
  const objects = offered.safeParse(jsonOf(body.toString())).data?.objects ?? [];
  mustBeFew(objects);
  // Parsed one by one, so that a malformed object does not hide others.
  return objects.flatMap(object => wanted.safeParse(object).data ?? []);
}

function mustBeFew(objects: readonly unknown[]): void {
  if (objects.length <= mostBatchObjects) return;
  throw new SoftquotaError('too_large', `the batch has more than ${mostBatchObjects} objects to upload`);
}

/** Returns the refusal, or null. Unless it is only tried, the decision is recorded and reserves the bytes. */
function refusalOf(
  services: GateServices,
  upload: Upload,
  objects: readonly ComingObject[],
  isTried: boolean,
): string | null {
  const { ledger } = services;
  const subject = 'size:git:lfs';
  const { owner: ownerName } = upload;
  const place = { ownerName, subject, path: null } as const;
  const incoming = incomingOf(objects);
  const things = { repository: repositoryOfUpload(services, upload), incoming };
  const { owner, decision } = isTried
    ? decidedFirstByDisk(services, place, () => ledger.decide(ownerName, subject, incoming.bytes, things))
    : startUpload(services, { ...place, parts: uploadPartsOf(objects), things });
  if (!isTried) recordDecision(services, { owner: owner.name, subject, actor: '', decision });
  if (decision.allowed || ledger.settings.mode === 'report') return null;
  return `${refusal(owner.name, subject, decision)}${helpAfter(services.contact())}`;
}

/** Sends the request to the LFS server. Rejects if its answer is late or too long. */
async function passedOn(
  upstream: URL,
  target: string,
  { headers }: IncomingMessage,
  body: Buffer,
): Promise<Passed> {
  // TLS is loaded only if it is needed, to save memory.
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
  // `once` below rejects with this error.
  asking.on('error', () => {}).end(body);
  const [answer]: IncomingMessage[] = await once(asking, 'response');
  if (answer === undefined) throw new TypeError('a response comes with its event');
  const text = await bodyOf(answer, longestAnswerBytes).catch(() => {
    throw new Error('its answer breaks off, or is too long');
  });
  const ownHeaders = { ...kept(answer.headers), 'content-length': String(text.length) };
  return { status: answer.statusCode ?? 502, headers: ownHeaders, body: text };
}

/**
 * Headers of one connection only, the length, which is set anew, and the one that would compress the answer.
 */
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

/** Limit of a body, of which the script sends at most 1 MiB. An object id has 64 characters. */
export const longestObjectsBytes = 1024 * 1024;
const mostObjects = 16_000;

interface ComingObject {
  readonly oid: string;
  readonly size: number;
}

/** Makes the parts of an upload. An object that is asked about again replaces its earlier reservation. */
function uploadPartsOf(objects: readonly ComingObject[]) {
  return objects.map(({ oid, size }) => ({ id: `lfs ${oid}`, bytes: size }));
}

function incomingOf(objects: readonly ComingObject[]) {
  const bytes = Math.min(
    objects.reduce((sum, { size }) => sum + size, 0),
    Number.MAX_SAFE_INTEGER,
  );
  const [largest] = objects.toSorted((a, b) => b.size - a.size);
  const shown = largest === undefined ? null : { bytes: largest.size, object: largest.oid };
  return { bytes, largest: shown } satisfies Incoming;
}

/**
 * Answers `/v1/check` with `objects`. An empty list asks whether batches have to be checked: 202 if so, else
 * 200; this is not recorded.
 */
export async function answerObjects(services: GateServices, parameters: Parameters): Promise<Reply> {
  const { ledger } = services;
  const objects = objectsIn(parameters.get('objects') ?? '');
  const question = await askedQuestion(services, parameters);
  const { ownerName, subject, unit } = question;
  const place = { ownerName, subject, path: unit?.path ?? null };
  const repository = repositoryOf(ledger, unit);
  if (objects.length > 0) {
    const things = { repository, incoming: incomingOf(objects) };
    return answered(
      services,
      question,
      startUpload(services, { ...place, parts: uploadPartsOf(objects), things }),
    );
  }
  const { owner, decision } = decidedFirstByDisk(services, place, () =>
    ledger.decide(ownerName, subject, 0, { repository }),
  );
  const isAskedAgain =
    !decision.allowed || ledger.settings.precise || hasBounds(ledger.standing(owner), ['push', 'file']);
  return replyWith(isAskedAgain ? 202 : 200, { ask_again: isAskedAgain }, '');
}

function objectsIn(text: string): readonly ComingObject[] {
  const lines = text.split('\n', mostObjects + 2).filter(line => line !== '');
  if (lines.length > mostObjects) throw badParameter(`objects has more than ${mostObjects} lines`);
  return lines.map(line => {
    const [, oid = '', size = ''] = /^([0-9a-f]{1,128}) (\d{1,30})$/.exec(line) ?? [];
    if (oid === '') throw badParameter(`objects has ${excerpt(line)}, where an id and a size are expected`);
    // The real program accepts sizes that no file can have.
    return { oid, size: Math.min(Number(size), Number.MAX_SAFE_INTEGER) };
  });
}
