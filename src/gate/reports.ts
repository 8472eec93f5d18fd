/**
 * Reports of hooks and trusted programs: a unit has changed, by how much, or how large a reported unit is.
 * Also the answers about the usage of an owner.
 *
 * `/v1/reservations` reserves room for an upload until its bytes are known. It is decided like a check.
 * Reserved bytes count as used until the reservation is released, its data is reported, or it expires.
 * Everybody who can connect may reserve; only a client that knows the id can change the reservation.
 */

import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { SoftquotaError } from '../errors.ts';
import { given } from '../given.ts';
import type { Reservation } from '../ledger/index.ts';
import { asTree, type Group, refusal, standing, subjects, totalOf } from '../quota/index.ts';
import { formatBytes, isoTime, printable } from '../text.ts';
import { answered, askedQuestion, decidedFirstByDisk, pushId, thingsOf, verdictWithWords } from './check.ts';
import {
  askedOwnerIn,
  bytesIn,
  deltaIn,
  leafIn,
  nameParameter,
  type Parameters,
  pathIn,
  pushIn,
  type Reply,
  replyWith,
  requestAddress,
  secondsIn,
} from './request.ts';
import type { GateServices } from './services.ts';

export const reservationsAddress = '/v1/reservations';

const beginning = `${reservationsAddress}/`;
const idBytes = 18;
const longestShown = 80;
const usualSeconds = 600;
const mostSeconds = 3600;

/** `POST /v1/reservations`. */
export async function reserve(services: GateServices, parameters: Parameters): Promise<Reply> {
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
  return reservation === undefined ? reply : { ...shown(services, reservation, 201), decision: 'allowed' };
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
export async function changeReservation(
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
    return shown(services, reservations.renew(reservation, seconds), 200);
  }
  reservations.release(reservation);
  return replyWith(204, {}, '');
}

/** Answers with a reservation. The text form is only the id, for shell scripts. */
function shown({ ledger }: GateServices, { id, expiresAt }: Reservation, status: number): Reply {
  return replyWith(status, { id, expires_at: ledger.reservations.timeOf(expiresAt) }, `${id}\n`);
}

/** `/v1/changed` with a path: measures the unit again soon, which ends `push` or `reservation`. */
export async function changed(services: GateServices, parameters: Parameters): Promise<Reply> {
  const reservation = reservationIn(services, parameters);
  const text = (parameters.get('path') ?? '') || (reservation?.unit ?? '');
  if (text === '') {
    if (!parameters.has('owner')) throw new SoftquotaError('bad_parameter', 'path is missing');
    const message =
      'owner, subject and delta are accepted only on the trusted socket ([server] TRUSTED_SOCKET)';
    throw new SoftquotaError('not_trusted', message);
  }
  const unit = await existing(services, pathIn(text));
  const { reservations, walks } = services.ledger;
  const push = pushIn(parameters);
  const ended = push === null ? reservation : reservations.byId(pushId(unit, push));
  if (ended !== null) reservations.replace(ended, { unit, landedSeq: ended.landedSeq ?? walks.nextSeq() });
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
export async function changedTrusted(services: GateServices, parameters: Parameters): Promise<Reply> {
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
export async function units(services: GateServices, parameters: Parameters): Promise<Reply> {
  const owner = nameParameter(parameters, 'owner');
  const subject = leafIn(parameters);
  const unit = nameParameter(parameters, 'unit');
  const bytes = bytesIn(parameters, 'bytes');
  await services.ledger.reports.reportUnit(owner, subject, unit, bytes);
  return replyWith(200, { owner, subject, unit, bytes }, 'counted\n');
}

/**
 * `/v1/usage`: the usage of an owner, the groups that apply, and the decision for each subject. Without an
 * assigned group these are DEFAULT_GROUPS, also for an unknown owner. The built-in group has no name and is
 * not listed.
 */
export function usage(services: GateServices, parameters: Parameters): Reply {
  const { ledger } = services;
  const owner = ledger.ownerUsage(askedOwnerIn(parameters, ledger));
  const decisions = subjects.map(subject => {
    const { decision } = ledger.decide(owner.name, subject);
    return [subject, verdictWithWords(owner.name, subject, decision)];
  });
  const json = {
    owner: owner.name,
    used: asTree(owner.usage),
    ...(owner.unreachable === null ? {} : { unreachable: asTree(owner.unreachable) }),
    measured_at: isoTime(owner.measuredAt),
    partial: owner.partial,
    stale: owner.stale,
    groups: ledger.policy.groupsOf(owner.id, ledger.settings.defaultGroups).map(groupShown),
    decisions: Object.fromEntries(decisions),
  };
  return replyWith(200, json, `${JSON.stringify(json)}\n`);
}

/** Shows a group with names, as administrators see it: programs on the trusted socket may know them. */
function groupShown({ name, rules }: Group): object {
  return {
    name,
    rules: rules.map(rule => ({
      name: rule.name,
      limit: rule.limitBytes,
      subjects: rule.subjects,
      ...given({ mode: rule.mode, per: rule.per }),
    })),
  };
}

/** `/v1/quota`: the usage and limit of an owner, in the form for that owner. Throws `not_found`. */
export function ownerQuota({ ledger, myUsage }: GateServices, parameters: Parameters): Reply {
  const asked = askedOwnerIn(parameters, ledger);
  if (ledger.documents.owners.named(asked) === undefined) {
    throw new SoftquotaError('not_found', `no such owner: ${printable(asked)}`);
  }
  const { name, usage } = ledger.ownerUsage(asked);
  const { decision } = ledger.decide(name, 'size:all');
  const { allowed, used, limit } = decision;
  const message = allowed ? standing(name, decision) : refusal(name, 'size:all', decision);
  const total = totalOf(usage);
  const page = myUsage();
  const json = { owner: name, allowed, used, limit, total, message, my_usage: page };
  const lines = [
    message,
    ...(used === total ? [] : [`${printable(name)} stores ${formatBytes(total)} in total.`]),
    ...(page === null ? [] : [`My usage: ${page}`]),
  ];
  return replyWith(200, json, `${lines.join('\n')}\n`);
}
