/**
 * `/v1/forward-auth`: a reverse proxy asks about each request before it passes it on.
 *
 * A request that starts no upload gets an empty 200. A refusal is a 403 that git-lfs, npm, twine and
 * container clients can show: the reason is in a header, in the status phrase, and in JSON; git gets plain
 * text. If nothing can be decided, `[gate] ON_ERROR` is the answer, so that a fault here blocks nobody
 * against the administrator's will.
 */

import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { fileBytesIn, type Upload, uploadsOf } from '../layout/index.ts';
import { decideIncoming, type Incoming, type Refusal, refusal, type Subject } from '../quota/index.ts';
import { printable } from '../text.ts';
import { decidedFirstByDisk, recordDecision } from './check.ts';
import { helpAfter, refusalText } from './refusal-text.ts';
import { requestAddress } from './request.ts';
import type { Decided, GateServices } from './services.ts';
import { firstRefusal, repositoryOfUpload, startUpload } from './uploads.ts';

const forwardAuthAddress = '/v1/forward-auth';
/**
 * Address of the refusal as a page, for nginx, which drops the body of the first answer. It never answers
 * 200: a client would take that for success if the owner has got space in between.
 */
const refusalAddress = '/v1/forward-auth/refusal';

const headerNames = {
  original: ['x-original-uri', 'x-original-method', 'x-original-content-length'],
  forwarded: ['x-forwarded-uri', 'x-forwarded-method', 'x-forwarded-content-length'],
} as const;

export function isForwardAuth(address: string): boolean {
  return address === forwardAuthAddress || address === refusalAddress;
}

/** Answers; never rejects. It ignores the body, which a proxy should not send. */
export async function answerForwardAuth(
  services: GateServices,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  request.resume();
  const isPage = requestAddress(request) === refusalAddress;
  try {
    const { routes, headers, lfs } = services.uploads();
    const asked = askedIn(request, headers);
    if (typeof asked === 'string') {
      services.notUnderstood(asked);
      undecided(services, response, isPage, asked);
      return;
    }
    const uploads = uploadsOf(routes, asked.method, asked.target);
    const first = await firstRefusal(services, uploads, (upload, isTried) =>
      refusalOf(services, upload, asked, isPage || isTried),
    );
    if (first !== null) {
      refuse(services, response, first.upload, first.refused);
      return;
    }
    const batches = lfs.upstream === null ? [] : uploadsOf(lfs.batchRoutes, asked.method, asked.target);
    if (isPage) sendJson(response, notByQuota);
    else allow(response, batches.length > 0);
  } catch (error) {
    services.unforeseen(error);
    undecided(services, response, isPage, 'internal error; the log of softquota has details');
  }
}

interface Asked {
  readonly target: string;
  readonly method: string;
  /** Content length of the client's request; null if the proxy does not send it. */
  readonly lengthBytes: number | null;
}

/** Returns the request that the proxy asks about; if it is unknown, the reason as a text. */
function askedIn({ headers }: IncomingMessage, family: keyof typeof headerNames): Asked | string {
  const [uri, verb, length] = headerNames[family];
  const target = headers[uri];
  const method = headers[verb];
  const lengthBytes = /^\d{1,15}$/.test(String(headers[length])) ? Number(headers[length]) : null;
  if (typeof target === 'string' && typeof method === 'string') return { target, method, lengthBytes };
  return `the proxy sends no ${uri} or no ${verb}; [gate] HEADERS says which headers are read`;
}

interface Refused extends Pick<Decided, 'owner'> {
  readonly subject: Subject;
  readonly decision: Refusal;
}

/** Refusal without figures: the client has not signed in yet, and may not even know that the owner exists. */
const hidden = 'This upload is refused by the quota.';

/**
 * Text if the request is not refused by the quota. The status cannot be 503, because clients repeat such
 * requests.
 */
const notByQuota = 'This request is refused, and not, or no longer, by the quota.';

/**
 * Makes the id of a reservation. A repeated upload to the same address replaces its earlier reservation; an
 * LFS object has the same id as in a batch.
 */
function partId({ target, method }: Asked): string {
  const oid = /\/objects\/([0-9a-f]{64})(?:[/?]|$)/.exec(target)?.[1];
  return oid === undefined ? `forward ${hash('sha256', `${method} ${target}`, 'base64url')}` : `lfs ${oid}`;
}

/**
 * Returns the refusal, or null if the request may pass. Records the decision and reserves the bytes, except
 * for the page.
 */
function refusalOf(services: GateServices, upload: Upload, asked: Asked, isPage: boolean): Refused | null {
  const { ledger } = services;
  const { owner: ownerName, client, sizeBytes } = upload;
  const paths = services.uploads().repositoryPathsOf(upload);
  const path = paths.find(each => ledger.units.unitAt(each) !== null) ?? null;
  const unit = path === null ? null : ledger.units.unitAt(path);
  const bytes = client === 'git' ? 0 : sizeBytes || (asked.lengthBytes ?? 0);
  const repository = repositoryOfUpload(services, upload);
  const incoming = incomingOf(upload, bytes);
  if (upload.part === 'later') {
    const isUnknown = asked.lengthBytes === null;
    return refusalOfPart(services, upload, { incoming, isUnknown, isPage });
  }
  const things = { repository, incoming };
  const decide = (subject: Subject): Decided =>
    // The hook reserves the bytes of a push.
    client === 'git' || isPage
      ? decidedFirstByDisk(services, { ownerName, subject, path }, () =>
          ledger.decide(ownerName, subject, bytes, things),
        )
      : startUpload(services, {
          ownerName,
          subject,
          path: null,
          parts: [{ id: partId(asked), bytes }],
          things,
        });
  const subjects = subjectsOf(upload, unit?.leaf ?? null);
  const answers = subjects.map(subject => ({ subject, ...decide(subject) }));
  // A repository that is unknown may become public or private: only a refusal of both counts.
  const refused = answers.flatMap(({ decision, ...answer }) =>
    decision.allowed ? [] : [{ ...answer, decision }],
  );
  const [first] = refused;
  const isRefused = first !== undefined && refused.length === answers.length;
  const told = isRefused ? first : answers.find(({ decision }) => decision.allowed);
  if (told !== undefined && !isPage) {
    const { owner, subject, decision } = told;
    // Later questions about this upload come with the data: from the hook, or from the requests with its
    // parts.
    const hasLater = client === 'git' || upload.part === 'first';
    const isAskedLater = hasLater && decision.by === 'rule' && decision.allowed;
    const known = isAskedLater ? { ...decision, unasked: [] } : decision;
    recordDecision(services, { owner: owner.name, subject, actor: '', decision: known });
  }
  if (!isRefused) {
    if (unit !== null && !isPage) services.letThrough(unit.name);
    return null;
  }
  return ledger.settings.mode === 'report' ? null : first;
}

interface ComingPart {
  readonly incoming: Incoming;
  /** True if the proxy sends no length. */
  readonly isUnknown: boolean;
  readonly isPage: boolean;
}

/** Checks one request of an upload against limits of pushes and files only. */
function refusalOfPart(
  services: GateServices,
  { owner: ownerName, subject }: Upload,
  { incoming, isUnknown, isPage }: ComingPart,
): Refused | null {
  const { ledger } = services;
  const { settings } = ledger;
  const owner = ledger.ownerUsage(ownerName);
  const [asked = 'size:all'] = subjectsOf({ subject }, null);
  const policy = { settings, standing: ledger.standing(owner) };
  const { refused: decision, unasked } = decideIncoming(policy, asked, incoming);
  // A request that is known to be empty adds nothing.
  for (const per of isUnknown && !isPage ? unasked : []) {
    services.unasked({ owner: owner.name, subject: asked, actor: '', per });
  }
  if (decision === null) return null;
  if (!isPage) recordDecision(services, { owner: owner.name, subject: asked, actor: '', decision });
  return settings.mode === 'report' ? null : { owner, subject: asked, decision };
}

/** Describes the data of a request. 0 bytes mean that the size is unknown, as when an upload begins. */
function incomingOf({ subject, sizeBytes, file }: Upload, bytes: number): Incoming {
  // Without a file, the request makes the server fetch the data itself.
  const isOrder = subject === 'repository' && file !== 'part';
  if (bytes === 0 || isOrder) return { bytes: null, largest: null };
  return { bytes, largest: { bytes: sizeBytes || fileBytesIn(file, bytes) } };
}

function subjectsOf({ subject }: Pick<Upload, 'subject'>, leaf: Subject | null): readonly Subject[] {
  if (subject !== 'repository') return [subject];
  return leaf === null ? ['size:repos:private', 'size:repos:public'] : [leaf];
}

/** Permits the request. A proxy sends a request with the batch header on to the gate. */
function allow(response: ServerResponse, isBatch = false): void {
  response.writeHead(200, {
    'Content-Length': '0',
    'X-Softquota-Decision': 'allowed',
    ...(isBatch ? { 'X-Softquota-Batch': 'yes' } : {}),
    ...neverStored,
  });
  response.end();
}

function refuse(
  services: GateServices,
  response: ServerResponse,
  upload: Upload,
  { owner, subject, decision }: Refused,
): void {
  const { name: ownerName } = owner;
  const contact = services.contact();
  const help = helpAfter(contact);
  const isOfRepository = decision.per === 'repository';
  const isHidden = !services.showsFigures(ownerName) || (isOfRepository && !isOfPublic(services, upload));
  const message = isHidden ? hidden : refusal(ownerName, subject, decision);
  if (upload.client !== 'git') {
    sendJson(response, message, help);
    return;
  }
  const text = isHidden
    ? `${hidden}${help}\n`
    : refusalText({ ownerName, subject, decision, isPush: false, repositoryBytes: null, contact });
  send(response, message, text, 'text/plain; charset=utf-8');
}

/** Returns true if everybody may see the repository. */
function isOfPublic(services: GateServices, upload: Upload): boolean {
  const path = repositoryOfUpload(services, upload);
  return path !== null && services.ledger.units.unit(path)?.leaf === 'size:repos:public';
}

function undecided({ uploads }: GateServices, response: ServerResponse, isPage: boolean, why: string): void {
  if (response.headersSent) return;
  if (uploads().onError === 'allow' && !isPage) allow(response);
  else sendJson(response, `The quota cannot be asked: ${why}`);
}

/** Sends a refusal as JSON: npm reads `error`, git-lfs `message`, container clients `errors`. */
function sendJson(response: ServerResponse, phrase: string, help = ''): void {
  const message = printable(phrase + help);
  const json = { message, error: message, errors: [{ code: 'DENIED', message }] };
  send(response, phrase, JSON.stringify(json), 'application/json');
}

/** Replaces characters that a status phrase must not contain. */
function plainAscii(text: string): string {
  return text.replace(/[^ -~]/gu, '?');
}

/** A cached answer would let a refused upload pass, or refuse one that is permitted again. */
const neverStored = { 'Cache-Control': 'no-store' } as const;

function send(response: ServerResponse, message: string, text: string, type: string): void {
  // Given a string, Node would encode the header again as UTF-8.
  const body = Buffer.from(text);
  response.writeHead(403, plainAscii(message), {
    'Content-Type': type,
    'Content-Length': String(body.length),
    'X-Softquota-Decision': 'refused',
    ...neverStored,
    // UTF-8 bytes, one character each.
    'X-Quota-Message': Buffer.from(printable(message)).toString('latin1'),
  });
  response.end(body);
}
