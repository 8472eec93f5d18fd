/** `/v1/check`: may this owner start something that grows this kind of data now? */

import { SoftquotaError } from '../errors.ts';
import {
  isRepository,
  type QuotaSettings,
  refusal,
  reportedRefusal,
  type Subject,
  standing,
  warning,
} from '../quota/index.ts';
import { isoTime, printable } from '../text/index.ts';
import { verdictShown } from '../wire/index.ts';
import { type Decided, decidedFirstByDisk, recordDecision } from './decided.ts';
import { actorIn, askedOwnerIn, bytesIn, pathIn, pushIn, subjectIn } from './parameters.ts';
import { refusalText } from './refusal-text.ts';
import type { Parameters, Reply } from './request.ts';
import { type GateServices, knownUnitAt, type LocatedUnit } from './services.ts';

interface Question {
  readonly ownerName: string;
  readonly subject: Subject;
  /** The unit that a path led to; null where an owner was named. */
  readonly unit: LocatedUnit | null;
  readonly sizeBytes: number;
  readonly actor: string;
  /**
   * The push that starts if it is allowed, as hooks of the release before name it; null: it is only asked.
   */
  readonly push: string | null;
}

/** Answers at once, unless a path that is not known yet has to be looked up on the disk. */
export function answerCheck(services: GateServices, parameters: Parameters): Reply | Promise<Reply> {
  const since = performance.now();
  const asked = askedIn(services, parameters);
  if (asked.question !== null) {
    const reply = answerQuestion(services, asked.question);
    services.metrics?.took(performance.now() - since);
    return reply;
  }
  return services.locate(asked.path).then(unit => answerQuestion(services, asked.about(unit)));
}

/** The question, with the unit that a path led to. */
export async function askedQuestion(services: GateServices, parameters: Parameters): Promise<Question> {
  const asked = askedIn(services, parameters);
  return asked.question ?? asked.about(await services.locate(asked.path));
}

type AskedCheck =
  | { readonly question: Question }
  /** The question waits for what this path belongs to. */
  | { readonly question: null; readonly path: string; about(unit: LocatedUnit): Question };

function askedIn({ ledger }: GateServices, parameters: Parameters): AskedCheck {
  const sizeBytes = (parameters.get('size') ?? '') === '' ? 0 : bytesIn(parameters, 'size');
  const actor = actorIn(parameters);
  const push = pushIn(parameters);
  const subject = subjectIn(parameters);
  const text = parameters.get('path') ?? '';
  if (text === '') {
    const ownerName = askedOwnerIn(parameters, ledger);
    if (subject === null) {
      throw new SoftquotaError('bad_parameter', 'subject is missing: it is required with owner');
    }
    return { question: { ownerName, subject, unit: null, sizeBytes, actor, push } };
  }
  const about = (unit: LocatedUnit): Question => ({
    ...ownedBy(unit),
    subject: subject ?? unit.leaf,
    sizeBytes,
    actor,
    push,
  });
  const path = pathIn(text);
  const known = knownUnitAt(ledger, path);
  return known === null ? { question: null, path, about } : { question: about(known) };
}

function ownedBy(unit: LocatedUnit): { readonly ownerName: string; readonly unit: LocatedUnit } {
  if (unit.owner !== null) return { ownerName: unit.owner, unit };
  throw new SoftquotaError(
    'no_owner',
    `the owner of ${printable(unit.path)} cannot be found; softquota doctor shows the reason`,
  );
}

/** Seconds that the bytes of a push count if nothing reports its end. */
const pushSeconds = 60;

/** The id of the reservation of such a push. */
export function pushId(unit: string | null, push: string): string {
  return `push ${unit} ${push}`;
}

function decideOn(services: GateServices, question: Question): Decided {
  const { ledger } = services;
  const { ownerName, subject, unit, push, sizeBytes: bytes } = question;
  const path = unit?.path ?? null;
  return decidedFirstByDisk(services, { ownerName, subject, path }, () => {
    if (push === null) return ledger.decide(ownerName, subject, bytes);
    const parts = [{ id: pushId(path, push), bytes }];
    const action = { ownerName, subject, parts, isReported: false, unit: path, seconds: pushSeconds };
    return ledger.admit(action);
  });
}

function answerQuestion(services: GateServices, question: Question): Reply {
  return answered(services, question, decideOn(services, question));
}

/** Puts a decision into words, on record, and into effect. */
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
    warning: warning(settings, owner.name, decision),
  };
}

/** A decision in short; the refusal by a rule in report mode has its words as well. */
export function verdictWithWords(ownerName: string, subject: Subject, decision: Decided['decision']): object {
  const { reported, ...verdict } = verdictShown(decision);
  if (reported === undefined) return verdict;
  const message = reportedRefusal(ownerName, subject, decision);
  return { ...verdict, reported: { ...reported, message } };
}

/** Tells whether it is let through although it, or a rule in report mode, refuses. */
function isOnlyReported(decision: Decided['decision'], mode: QuotaSettings['mode']): boolean {
  return decision.allowed ? decision.reported?.allowed === false : mode === 'report';
}

/** The bytes that count besides the stored ones; left out where they are 0. */
function onItsWay(decision: Decided['decision']): object {
  if (decision.by !== 'rule') return {};
  const { reserved, incoming } = decision;
  return {
    ...(reserved === 0 ? {} : { reserved }),
    ...(incoming === 0 ? {} : { incoming }),
  };
}

function textFor(services: GateServices, { subject, unit }: Question, { owner, decision }: Decided): string {
  if (decision.allowed) {
    const warned = warning(services.ledger.settings, owner.name, decision);
    return warned === null ? '' : `${warned}\n`;
  }
  const isPush = unit !== null && isRepository(unit.leaf);
  return refusalText({
    ownerName: owner.name,
    subject,
    decision,
    isPush,
    isForgiving: services.ledger.settings.garbage === 'forgive',
    repositoryBytes: isPush ? unit.bytes : null,
    contact: services.contact(),
  });
}
