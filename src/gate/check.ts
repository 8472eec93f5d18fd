/**
 * Decisions of the gate: first by the disk, then by the owner's limits; and their records. Answers
 * `/v1/check`: may this owner start something that adds this kind of data? Also answers about the usage of an
 * owner.
 */

import { dirname } from 'node:path';
import { badParameter, SoftquotaError } from '../errors.ts';
import { given } from '../given.ts';
import type { ActionThings, Ledger, OwnerDecision } from '../ledger/index.ts';
import {
  asTree,
  type Group,
  type Incoming,
  isLeaf,
  isRepository,
  isSubject,
  type QuotaSettings,
  type RefusalRecord,
  refusal,
  refusedByDisk,
  type Subject,
  standing,
  subjects,
  totalOf,
  warning,
} from '../quota/index.ts';
import { excerpt, formatBytes, isoTime, printable } from '../text.ts';
import { verdictShown } from '../wire/index.ts';
import { refusalText, warningText } from './refusal-text.ts';
import {
  bytesIn,
  nameParameter,
  type Parameters,
  pathIn,
  type Reply,
  replyWith,
  required,
} from './request.ts';
import type { Decided, GateServices, LocatedUnit } from './services.ts';

/** Finds the known unit that contains a path; null if there is none. */
export function knownUnitAt({ units }: Pick<Ledger, 'units'>, path: string): LocatedUnit | null {
  const known = units.unitAt(path);
  if (known === null) return null;
  const { name, owner, leaf, bytes } = known;
  return { path: name, owner, leaf, bytes };
}

/**
 * Returns the path of the repository that grows with this unit: the unit itself, or the repository around an
 * LFS directory. Null if there is none, or if another host measures it.
 */
export function repositoryOf({ units }: Pick<Ledger, 'units'>, unit: LocatedUnit | null): string | null {
  if (unit === null || unit.isElsewhere === true) return null;
  if (isRepository(unit.leaf)) return unit.path;
  const around = unit.leaf === 'size:git:lfs' ? units.unitAt(dirname(unit.path)) : null;
  return around !== null && isRepository(around.leaf) ? around.name : null;
}

/**
 * Describes the data of a request by its declared size; null if it declares none. A push has several files,
 * so its largest file is unknown.
 */
function declaredIncoming(subject: Subject, bytes: number | null, fileBytes = bytes): Incoming {
  const isPush = isLeaf(subject) && isRepository(subject);
  return { bytes, largest: fileBytes === null || isPush ? null : { bytes: fileBytes } };
}

interface Question {
  readonly ownerName: string;
  readonly subject: Subject;
  /** Unit that the path belongs to; null if the request named an owner instead. */
  readonly unit: LocatedUnit | null;
  /** Declared size; null if the request has none. */
  readonly sizeBytes: number | null;
  readonly actor: string;
}

/** Answers a check. It returns a promise only if an unknown path has to be looked up on the disk. */
export function answerCheck(services: GateServices, parameters: Parameters): Reply | Promise<Reply> {
  const since = performance.now();
  const question = askedQuestion(services, parameters);
  if (question instanceof Promise) return question.then(asked => answerQuestion(services, asked));
  const reply = answerQuestion(services, question);
  services.metrics?.took(performance.now() - since);
  return reply;
}

/** Reads the question. Looks up an unknown path on the disk, and its owner's name in the forge's database. */
export function askedQuestion(services: GateServices, parameters: Parameters): Question | Promise<Question> {
  const sizeBytes = (parameters.get('size') ?? '') === '' ? null : bytesIn(parameters, 'size');
  const actor = actorIn(parameters);
  const subject = subjectIn(parameters);
  const text = parameters.get('path') ?? '';
  if (text === '') {
    const ownerName = askedOwnerIn(parameters, services.ledger);
    if (subject === null) {
      throw badParameter('subject is missing: it is required with owner');
    }
    return { ownerName, subject, unit: null, sizeBytes, actor };
  }
  const about = (unit: LocatedUnit): Question => ({
    ...ownedBy(unit),
    subject: subject ?? unit.leaf,
    sizeBytes,
    actor,
  });
  const path = pathIn(text);
  const known = knownUnitAt(services.ledger, path);
  return known === null ? locatedUnit(services, path).then(about) : about(known);
}

/**
 * Reads the name of an owner. Known names are accepted even if they are invalid, because directories may have
 * them.
 */
function askedOwnerIn(parameters: Parameters, { documents }: Pick<Ledger, 'documents'>): string {
  const owner = required(parameters, 'owner');
  return documents.owners.named(owner) === undefined ? nameParameter(parameters, 'owner') : owner;
}

/** Reads the subject; null if none is given. */
function subjectIn(parameters: Parameters): Subject | null {
  const subject = parameters.get('subject');
  if (subject === undefined || subject === '') return null;
  if (isSubject(subject)) return subject;
  throw badParameter(
    `subject is ${excerpt(subject)}, where one of these is expected: ${subjects.join(', ')}`,
  );
}

/** Returns the actor for the record; empty if none is given. */
function actorIn(parameters: Parameters): string {
  return (parameters.get('actor') ?? '') === '' ? '' : nameParameter(parameters, 'actor');
}

async function locatedUnit(services: GateServices, path: string): Promise<LocatedUnit> {
  const unit = await services.locate(path);
  if (unit.owner !== null) await services.settleOwner(unit.owner, false);
  return unit;
}

function ownedBy(unit: LocatedUnit): { readonly ownerName: string; readonly unit: LocatedUnit } {
  if (unit.owner !== null) return { ownerName: unit.owner, unit };
  throw new SoftquotaError(
    'no_owner',
    `the owner of ${printable(unit.path)} cannot be found; softquota doctor shows the reason`,
  );
}

function answerQuestion(services: GateServices, question: Question): Reply {
  const { ledger } = services;
  const { ownerName, subject, unit, sizeBytes } = question;
  const path = unit?.path ?? null;
  const things = thingsOf(services, question);
  const decided = decidedFirstByDisk(services, { ownerName, subject, path }, () =>
    ledger.decide(ownerName, subject, sizeBytes ?? 0, things),
  );
  return answered(services, question, decided);
}

export function thingsOf(
  { ledger }: Pick<GateServices, 'ledger'>,
  { subject, unit, sizeBytes }: Question,
): ActionThings {
  return { repository: repositoryOf(ledger, unit), incoming: declaredIncoming(subject, sizeBytes) };
}

/** Records a decision, applies it, and puts it into words. */
export function answered(services: GateServices, question: Question, answer: Decided): Reply {
  const { ledger } = services;
  const { subject } = question;
  const { owner, decision } = answer;
  const { settings } = ledger;
  const { mode } = settings;
  const isLetThrough = decision.allowed || mode === 'report';
  const record = { owner: owner.name, subject, actor: question.actor, decision };
  recordDecision(services, record, question.unit?.path);
  if (isLetThrough && question.unit !== null) services.letThrough(question.unit.path);
  return {
    status: isLetThrough ? 200 : 413,
    decision: isLetThrough ? 'allowed' : 'refused',
    json: () => asJson(answer, subject, settings),
    // In report mode the pusher sees no message.
    text: () => (mode === 'report' ? '' : textFor(services, question, answer)),
  };
}

function asJson({ owner, decision }: Decided, subject: Subject, settings: QuotaSettings): object {
  const { mode } = settings;
  return {
    ...verdictWithWords(owner.name, subject, decision),
    allowed: decision.allowed || mode === 'report',
    ...(isOnlyReported(decision, mode) ? { would_refuse: true } : {}),
    owner: owner.name,
    subject,
    ...onItsWay(decision),
    ...(decision.by === 'disk' ? { disk: decision.disk } : {}),
    measured_at: isoTime(owner.measuredAt),
    partial: owner.partial,
    stale: owner.stale,
    mode,
    message: decision.allowed ? standing(owner.name, decision) : refusal(owner.name, subject, decision),
    warning: warning(settings, owner.name, subject, decision),
  };
}

/** Returns a decision as JSON. A refusal by a rule in report mode includes its message. */
function verdictWithWords(ownerName: string, subject: Subject, decision: Decided['decision']): object {
  const verdict = verdictShown(decision);
  const { reported } = decision;
  if (reported === undefined) return verdict;
  return { ...verdict, reported: { ...verdict.reported, message: refusal(ownerName, subject, reported) } };
}

/** Returns true if a refused action passes anyway, because the daemon or the rule is in report mode. */
function isOnlyReported(decision: Decided['decision'], mode: QuotaSettings['mode']): boolean {
  return decision.allowed ? decision.reported !== undefined : mode === 'report';
}

/** Returns bytes that count besides the stored ones; fields with 0 are left out. */
function onItsWay(decision: Decided['decision']): object {
  if (decision.by !== 'rule') return {};
  const { reserved, incoming } = decision;
  return {
    ...(reserved === 0 ? {} : { reserved }),
    ...(incoming === 0 ? {} : { incoming }),
  };
}

function textFor(services: GateServices, { subject, unit }: Question, decided: Decided): string {
  const { owner, decision } = decided;
  if (decision.allowed) return warningText(services.ledger.settings, decided, subject);
  const isPush = unit !== null && isRepository(unit.leaf) && subject !== 'size:git:lfs';
  return refusalText({
    ownerName: owner.name,
    subject,
    decision,
    isPush,
    isJudged: services.worker.isHere,
    room: isPush ? services.worker.roomFor(owner.name, unit.path, decision) : undefined,
    repositoryBytes: isPush ? unit.bytes : null,
    contact: services.contact(),
  });
}

/** An owner, and the unit to which data is added; its path is null if it is unknown. */
export interface GrowthPlace {
  readonly ownerName: string;
  readonly subject: Subject;
  readonly path: string | null;
}

/**
 * Refuses if the unit's disk is too full; without a path, if all disks with such data are too full. Otherwise
 * `byLimits` decides. With quotas switched off the disk refuses nothing.
 */
export function decidedFirstByDisk<Found extends OwnerDecision>(
  { ledger, fullDisk }: Pick<GateServices, 'fullDisk' | 'ledger'>,
  { ownerName, subject, path }: GrowthPlace,
  byLimits: () => Found,
): Found | Decided {
  const disk = ledger.settings.enabled ? fullDisk(path, subject) : null;
  return disk === null ? byLimits() : { owner: ledger.ownerUsage(ownerName), decision: refusedByDisk(disk) };
}

/**
 * Counts a decision in the metrics and records a refusal. This includes a refusal by a rule in report mode,
 * although the action passes. `unitPath` is the repository of a push.
 */
export function recordDecision(
  { ledger, metrics, refused, unasked }: Pick<GateServices, 'ledger' | 'metrics' | 'refused' | 'unasked'>,
  told: Omit<RefusalRecord, 'mode'>,
  unitPath?: string,
): void {
  const { mode } = ledger.settings;
  const { allowed, reported, per = 'owner' } = told.decision;
  const { owner, subject, actor } = told;
  for (const bound of told.decision.unasked ?? []) {
    // Packages and the like are in no repository, so its limit does not concern them.
    if (bound !== 'repository' || isInRepositories(subject)) unasked({ owner, subject, actor, per: bound });
  }
  if (reported !== undefined) {
    metrics?.decided('would_refuse', subject, reported.per ?? 'owner', {
      ...ledger.settings,
      mode: 'report',
    });
    refused({ ...told, decision: reported, mode: 'report' }, unitPath);
    return;
  }
  const result = mode === 'report' ? 'would_refuse' : 'refused';
  metrics?.decided(allowed ? 'allowed' : result, subject, per, ledger.settings);
  if (!allowed) refused({ ...told, mode }, unitPath);
}

function isInRepositories(subject: Subject): boolean {
  return isLeaf(subject) && (isRepository(subject) || subject === 'size:git:lfs');
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
