/**
 * Answers that are ready: a check that was allowed is put into words once, and sent again as it is for as
 * long as all that it rests on is the same.
 *
 * Each time, the owner's figures are compared with those in the ledger's memory, and so are policy, settings
 * and what else the ledger has a number for; only where one of these is another is the owner looked up
 * again, and the unit, too, where units have come, gone or changed hands meanwhile. So no old decision is
 * ever given. Refusals are never kept: each is recorded, and its words depend on more. An answer under a
 * grace is not kept either, since the grace ends by itself.
 */

import type { Ledger, OwnerUsage, UsageMark } from '../ledger/index.ts';
import type { Reply } from './answer.ts';
import { answerKnownCheck, type KnownCheck } from './check.ts';
import { type PlainAnswer, type PlainRequest, plainAnswer, plainRequestAt } from './plain-request.ts';
import { parseForm } from './request.ts';
import type { GateServices } from './services.ts';

/** The answer to one request. */
export interface AnsweredRequest extends Pick<PlainRequest, 'keepsAlive'> {
  readonly answer: PlainAnswer;
  /** Of the request. */
  readonly length: number;
}

interface Prepared extends AnsweredRequest, Pick<KnownCheck, 'path' | 'question' | 'owner'> {
  readonly policy: Ledger['policy'];
  readonly settings: Ledger['settings'];
  /** The mark of the time when all was compared and found to be the same. */
  mark: UsageMark;
  unitsVersion: number;
}

/** Twice as many are kept at most, which takes some 25 MB. */
export const mostRecent = 10_000;

/** A longer request is answered without being kept. */
const longestKept = 384;

export class PreparedAnswers {
  readonly #services: GateServices;
  readonly #keptEnd: string;
  /** Most hooks are told the same: nothing. */
  #silentAnswer: PlainAnswer | null = null;
  /**
   * By the whole request, as clients send the same each time: a request that is here needs no reading. When
   * there are too many recent ones, they become the older ones, and those are forgotten.
   */
  #recent = new Map<string, Prepared>();
  #older = new Map<string, Prepared>();

  /** `keptEnd` ends the head of each answer. */
  constructor(services: GateServices, keptEnd: string) {
    this.#services = services;
    this.#keptEnd = keptEnd;
  }

  /**
   * The answer to the request that begins there; null: it is no plain one, or a path has to be looked up.
   * Throws `SoftquotaError`.
   */
  answerAt(text: string, start: number): AnsweredRequest | null {
    // Most requests come alone.
    const known = start === 0 ? (this.#recent.get(text) ?? this.#older.get(text)) : undefined;
    if (known !== undefined && this.#isCurrent(known)) {
      const { unit, subject } = known.question;
      this.#services.metrics?.decided('allowed', subject, known.settings);
      if (unit !== null) this.#services.letThrough(unit.path);
      return known;
    }
    const request = plainRequestAt(text, start);
    if (request === null) return null;
    if (start === 0 && request.end === text.length) return this.#prepare(text, request);
    // A part of a longer text would keep all of it in memory.
    return this.answerAt(Buffer.from(text.slice(start, request.end), 'latin1').toString('latin1'), 0);
  }

  #isCurrent(prepared: Prepared): boolean {
    const { ledger } = this.#services;
    if (ledger.policy !== prepared.policy || ledger.settings !== prepared.settings) return false;
    const { ownerName, subject, unit } = prepared.question;
    if (this.#services.fullDisk(unit?.path ?? null, subject) !== null) return false;
    if (ledger.units.unitsVersion !== prepared.unitsVersion && !this.#isSameUnit(prepared)) return false;
    if (ledger.isStill(prepared.owner, prepared.mark)) return true;
    const owner = ledger.ownerUsage(ownerName);
    if (!isSame(prepared.owner, owner)) return false;
    prepared.mark = ledger.markOf(owner);
    return true;
  }

  #isSameUnit(prepared: Prepared): boolean {
    const { path, question } = prepared;
    const { units } = this.#services.ledger;
    const unit = path === null ? null : units.unitAt(path);
    if (unit?.name !== question.unit?.path || unit?.owner !== question.unit?.owner) return false;
    if (unit?.leaf !== question.unit?.leaf) return false;
    prepared.unitsVersion = units.unitsVersion;
    return true;
  }

  #prepare(text: string, { query, wantsText, keepsAlive }: PlainRequest): AnsweredRequest | null {
    const { length } = text;
    const { ledger } = this.#services;
    const { policy, settings, units } = ledger;
    const { unitsVersion } = units;
    const found = answerKnownCheck(this.#services, parseForm(query));
    if (found === null) return null;
    const { path, question, owner, decision, reply } = found;
    const answer = this.#answerOf(reply, wantsText);
    const answered = { answer, keepsAlive, length };
    // No two pushes ask the same, and each of them is to be kept in mind.
    if (!decision.allowed || question.push !== null || length > longestKept) return answered;
    // It depends on the time, or each time is recorded.
    if (decision.grace !== undefined || decision.reported !== undefined) return answered;
    if (this.#recent.size >= mostRecent) {
      this.#older = this.#recent;
      this.#recent = new Map();
    }
    const mark = ledger.markOf(owner);
    const prepared = { ...answered, path, question, owner, policy, settings, mark, unitsVersion };
    this.#recent.set(text, prepared);
    return prepared;
  }

  #answerOf(reply: Reply, isText: boolean): PlainAnswer {
    const isSilent = isText && reply.decision === 'allowed' && reply.text() === '';
    if (!isSilent) return plainAnswer(reply, isText, this.#keptEnd);
    this.#silentAnswer ??= plainAnswer(reply, isText, this.#keptEnd);
    return this.#silentAnswer;
  }
}

function isSame(before: OwnerUsage, now: OwnerUsage): boolean {
  return (
    isSameList(before.usage, now.usage) &&
    isSameList(before.unreachable, now.unreachable) &&
    before.reserved === now.reserved &&
    before.id === now.id &&
    before.name === now.name &&
    before.measuredAt === now.measuredAt &&
    before.partial === now.partial &&
    before.stale === now.stale &&
    // The allowances of an owner are another object when one has come or ended.
    before.allowance === now.allowance
  );
}

function isSameList(before: OwnerUsage['unreachable'], now: OwnerUsage['unreachable']): boolean {
  if (before === null || now === null) return before === now;
  return before.every((bytes, index) => bytes === now[index]);
}
