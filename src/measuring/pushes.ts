/**
 * Pushes under way: their bytes count from the moment they are allowed. A quarantine that no check asked
 * about counts after a minute.
 *
 * A push ends when its quarantine is gone. So the quarantines of a repository are checked in growing
 * intervals while there are any, and right before and right after each walk. The end of a push causes a walk,
 * whose result replaces the bytes of the push. All of it is only in memory: after a restart, the next walk
 * counts.
 */

import { messageOf, SoftquotaError } from '../errors.ts';
import type { AllowedPush, PushServices, PushWorker } from '../gate/index.ts';
import { coarsestTimeMs, type LargeBlobsLook, type QuarantineLook, quarantinePath } from '../layout/index.ts';
import type { Ledger } from '../ledger/index.ts';
import { isRepository } from '../quota/index.ts';
import type { FoundQuarantines, Measure, PushFacts, Scanner, UnitPushes } from '../scan/index.ts';
import { type AlarmClock, inSlices, monotonicClock, within } from '../turns.ts';
import {
  areDeletions,
  minuteMs,
  PushBook,
  releaseElsewhere,
  reserveElsewhere,
  UnsureUnits,
} from './push-book.ts';

export interface PushClock extends AlarmClock {
  /** Milliseconds since 1970. */
  wall(): number;
}

interface PushesOptions {
  readonly scanner: () => Pick<Scanner, 'ask' | 'hasOwnTimes' | 'links' | 'measureSoon' | 'objectsOf'>;
  readonly ledger: Pick<Ledger, 'documents' | 'ownerUsage' | 'reservations' | 'units' | 'walks'>;
  /** The git user's worker, which may read what the daemon may not; null: there is none. */
  readonly worker: Pick<PushWorker, 'isHere' | 'largeFiles' | 'quarantine'> | null;
  /** `[scan] MEASURE`. */
  measure(): Measure;
  /** Tells whether another host walks a unit. */
  isElsewhere(unit: string): boolean;
  /** Walks a unit at once. */
  measureSoon(unit: string): void;
  /** Walks a unit when what a check allowed may have arrived. */
  letThrough(unit: string): void;
  /** Called when a unit counts more bytes, which the free space of its disk may not show yet. */
  grew(unit: string, bytes: number): void;
  /** Called when a push has ended, whether it was accepted or not. */
  ended(unit: string): void;
  readonly clock?: PushClock;
}

interface Watched {
  readonly book: PushBook;
  /** Bytes of pushes and strays that the ledger's figure includes. */
  counted: number;
  stepMs: number;
  cancel: () => void;
}

const firstStepMs = 250;
const longestStepMs = 10_000;
const lookDeadlineMs = 5000;
const passDeadlineMs = 30_000;
const firstWalkMs = 2000;
const unitsPerQuestion = 1000;
/** Pushes beyond these numbers are counted by walks alone. */
const mostPushesEach = 10_000;
const mostUnits = 20_000;

const systemClock: PushClock = { ...monotonicClock, wall: () => Date.now() };

export class Pushes implements PushServices, UnitPushes {
  readonly #options: PushesOptions;
  readonly #clock: PushClock;
  readonly #watched = new Map<string, Watched>();
  readonly #unsure = new UnsureUnits();
  #passedAt: number;
  #endPass = () => {};
  #isClosed = false;

  constructor(options: PushesOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#passedAt = this.#clock.now();
  }

  /** Searches for quarantines that no check asks about, every minute from now on. */
  start(): void {
    this.#endPass = this.#clock.after(minuteMs, () => {
      void this.pass().finally(() => {
        if (!this.#isClosed) this.start();
      });
    });
  }

  async look(unit: string, name: string, deadlineMs: number): Promise<QuarantineLook> {
    const path = quarantinePath(unit, name, this.#scanner.objectsOf(unit));
    if (path === null) return { is: 'absent' };
    const begun = this.#clock.now();
    const sight = await this.#scanner
      .ask('quarantine', [path, this.#options.measure()], unit, deadlineMs)
      .catch(() => ({ is: 'unreadable' }) as const);
    const look = await this.#orByWorker(sight, unit, name, deadlineMs - (this.#clock.now() - begun));
    const watched = this.#watched.get(unit);
    watched?.book.asked(name, this.#clock.now());
    this.#recount(unit);
    return look.is === 'seen' ? { is: 'seen', quarantine: { ...look.quarantine, name } } : look;
  }

  async largeFiles(
    unit: string,
    name: string,
    overBytes: number,
    deadlineMs: number,
  ): Promise<LargeBlobsLook> {
    const objects = this.#scanner.objectsOf(unit);
    const quarantine = quarantinePath(unit, name, objects);
    if (quarantine === null) return { is: 'unknown', why: 'the quarantine is none of git' };
    const begun = this.#clock.now();
    // The thread gives up before our deadline, so that it need not be abandoned.
    const question = { quarantine, objects, overBytes, deadlineMs: 0.9 * deadlineMs };
    const look = await this.#scanner
      .ask('large blobs', [question], unit, deadlineMs)
      .catch((error: unknown): LargeBlobsLook => ({ is: 'unknown', why: messageOf(error) }));
    const leftMs = deadlineMs - (this.#clock.now() - begun);
    const { worker } = this.#options;
    if (look.is === 'seen' || worker?.isHere !== true || leftMs <= 0) return look;
    return (await worker.largeFiles(unit, name, overBytes, leftMs)) ?? look;
  }

  begin(push: AllowedPush): void {
    const { unit, quarantine, name, lines } = push;
    if (unit.isElsewhere === true) {
      reserveElsewhere(this.#options.ledger, push);
      this.#options.letThrough(unit.path);
      return;
    }
    const pushes = this.#watched.get(unit.path)?.book.pushCount ?? 0;
    const isTooMany = pushes >= mostPushesEach || (pushes === 0 && this.#watched.size >= mostUnits);
    if (name === null || isTooMany) {
      this.#isUnsureOf(unit.path);
      this.#options.letThrough(unit.path);
      return;
    }
    const watched = this.#watch(unit.path);
    watched.book.begin({ name, quarantine, lines }, this.#nextSeq(), this.#clock.now());
    this.#recount(unit.path, unit);
    this.#lookSoon(unit.path, watched);
  }

  withdraw(unit: string, name: string): void {
    this.#watched.get(unit)?.book.withdraw(name, this.#clock.now());
    this.#recount(unit);
    releaseElsewhere(this.#options.ledger, unit, name);
  }

  arrived(unit: string, lines: string): void {
    const isListed = this.#watched.get(unit)?.book.arrived(lines, this.#clock.now()) === true;
    if (!isListed && !areDeletions(lines)) this.#isUnsureOf(unit);
    this.#recount(unit);
    this.#options.measureSoon(unit);
  }

  async firstWalk(unit: string): Promise<void> {
    await within(this.#scanner.measureSoon(unit), firstWalkMs, null);
  }

  measure(unit: string): void {
    this.#isUnsureOf(unit);
    this.#options.measureSoon(unit);
  }

  async existingNames(unit: string, prefixes: readonly string[]): Promise<readonly string[]> {
    const found = await this.#scanner.ask('existing names', [unit, prefixes], unit, lookDeadlineMs);
    if (found === null) throw new SoftquotaError('not_ready', 'the refs of the repository cannot be read');
    return found;
  }

  hasRefs(unit: string): Promise<boolean> {
    return this.#scanner.ask('has refs', [unit], unit, lookDeadlineMs).catch(() => true);
  }

  deniesForce(unit: string): Promise<boolean> {
    // Only the wording of a message depends on it.
    return this.#scanner.ask('denies force', [unit], unit, lookDeadlineMs).catch(() => false);
  }

  /** Checks the quarantines of a unit at once, after a report that one is gone. */
  lookAgain(unit: string): void {
    const watched = this.#watched.get(unit);
    if (watched !== undefined) this.#lookSoon(unit, watched, 0);
  }

  listed(unit: string): PushBook['listed'] {
    return this.#watched.get(unit)?.book.listed ?? [];
  }

  walked(unit: string, seq: number, { before, after }: Parameters<UnitPushes['walked']>[2]): PushFacts {
    const isUnsure = this.#unsure.take(unit, seq);
    const isKnown = this.#watched.has(unit);
    if (!isKnown && after.there.length === 0) return { takenBytes: 0, hasEnded: false, isUnsure };
    const { book } = this.#watch(unit);
    const now = this.#clock.now();
    const hadEnded = book.saw({ there: [], gone: before.gone }, seq, now, null);
    const hasEnded = book.saw({ there: [], gone: after.gone }, this.#nextSeq(), now, null);
    if (hadEnded || hasEnded) this.#options.ended(unit);
    const facts = book.walked(seq, now);
    this.#saw(unit, { there: after.there, gone: [] });
    // The caller records the walk's result next, with these bytes added.
    const watched = this.#watched.get(unit);
    if (watched !== undefined) watched.counted = book.bytes(now);
    return { ...facts, isUnsure: facts.isUnsure || isUnsure };
  }

  /** Returns the bytes of a unit's pushes and strays, which count beside its last walk. */
  bytesOf(unit: string): number {
    return this.#watched.get(unit)?.counted ?? 0;
  }

  /** Returns the bytes of a unit without its pushes and strays; undefined: the unit is not known. */
  withoutThem(unit: string): number | undefined {
    const bytes = this.#options.ledger.units.unit(unit)?.bytes;
    return bytes === undefined ? undefined : Math.max(0, bytes - this.bytesOf(unit));
  }

  forget(unit: string): void {
    this.#watched.get(unit)?.cancel();
    this.#watched.delete(unit);
    this.#unsure.forget(unit);
  }

  /** Totals of the quarantines that count and belong to no push; `oldestMs`: null if there are none. */
  get strays() {
    const now = this.#clock.now();
    const all = [...this.#watched.values()].flatMap(({ book }) => book.strays(now));
    return {
      bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
      oldestMs: all.length === 0 ? null : Math.max(...all.map(({ ageMs }) => ageMs)),
    };
  }

  /** Looks for new quarantines in all repositories whose `objects` has changed since the last pass. */
  async pass(): Promise<void> {
    const { ledger } = this.#options;
    const now = this.#clock.now();
    const before = this.#passedAt;
    const since = this.#clock.wall() - (now - before) - coarsestTimeMs;
    this.#passedAt = now;
    let isAnswered = true;
    const units: string[] = [];
    await inSlices(ledger.units.walkedBefore(Number.POSITIVE_INFINITY), ({ name, leaf }) => {
      // Times on a network file system come from another clock, and each look costs a request to a server.
      if (isRepository(leaf) && this.#scanner.hasOwnTimes(name)) units.push(name);
    });
    for (let at = 0; at < units.length; at += unitsPerQuestion) {
      const isSeen = await this.#passOver(units.slice(at, at + unitsPerQuestion), since);
      isAnswered &&= isSeen;
    }
    // The next pass looks for what came since the last one that was answered.
    if (!isAnswered) this.#passedAt = before;
  }

  close(): void {
    this.#isClosed = true;
    this.#endPass();
    for (const { cancel } of this.#watched.values()) cancel();
    this.#watched.clear();
  }

  /** Returns false if the disk did not answer. */
  async #passOver(units: readonly string[], since: number): Promise<boolean> {
    const [first = '/'] = units;
    const links = this.#scanner.links();
    const found = await this.#scanner
      .ask('new quarantines', [units, since, this.#options.measure(), links], first, passDeadlineMs)
      .catch(() => null);
    if (this.#isClosed) return true;
    for (const { unit, there } of found ?? []) {
      this.#saw(unit, { there, gone: [] });
      this.#recount(unit);
    }
    return found !== null;
  }

  async #orByWorker(
    sight: QuarantineLook,
    unit: string,
    name: string,
    deadlineMs: number,
  ): Promise<QuarantineLook> {
    const { worker } = this.#options;
    if (sight.is !== 'unreadable' || worker?.isHere !== true || deadlineMs <= 0) return sight;
    const quarantine = await worker.quarantine(unit, name, deadlineMs);
    return quarantine === null ? sight : { is: 'seen', quarantine };
  }

  get #scanner(): ReturnType<PushesOptions['scanner']> {
    return this.#options.scanner();
  }

  #nextSeq(): number {
    return this.#options.ledger.walks.nextSeq();
  }

  #isUnsureOf(unit: string): void {
    if (this.#options.isElsewhere(unit)) return;
    const leaf = this.#options.ledger.units.unit(unit)?.leaf;
    if (leaf !== undefined && !isRepository(leaf)) return;
    this.#unsure.add(unit, this.#nextSeq());
  }

  #watch(unit: string): Watched {
    const known = this.#watched.get(unit);
    if (known !== undefined) return known;
    const watched = { book: new PushBook(), counted: 0, stepMs: firstStepMs, cancel: () => {} };
    this.#watched.set(unit, watched);
    return watched;
  }

  /** Takes the findings of a look. If a push has ended, a walk begins. */
  #saw(unit: string, seen: FoundQuarantines): void {
    const watched = this.#watch(unit);
    const { book } = watched;
    const before = book.listed.length;
    const wall = this.#scanner.hasOwnTimes(unit) ? this.#clock.wall() : null;
    const hasEnded = book.saw(seen, this.#nextSeq(), this.#clock.now(), wall);
    if (hasEnded) {
      this.#options.ended(unit);
      this.#options.measureSoon(unit);
    }
    if (book.listed.length > before) this.#lookSoon(unit, watched);
  }

  #lookSoon(unit: string, watched: Watched, afterMs = firstStepMs): void {
    watched.stepMs = firstStepMs;
    this.#lookAfter(unit, watched, afterMs);
  }

  #lookAfter(unit: string, watched: Watched, afterMs: number): void {
    watched.cancel();
    if (this.#isClosed) return;
    watched.cancel = this.#clock.after(afterMs, () => void this.#look(unit, watched));
  }

  async #look(unit: string, watched: Watched): Promise<void> {
    const { measure, worker } = this.#options;
    const { book } = watched;
    const objects = this.#scanner.objectsOf(unit);
    const seen = await this.#scanner
      .ask('quarantines', [unit, book.listed, measure(), objects], unit, lookDeadlineMs)
      .catch(() => null);
    const isHere = () => this.#watched.get(unit) === watched && !this.#isClosed;
    if (!isHere()) return;
    book.endOld(this.#clock.now());
    if (seen !== null) this.#saw(unit, seen);
    for (const name of worker?.isHere === true ? book.unreadable : []) {
      const quarantine = await worker?.quarantine(unit, name, lookDeadlineMs);
      if (quarantine) book.measured(quarantine);
    }
    if (!isHere()) return;
    this.#recount(unit);
    if (book.listed.length === 0) this.#restAfter(unit, watched);
    else this.#lookAfter(unit, watched, watched.stepMs);
    watched.stepMs = Math.min(2 * watched.stepMs, longestStepMs);
  }

  /** Forgets an idle book after a minute, in which a post-receive may still come. */
  #restAfter(unit: string, watched: Watched): void {
    watched.cancel();
    watched.cancel = this.#clock.after(minuteMs, () => {
      if (!watched.book.isActive) {
        this.#watched.delete(unit);
        return;
      }
      // The walk that should have counted the ended pushes has failed.
      this.#options.measureSoon(unit);
      this.#restAfter(unit, watched);
    });
  }

  /** Updates the ledger's figure of the unit by what its pushes count now. */
  #recount(unit: string, located: AllowedPush['unit'] | null = null): void {
    const watched = this.#watched.get(unit);
    if (watched === undefined) return;
    const bytes = watched.book.bytes(this.#clock.now());
    const more = bytes - watched.counted;
    watched.counted = bytes;
    if (more > 0) this.#options.grew(unit, more);
    if (more !== 0 || located?.bytes === null) this.#options.ledger.walks.adjustBytes(unit, more, located);
  }
}
