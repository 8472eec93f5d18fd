/**
 * `/v1/forward-auth`: a reverse proxy asks about each request before it lets it through.
 *
 * What starts no upload is let through with an empty 200. A refusal is a 403 in one form that git-lfs, npm,
 * twine and container clients show: the reason in a header, as the phrase of the status, and in JSON; git
 * gets plain text. Where nothing can be decided, `[gate] ON_ERROR` says what the proxy is told, so that a
 * fault here stops nobody who is not meant to be stopped.
 */

import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { fileBytesIn, type Upload, uploadsOf } from '../layout/index.ts';
import { decideIncoming, type Incoming, type Refusal, refusal, type Subject } from '../quota/index.ts';
import { printable } from '../text/index.ts';
import { decidedFirstByDisk, recordDecision, repositoryOfUpload, startUpload } from './check.ts';
import { contactLine, refusalText } from './refusal-text.ts';
import { requestAddress } from './request.ts';
import type { Decided, GateServices } from './services.ts';

export const forwardAuthAddress = '/v1/forward-auth';
/**
 * Address of the refusal's text, for a proxy that drops the body of the first answer: nginx. It never answers
 * 200, which a client would take for success if the owner was freed in between.
 */
export const refusalAddress = '/v1/forward-auth/refusal';

const headerNames = {
  original: ['x-original-uri', 'x-original-method', 'x-original-content-length'],
  forwarded: ['x-forwarded-uri', 'x-forwarded-method', 'x-forwarded-content-length'],
} as const;

/** Answers; never rejects. The body of the request, which a proxy should not send, is not read. */
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
    for (const upload of uploads) {
      const settled = services.settleOwner(upload.owner, false);
      if (settled !== null) await settled;
      const refused = refusalOf(services, upload, asked, isPage);
      if (refused === null) continue;
      refuse(services, response, upload, refused);
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
  /** The length of what the client sends; null: the proxy does not say it. */
  readonly lengthBytes: number | null;
}

/** Returns the request that the proxy asks about, or as a text the reason why that is unknown. */
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

/** Nobody has signed in yet, and may not even know that the owner exists. */
const hidden = 'This upload is refused by the quota.';

/** A client would repeat what is answered by 503. */
const notByQuota = 'This request is refused, and not, or no longer, by the quota.';

/** An upload to the same address again takes its own place, as an LFS object of a batch does. */
function partId({ target, method }: Asked): string {
  const oid = /\/objects\/([0-9a-f]{64})(?:[/?]|$)/.exec(target)?.[1];
  return oid === undefined ? `forward ${hash('sha256', `${method} ${target}`, 'base64url')}` : `lfs ${oid}`;
}

/** Null: let through. A refusal is recorded, as that of a check is, but not with its page once more. */
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
    // A push is kept in mind by its hook.
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
  // A repository that is not known may become public or private.
  const refused = answers.flatMap(({ decision, ...answer }) =>
    decision.allowed ? [] : [{ ...answer, decision }],
  );
  const [first] = refused;
  const isRefused = first !== undefined && refused.length === answers.length;
  const told = isRefused ? first : answers.find(({ decision }) => decision.allowed);
  if (told !== undefined && !isPage) {
    const { owner, subject, decision } = told;
    // The hook asks once the push has come, and the requests that bring data of an upload are asked about.
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
  /** Nobody says how long it is. */
  readonly isUnknown: boolean;
  readonly isPage: boolean;
}

/** Asks only about what comes. */
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
  // A request that is known to be empty brings nothing.
  for (const per of isUnknown && !isPage ? unasked : []) {
    services.unasked({ owner: owner.name, subject: asked, actor: '', per });
  }
  if (decision === null) return null;
  if (!isPage) recordDecision(services, { owner: owner.name, subject: asked, actor: '', decision });
  return settings.mode === 'report' ? null : { owner, subject: asked, decision };
}

/** A request of 0 bytes, or of as many as the proxy does not tell, begins an upload of unknown size. */
function incomingOf({ subject, sizeBytes, file }: Upload, bytes: number): Incoming {
  // Without a file, the request has the server itself bring something.
  const isOrder = subject === 'repository' && file !== 'part';
  if (bytes === 0 || isOrder) return { bytes: null, largest: null };
  return { bytes, largest: { bytes: sizeBytes || fileBytesIn(file, bytes) } };
}

function subjectsOf({ subject }: Pick<Upload, 'subject'>, leaf: Subject | null): readonly Subject[] {
  if (subject !== 'repository') return [subject];
  return leaf === null ? ['size:repos:private', 'size:repos:public'] : [leaf];
}

/** Proxies pass a batch on to the gate, however its address is written. */
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
  const contact = services.contact();
  const isOfRepository = decision.per === 'repository';
  if (!services.showsFigures(owner.name) || (isOfRepository && !isOfPublic(services, upload))) {
    const help = contact === null ? '' : ` ${contactLine(contact)}`;
    if (upload.client === 'git') send(response, hidden, `${hidden}${help}\n`, 'text/plain; charset=utf-8');
    else sendJson(response, hidden, help);
    return;
  }
  const message = refusal(owner.name, subject, decision);
  if (upload.client === 'git') {
    const words = { ownerName: owner.name, subject, decision, isPush: false, repositoryBytes: null, contact };
    send(response, message, refusalText(words), 'text/plain; charset=utf-8');
    return;
  }
  const help = contact === null ? '' : ` ${contactLine(contact)}`;
  sendJson(response, message, help);
}

/** Tells whether everybody may see the repository. */
function isOfPublic(services: GateServices, upload: Upload): boolean {
  const path = repositoryOfUpload(services, upload);
  return path !== null && services.ledger.units.unit(path)?.leaf === 'size:repos:public';
}

function undecided({ uploads }: GateServices, response: ServerResponse, isPage: boolean, why: string): void {
  if (response.headersSent) return;
  if (uploads().onError === 'allow' && !isPage) allow(response);
  else sendJson(response, `The quota cannot be asked: ${why}`);
}

/** npm reads `error`, git-lfs `message`, container clients `errors`. */
function sendJson(response: ServerResponse, phrase: string, help = ''): void {
  const message = printable(phrase + help);
  const json = { message, error: message, errors: [{ code: 'DENIED', message }] };
  send(response, phrase, JSON.stringify(json), 'application/json');
}

/** A phrase of a status has no other letters. */
function plainAscii(text: string): string {
  return text.replace(/[^ -~]/gu, '?');
}

/** A proxy that stores answers would pass a refused upload, or refuse one that is allowed again. */
const neverStored = { 'Cache-Control': 'no-store' } as const;

function send(response: ServerResponse, message: string, text: string, type: string): void {
  // With a text, Node would write the header's bytes as UTF-8 once more.
  const body = Buffer.from(text);
  response.writeHead(403, plainAscii(message), {
    'Content-Type': type,
    'Content-Length': String(body.length),
    'X-Softquota-Decision': 'refused',
    ...neverStored,
    // Bytes of UTF-8, one character each.
    'X-Quota-Message': Buffer.from(printable(message)).toString('latin1'),
  });
  response.end(body);
}
