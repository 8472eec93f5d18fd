/**
 * `POST /v1/push`: may this push go on?
 *
 * First the push is measured: its unit, its lines, its quarantine. Then it is decided in one turn of the
 * event loop, and its bytes count from then on, so that simultaneous pushes count each other.
 */

import { basename } from 'node:path';
import { DayCounts } from '../../day-counts.ts';
import type { Incoming } from '../../quota/index.ts';
import { shortened } from '../../text.ts';
import { within, workInSlices } from '../../turns.ts';
import type { JudgedPush } from '../../wire/index.ts';
import { decidedFirstByDisk, recordDecision, repositoryOf } from '../check.ts';
import { pushRefusalText, refusedInWords, saying, shownText, warningText } from '../refusal-text.ts';
import type { AllowedPush, Decided, GateServices, PushAnswer } from '../services.ts';
import {
  answeredWithinMs,
  explainFile,
  findPlace,
  type Growth,
  incomingBy,
  isInternal,
  leftMs,
  lookMs,
  orByIncoming,
  type PushPlace,
  pushGrowth,
  refsOwner,
  type ServerFacts,
  serverFacts,
  walkedOnce,
} from './facts.ts';
import { isRefused, Judgements, mannerOf } from './judging.ts';
import { type AskedPush, AskedPushes, FoldersUnderWay, RefAllowance } from './memory.ts';
import { fieldOf, linesText, type PushRequest, type RefChanges, readChanges, readPush } from './request.ts';

type PushParts = Omit<GateServices, 'pushQuestions'>;

/** Answers without a text. */
const goOn: PushAnswer = { status: 200, text: '' };
const askAgain: PushAnswer = { status: 202, text: '' };
const notManaged: PushAnswer = { status: 404, text: '' };

/** Milliseconds until the hook has to ask again. Hooks ask at most 40 times within 90 seconds. */
const heldMs = 2500;
/** Hook file of Gitea and Forgejo; softquota's hook is beside it. */
const giteaFile = 'hooks/pre-receive.d/gitea';
/** Assumed bytes of a line in a ref's log. */
const logLineBytes = 512;
const takenBack = 'the push was asked about anew';
/** Limit in bytes for a forge's own first commit: a README, a license, a small template. */
const mostFirstBytes = 20_000;
/** Assumed number of names that are missing in a list that was cut. */
const cutNames = 1000;

const tooManyFolders = 'too many names of refs have a level HEAD, commondir, objects or refs.';

/** Everything that is known about a push before the decision. */
interface MeasuredPush {
  readonly request: PushRequest;
  readonly facts: ServerFacts;
  readonly place: PushPlace;
  readonly lines: string;
  readonly changes: RefChanges;
  /** Existing names that could make a folder a repository together with the pushed ones. */
  readonly existing: readonly string[];
  readonly growth: Growth;
  readonly incoming: Incoming;
  /** Key of the push among those of its unit. */
  readonly key: string;
  readonly identity: string;
  /** Time of the question on the monotonic clock. */
  readonly askedAt: number;
}

export class PushQuestions {
  readonly #parts: PushParts;
  readonly #asked = new AskedPushes();
  readonly #judgements: Judgements;
  readonly #foldersUnderWay = new FoldersUnderWay();
  readonly #refs = new RefAllowance();
  /** Pushes into directories that are not units, which always pass; those that became units are forgotten. */
  readonly #unmanaged = new DayCounts<{ readonly path: string }>();
  #isClosed = false;

  constructor(parts: PushParts) {
    this.#parts = parts;
    const { ledger, worker } = parts;
    this.#judgements = new Judgements({
      link: worker.link,
      ownerOf: path => ledger.units.unit(path)?.owner ?? null,
      isRefused: path => isRefused(ledger, path),
    });
  }

  /** Rejects with `bad_parameter` if the hook is at fault, `not_ready` if the disk does not answer. */
  async answer(body: Buffer): Promise<PushAnswer> {
    const askedAt = performance.now();
    const request = readPush(body);
    if (request === null) return refusedInWords('the environment of this push is too large to be checked.');
    const facts = serverFacts(request.fields);
    const answer = await this.#answerOf(request, facts, askedAt);
    return { ...answer, text: shownText(answer.text, facts.prefix) };
  }

  /** Pushes that passed because their directories are not units. */
  get unmanaged(): DayCounts<{ readonly path: string }>['list'] {
    return this.#unmanaged.list;
  }

  /** Makes hooks that wait for a judgement ask again, so that the next daemon answers them. */
  close(): void {
    this.#isClosed = true;
    this.#judgements.close();
  }

  async #answerOf(request: PushRequest, facts: ServerFacts, askedAt: number): Promise<PushAnswer> {
    const found = await findPlace(this.#parts, facts);
    const { directory } = facts;
    // gitolite's own configuration has the hooks, but no owner.
    const isUnmanaged = found === 'no unit' && basename(directory) !== 'gitolite-admin.git';
    if (request.hook === 'pre-receive') {
      if (isUnmanaged) this.#unmanaged.note(directory, { path: directory });
      else this.#unmanaged.forget(directory);
    }
    let place = typeof found === 'string' ? null : found;
    if (request.hook === 'post-receive') return this.#arrived(request, place);
    if (place === null) return notManaged;
    place = await walkedOnce(this.#parts, place);
    this.#parts.worker.gitUsed(fieldOf(request.fields, 'GIT_EXEC_PATH'));
    if (request.hook === 'receive-pack') return this.#beforeUpload(place, facts);
    const lines = await workInSlices(linesText(request.lines));
    const changes = await workInSlices(readChanges(lines));
    const { unit } = place;
    if (!request.isCut && changes.created + changes.updated === 0) {
      // The certificate of a signed push stays even if a later hook refuses.
      if (unit !== null && isSigned(request)) this.#parts.letThrough(unit.path);
      return goOn;
    }
    const { tooDeep, folders } = changes;
    if (tooDeep !== null) {
      const name = shortened(tooDeep);
      return refusedInWords(`${name} has more than 50 levels. Names with more than 50 levels are refused.`);
    }
    if (folders.areTooMany) return refusedInWords(tooManyFolders);
    const { wanted } = folders;
    const existing =
      wanted.length === 0 || unit === null ? [] : await this.#parts.pushes.existingNames(unit.path, wanted);
    const { arriving } = facts;
    const look =
      arriving.in === 'quarantine' && unit !== null
        ? await this.#parts.pushes.look(unit.path, arriving.name, lookMs(askedAt))
        : null;
    const growth = pushGrowth(changes, arriving, look);
    const key = arriving.in === 'quarantine' ? `quarantine ${arriving.name}` : request.digest;
    const identity = `${request.digest} ${growth.seen}`;
    const base = { request, facts, place, lines, changes, existing, growth, key, identity, askedAt };
    if (await this.#isForges(base)) {
      this.#begin(base);
      return goOn;
    }
    const earlier = this.#asked.find(unit?.path ?? directory, key);
    if (earlier?.identity === identity) return this.#held(earlier.answer, askedAt);
    const incoming = await incomingBy(this.#parts, { place, arriving, look, askedAt });
    return this.#ask({ ...base, incoming });
  }

  async #arrived({ lines }: PushRequest, place: PushPlace | null): Promise<PushAnswer> {
    const unit = place?.unit?.path;
    if (unit !== undefined) {
      this.#parts.pushes.arrived(unit, await workInSlices(linesText(lines)));
      this.#parts.worker.changed(unit);
    }
    return askAgain;
  }

  /** Decides before the upload without a size; pre-receive decides again when the objects have arrived. */
  #beforeUpload(place: PushPlace, { actor }: ServerFacts): PushAnswer {
    this.#parts.worker.askedEarly();
    const decided = this.#decide(place, 0);
    if (decided.decision.allowed || this.#settings.mode === 'report') return goOn;
    this.#record(place, actor, decided);
    // There are no objects yet that could be judged.
    return { status: 413, text: pushRefusalText(this.#parts, place, decided, { isJudged: false }) };
  }

  /** Returns why names of refs are refused; null: they are not, and other pushes see them from now on. */
  #folderFault({ changes: { folders }, existing }: MeasuredPush, unit: string): string | null {
    if (folders.written.length === 0) return null;
    const folder = folders.repositoryWith([...existing, ...this.#foldersUnderWay.names(unit)]);
    if (folder !== null) {
      return `git would take ${shortened(folder)} for a repository of its own. Choose other names.`;
    }
    return this.#foldersUnderWay.add(unit, folders.written) ? null : tooManyFolders;
  }

  /** Returns true if the forge itself pushes, to open a pull request or to initialize a repository. */
  async #isForges({ request, changes, place, growth }: Omit<MeasuredPush, 'incoming'>): Promise<boolean> {
    const { created, updated, deleted } = changes;
    const isSmall = growth.quarantine !== null && growth.bytes <= mostFirstBytes;
    // Apart from pull requests, the forge itself pushes only into new repositories: a README, a template.
    const isFirst = created === 1 && updated + deleted === 0 && isSmall;
    if (request.isCut || place.unit === null || !isInternal(request.fields)) return false;
    if (!changes.arePulls && !isFirst) return false;
    const { pushes } = this.#parts;
    const found = await pushes.existingNames(place.unit.path, [giteaFile]);
    return found.length > 0 && (changes.arePulls || !(await pushes.hasRefs(place.unit.path)));
  }

  /** Decides without an interruption, so that simultaneous pushes count each other. */
  #ask(push: MeasuredPush): Promise<PushAnswer> {
    const { place, key, identity, askedAt } = push;
    const unit = place.unit?.path ?? push.facts.directory;
    const earlier = this.#asked.find(unit, key);
    if (earlier?.identity === identity) return this.#held(earlier.answer, askedAt);
    const fault = this.#folderFault(push, unit);
    if (fault !== null) return Promise.resolve(refusedInWords(fault));
    const before = earlier === null ? null : this.#takeBack(earlier, unit, push.growth);
    const { promise: answer, resolve, reject } = Promise.withResolvers<PushAnswer>();
    const asked: AskedPush = { identity, answer, allowed: null, over: new AbortController() };
    this.#asked.remember(unit, key, asked, push.lines.length);
    this.#answerNew(push, asked, before).then(resolve, reject);
    answer.catch(() => this.#asked.forget(unit, key, asked));
    return this.#held(answer, askedAt);
  }

  /**
   * Cancels the earlier answer to a push that is asked about anew. Returns the earlier push if it was allowed
   * with the same quarantine: it may still go on, since its hook has its answer.
   */
  #takeBack(earlier: AskedPush, unit: string, growth: Growth): AllowedPush | null {
    // A given reason avoids the cost of an exception with a stack.
    earlier.over.abort(takenBack);
    const { allowed } = earlier;
    if (allowed === null || allowed.name === null) return null;
    this.#parts.pushes.withdraw(unit, allowed.name);
    return allowed.quarantine?.id === growth.quarantine?.id ? allowed : null;
  }

  #held(answer: Promise<PushAnswer>, askedAt: number): Promise<PushAnswer> {
    return within(answer, Math.min(heldMs, leftMs(askedAt, answeredWithinMs)), askAgain);
  }

  async #answerNew(push: MeasuredPush, asked: AskedPush, before: AllowedPush | null): Promise<PushAnswer> {
    const { place, growth, facts } = push;
    const decided = this.#decide(place, growth.bytes, push.incoming);
    const { decision } = decided;
    if (decision.allowed || this.#settings.mode === 'report') {
      if (decision.allowed) this.#refs.reset(refsOwner(place));
      asked.allowed = this.#begin(push);
      if (!growth.grows) return goOn;
      this.#record(place, facts.actor, decided);
      return { status: 200, text: warningText(this.#settings, decided) };
    }
    if (before !== null) this.#parts.pushes.begin(before);
    asked.allowed = before;
    if (!growth.grows) {
      const areFew = await this.#areFewRefs(push, asked.over.signal);
      if (asked.over.signal.aborted || (this.#isClosed && !areFew)) return askAgain;
      if (areFew) {
        asked.allowed = this.#begin(push);
        return goOn;
      }
    }
    return this.#judgeOrRefuse(push, asked, decided);
  }

  /** Returns true if a push without objects may write its refs over the limit, and counts them. */
  async #areFewRefs(push: MeasuredPush, over: AbortSignal): Promise<boolean> {
    const { place, growth, changes, request } = push;
    const { unit } = place;
    // Without a unit nothing can be measured: the server itself says here that the push brings no objects.
    if (unit === null) return true;
    if (this.#settings.garbage === 'forgive') {
      const bringsBack = await this.#judgements.bringsBack(
        this.#task(push, unit.path, 'any'),
        push.askedAt,
        over,
      );
      if (bringsBack) return false;
    }
    const hasLogs =
      growth.quarantine !== null && (await this.#parts.pushes.existingNames(unit.path, ['logs'])).length > 0;
    if (this.#judgements.isUnderWay(unit.path)) return false;
    if (growth.quarantine === null) return true;
    const written = changes.created + changes.updated;
    const names = (hasLogs ? written : changes.created) + (request.isCut ? cutNames : 0);
    const bytes = changes.createdCharacters + (hasLogs ? written * logLineBytes : 0);
    return this.#refs.take(refsOwner(place), unit.path, { names, bytes });
  }

  async #judgeOrRefuse(push: MeasuredPush, asked: AskedPush, first: Decided): Promise<PushAnswer> {
    const { place, facts, growth, request } = push;
    const { ledger, pushes, worker } = this.#parts;
    // A push that removes history still has to respect the limits of pushes and files.
    const mayPass = mannerOf(first.decision, place.leaf, growth.bytes) !== null && mayBeJudged(push);
    const decided = mayPass ? orByIncoming(ledger, place.leaf, push.incoming, first) : first;
    const over = asked.over.signal;
    const unit = place.unit?.path ?? null;
    const manner = mannerOf(decided.decision, place.leaf, growth.bytes);
    let notice = '';
    if (unit !== null && this.#judgements.isUnderWay(unit)) {
      notice = 'another push that makes this repository smaller is under way; try again when it has ended.';
    } else if (unit !== null && manner !== null && mayBeJudged(push)) {
      const judged = await this.#judgements.judge(this.#task(push, unit, manner), push.askedAt, over);
      notice = judged.words;
      if (over.aborted || this.#isClosed) return askAgain;
      if (judged.smaller) {
        asked.allowed = this.#begin(push);
        return { status: 200, text: saying(notice) };
      }
    }
    const task = unit === null ? null : this.#task(push, unit, 'any');
    const { advice, ...explained } = await explainFile(decided, worker, task, push.askedAt);
    this.#record(place, facts.actor, explained);
    // git writes the certificate of a signed push before the hook runs, outside of the quarantine.
    if (unit !== null && isSigned(request)) pushes.measure(unit);
    // The quarantine shows that this user may read the repository: others cannot name it.
    const space = unit === null || growth.quarantine === null ? [] : worker.spaceLines(unit);
    const deniesForce = unit !== null && worker.isHere && (await pushes.deniesForce(unit));
    const words = { deniesForce, space, advice, bringsBytes: growth.bytes };
    const text = pushRefusalText(this.#parts, place, explained, words);
    return { status: 413, text: text + saying(notice) };
  }

  #task(
    { lines, facts, request, growth }: MeasuredPush,
    unit: string,
    manner: JudgedPush['manner'],
  ): JudgedPush {
    const execPath = fieldOf(request.fields, 'GIT_EXEC_PATH');
    const { name: quarantine } = growth;
    return { path: unit, quarantine, lines, manner, hidden: facts.hidden, exec_path: execPath };
  }

  /** Counts the push from now on. Returns it if its end can be noticed. */
  #begin({ place, growth, lines, facts, request }: Omit<MeasuredPush, 'incoming'>): AllowedPush | null {
    const { pushes, worker, letThrough } = this.#parts;
    const { unit } = place;
    if (unit === null) return null;
    const { quarantine, name } = growth;
    if (name === null || isSigned(request)) letThrough(unit.path);
    if (name === null) {
      if (facts.arriving.in !== 'nothing') pushes.measure(unit.path);
      return null;
    }
    worker.letThrough(unit.path);
    const allowed = { unit, quarantine, name, lines };
    pushes.begin(allowed);
    return allowed;
  }

  #decide({ ownerName, leaf, unit }: PushPlace, bytes: number, incoming?: Incoming): Decided {
    const { ledger } = this.#parts;
    return decidedFirstByDisk(this.#parts, { ownerName, subject: leaf, path: unit?.path ?? null }, () =>
      ledger.decide(ownerName, leaf, bytes, { incoming, repository: repositoryOf(ledger, unit) }),
    );
  }

  #record({ leaf, unit }: PushPlace, actor: string, { owner, decision }: Decided): void {
    recordDecision(this.#parts, { owner: owner.name, subject: leaf, actor, decision }, unit?.path);
  }

  get #settings() {
    return this.#parts.ledger.settings;
  }
}

function isSigned({ fields }: PushRequest): boolean {
  return fieldOf(fields, 'GIT_PUSH_CERT') !== '';
}

/** Returns true if the push removes data. A cut list hides changes; a namespace hides names of refs. */
function mayBeJudged({ request, changes, facts, growth }: MeasuredPush): boolean {
  const isKnown = facts.arriving.in === 'nothing' || growth.name !== null;
  const takesAway = changes.deleted + changes.updated > 0;
  return isKnown && takesAway && !request.isCut && fieldOf(request.fields, 'GIT_NAMESPACE') === '';
}
