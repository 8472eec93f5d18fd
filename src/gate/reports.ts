/**
 * Reports of hooks and trusted programs: a unit has changed, by how much, how large a reported unit is, all
 * units of a source, or the claims about a user.
 *
 * `/v1/reservations` reserves room for an upload until its bytes are known. It is decided like a check.
 * Reserved bytes count as used until the reservation is released, its data is reported, or it expires.
 * Everybody who can connect may reserve; only a client that knows the id can change the reservation.
 *
 * `/v1/sources` is for programs that report their units in complete sets. A set may have a hundred megabytes,
 * so it is read in pieces, each one after the previous one was processed. It may take as long as data keeps
 * coming.
 */

import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import { JsonFault, readJson } from '../bounded/index.ts';
import { badParameter, SoftquotaError } from '../errors.ts';
import type { Claims } from '../identity/index.ts';
import { forgeSource, type Reservation, type SourceReport } from '../ledger/index.ts';
import { nameFault } from '../quota/index.ts';
import { counted, excerpt, formatBytes, isoTime, printable } from '../text.ts';
import { answered, askedQuestion, decidedFirstByDisk, thingsOf } from './check.ts';
import {
  bytesIn,
  deltaIn,
  leafIn,
  nameParameter,
  type Parameters,
  pathIn,
  type Reply,
  replyWith,
  requestAddress,
  required,
} from './request.ts';
import type { GateRoute, GateServices } from './services.ts';

const reservationsAddress = '/v1/reservations';

const beginning = `${reservationsAddress}/`;
const idBytes = 18;
const longestShown = 80;
const usualSeconds = 600;
const mostSeconds = 3600;

/** `POST /v1/reservations`. */
async function reserve(services: GateServices, parameters: Parameters): Promise<Reply> {
  bytesIn(parameters, 'size');
  const seconds = secondsIn(parameters, 'seconds', usualSeconds, mostSeconds);
  const question = await askedQuestion(services, parameters);
  const { ownerName, subject, unit, sizeBytes } = question;
  const path = unit?.path ?? null;
  const admission = decidedFirstByDisk(services, { ownerName, subject, path }, () =>
    services.ledger.admit({
      ownerName,
      subject,
      parts: [{ id: randomBytes(idBytes).toString('base64url'), bytes: sizeBytes ?? 0 }],
      isReported: true,
      unit: path,
      seconds,
      things: thingsOf(services, question),
    }),
  );
  const reply = answered(services, question, admission);
  const [reservation] = 'reservations' in admission ? admission.reservations : [];
  return reservation === undefined
    ? reply
    : { ...reservationShown(services, reservation, 201), decision: 'allowed' };
}

function secondsIn(parameters: Parameters, name: string, usual: number, most: number): number {
  const text = parameters.get(name) ?? '';
  const seconds = text === '' ? usual : /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (seconds >= 1 && seconds <= most) return seconds;
  throw badParameter(
    `${name} is ${excerpt(text)}, where a whole number of seconds from 1 to ${most} is expected`,
  );
}

/** Returns the reservation with this id if a client made it; null if there is none, or if it has expired. */
function reportedReservation(
  { reservations }: Pick<GateServices['ledger'], 'reservations'>,
  id: string,
): Reservation | null {
  const found = reservations.byId(id);
  return found?.isReported === true ? found : null;
}

/** `DELETE` and `PUT /v1/reservations/ID`: releases a reservation, or extends it. */
async function changeReservation(
  services: GateServices,
  parameters: Parameters,
  request: IncomingMessage,
): Promise<Reply> {
  const { reservations } = services.ledger;
  const id = requestAddress(request).slice(beginning.length);
  const reservation = reportedReservation(services.ledger, id);
  if (reservation === null) {
    const name = printable(id.slice(0, longestShown));
    const message = `there is no reservation "${name}", or its time has ended`;
    throw new SoftquotaError('unknown_reservation', message);
  }
  if (request.method === 'PUT') {
    const seconds = secondsIn(parameters, 'seconds', usualSeconds, mostSeconds);
    return reservationShown(services, reservations.renew(reservation, seconds), 200);
  }
  reservations.release(reservation);
  return replyWith(204, {}, '');
}

/** Answers with a reservation. The text form is only the id, for shell scripts. */
function reservationShown({ ledger }: GateServices, { id, expiresAt }: Reservation, status: number): Reply {
  return replyWith(status, { id, expires_at: ledger.reservations.timeOf(expiresAt) }, `${id}\n`);
}

/** `/v1/changed` with a path: measures the unit again soon, which ends `reservation`. */
async function changed(services: GateServices, parameters: Parameters): Promise<Reply> {
  const reservation = reservationIn(services, parameters);
  const text = (parameters.get('path') ?? '') || (reservation?.unit ?? '');
  if (text === '') {
    if (!parameters.has('owner')) throw badParameter('path is missing');
    const message =
      'owner, subject and delta are accepted only on the trusted socket ([server] TRUSTED_SOCKET)';
    throw new SoftquotaError('not_trusted', message);
  }
  const unit = await existing(services, pathIn(text));
  const { reservations, walks } = services.ledger;
  if (reservation !== null)
    reservations.replace(reservation, { unit, landedSeq: reservation.landedSeq ?? walks.nextSeq() });
  services.measureSoon(unit);
  return replyWith(202, { unit }, `${printable(unit)} is measured again soon\n`);
}

function reservationIn({ ledger }: GateServices, parameters: Parameters): Reservation | null {
  const id = parameters.get('reservation') ?? '';
  return id === '' ? null : reportedReservation(ledger, id);
}

/** Returns the path of the unit that exists there, or existed. */
async function existing(services: GateServices, path: string): Promise<string> {
  const known = services.ledger.units.unitAt(path);
  if (known !== null) return known.name;
  const located = await services.locate(path);
  if (located.exists) return located.path;
  throw new SoftquotaError('unknown_path', `${printable(path)} is in no unit, now or earlier`);
}

/**
 * `/v1/changed` for trusted programs: with a path, or with the number of bytes that were added or removed.
 */
async function changedTrusted(services: GateServices, parameters: Parameters): Promise<Reply> {
  if ((parameters.get('path') ?? '') !== '' || !parameters.has('owner')) return changed(services, parameters);
  const owner = nameParameter(parameters, 'owner');
  const subject = leafIn(parameters);
  const delta = deltaIn(parameters);
  const reservation = reservationIn(services, parameters);
  await services.ledger.reports.addDelta(owner, subject, delta);
  if (reservation !== null) services.ledger.reservations.release(reservation);
  return replyWith(202, { owner, subject, delta }, 'counted\n');
}

/** `/v1/units`: sets the size of a reported unit. */
async function units(services: GateServices, parameters: Parameters): Promise<Reply> {
  const owner = nameParameter(parameters, 'owner');
  const subject = leafIn(parameters);
  const unit = nameParameter(parameters, 'unit');
  const bytes = bytesIn(parameters, 'bytes');
  await services.ledger.reports.reportUnit(owner, subject, unit, bytes);
  return replyWith(200, { owner, subject, unit, bytes }, 'counted\n');
}

const sourcesAddress = '/v1/sources';

export const longestSetMs = 3_600_000;

/** A source that does not say how long its figures are valid has to report once a day. */
const usualStaleAfter = 86_400;
const longestStaleAfter = 366 * 86_400;

/** `/v1/sources`: lists the sources. */
function sources({ ledger }: GateServices): Reply {
  const { list } = ledger.sources;
  return replyWith(200, { sources: list.map(sourceReportShown) }, list.map(lineOf).join(''));
}

/** `GET`, `PUT` and `DELETE /v1/sources/NAME`. */
async function answerSource(
  services: GateServices,
  parameters: Parameters,
  request: IncomingMessage,
): Promise<Reply> {
  const name = nameIn(requestAddress(request));
  switch (request.method) {
    case 'PUT':
      mustBeFree(name);
      return put(services, name, parameters, request);
    case 'DELETE':
      mustBeFree(name);
      await services.ledger.sources.remove(name);
      return replyWith(204, null, '');
    default:
      return one(services, name);
  }
}

function one({ ledger }: GateServices, name: string): Reply {
  const report = ledger.sources.report(name);
  if (report === undefined) throw new SoftquotaError('not_found', `there is no source ${printable(name)}`);
  return replyWith(200, sourceReportShown(report), lineOf(report));
}

async function put(
  { ledger }: GateServices,
  name: string,
  parameters: Parameters,
  request: IncomingMessage,
): Promise<Reply> {
  try {
    const seconds = secondsIn(parameters, 'stale_after', usualStaleAfter, longestStaleAfter);
    const { units, owners } = await ledger.sources.put(name, seconds * 1000, piecesOf(request));
    return replyWith(200, { units, owners }, `${units} units of ${owners} owners\n`);
  } catch (error) {
    // A client whose connection is cut while it sends does not read the answer.
    request.resume();
    await finished(request, { writable: false }).catch(() => {});
    throw error;
  }
}

async function* piecesOf(request: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    // If the reading ends early, `put` discards the rest of the body.
    yield* request.iterator({ destroyOnReturn: false });
  } catch (cause) {
    throw badParameter('the body is incomplete', { cause });
  }
  // From here on the disk takes time, which must not count as the client's silence.
  request.socket.setTimeout(0);
}

/** Throws `conflict` for the source in which the daemon itself keeps the figures of a forge's database. */
function mustBeFree(name: string): void {
  if (name !== forgeSource) return;
  const message = `${forgeSource} is softquota's own source ([forge] in app.ini): choose another name`;
  throw new SoftquotaError('conflict', message);
}

function nameIn(address: string): string {
  const text = address.slice(sourcesAddress.length + 1);
  let name: string;
  try {
    name = decodeURIComponent(text);
  } catch (cause) {
    throw badParameter('the name of the source is not percent-encoded UTF-8', { cause });
  }
  const why = nameFault(name);
  if (why === null) return name;
  throw badParameter(`the source is "${printable(name)}", which is no name: ${why}`);
}

function sourceReportShown({
  name,
  units,
  owners,
  bytes,
  reportedAt,
  staleAfterMs,
  isStale,
}: SourceReport): object {
  return {
    name,
    units,
    owners,
    bytes,
    reported_at: isoTime(reportedAt),
    stale_after: staleAfterMs / 1000,
    stale: isStale,
  };
}

function lineOf({ name, units, owners, bytes, reportedAt, isStale }: SourceReport): string {
  const when = `${isoTime(reportedAt)}${isStale ? ', stale' : ''}`;
  return `${printable(name)}: ${counted(units, 'unit', 'units')} of ${counted(owners, 'owner', 'owners')}, ${formatBytes(bytes)}, reported at ${when}\n`;
}

/** Limit of JSON values: enough for all groups and the other fields of an ID token. */
const mostValues = 50_000;

const claimsNested = { names: new Set(['claims', 'try']), mostValues };

/** Enough for ten thousand groups; parsing more would delay other requests. */
const longestClaimsBytes = 1024 * 1024;

/**
 * `/v1/claims`: applies the claims of a provider about a user, sent by a forge's sign-in, an SSO proxy or a
 * job.
 */
async function claims(services: GateServices, parameters: Parameters): Promise<Reply> {
  const user = required(parameters, 'user');
  const fault = nameFault(user);
  if (fault !== null) throw badParameter(`user is not a valid name: ${fault}`);
  const source = required(parameters, 'source');
  const isTrial = trialIn(parameters.get('try') ?? '');
  const done = await services.synchronize({ user, source, claims: claimsIn(parameters), isTrial });
  const { outcome, groups, added, removed, skipped, ignored } = done;
  const json = { groups, added, removed, outcome, skipped, ignored };
  return replyWith(200, json, `${printable(groups.join(', '))}\n`);
}

/** Parses the claims: a JSON object, or its text in a form. */
function claimsIn(parameters: Parameters): Claims {
  const text = required(parameters, 'claims');
  const expected = 'where a JSON object is expected, such as the payload of an ID token';
  let found: unknown;
  try {
    found = readJson(text, mostValues);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    throw badParameter(`claims is not valid JSON: ${error.message}, ${expected}`);
  }
  if (typeof found !== 'object' || found === null || Array.isArray(found)) {
    throw badParameter(`claims is something else, ${expected}`);
  }
  // Code that reads a claim checks its type.
  return found as Claims;
}

function trialIn(text: string): boolean {
  if (text === 'true') return true;
  if (text === 'false' || text === '') return false;
  throw badParameter('try is not true or false');
}

/** Routes for everybody. An address with a final slash stands for everything below it. */
export const reportRoutes: readonly (readonly [string, GateRoute])[] = [
  ['/v1/changed', { methods: ['POST'], handle: changed }],
  [reservationsAddress, { methods: ['POST'], handle: reserve }],
  [`${reservationsAddress}/`, { methods: ['DELETE', 'PUT'], handle: changeReservation }],
];

const trustedSource: GateRoute = {
  methods: ['GET', 'HEAD', 'PUT', 'DELETE'],
  handle: answerSource,
  isStreamed: true,
  shown: `${sourcesAddress}/NAME`,
};

/** Routes for trusted programs only. */
export const trustedReportRoutes: readonly (readonly [string, GateRoute])[] = [
  ['/v1/changed', { methods: ['POST'], handle: changedTrusted }],
  ['/v1/units', { methods: ['POST'], handle: units }],
  [sourcesAddress, { methods: ['GET', 'HEAD'], handle: sources }],
  [`${sourcesAddress}/`, trustedSource],
  [
    '/v1/claims',
    { methods: ['POST'], handle: claims, nested: claimsNested, mostBodyBytes: longestClaimsBytes },
  ],
];
