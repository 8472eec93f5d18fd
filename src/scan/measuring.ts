/**
 * From the results of walks to what is reported: holds back rises that may be none, and tells a
 * unit that is gone from one that is only out of sight.
 */

import { isWithin, type Layout } from '../layout/index.ts';
import type { Hangs } from './hangs.ts';
import type { IoWorkers } from './io-workers.ts';
import { measurementOf, type SweptRoot } from './measurement.ts';
import type { ScanContext, SweepTask, TaskResult, WalkedUnit } from './messages.ts';
import type { Mounts } from './mounts.ts';
import type { ScannerOptions } from './options.ts';
import { Pool } from './pool.ts';
import { type Candidate, type HeldRise, RiseConfirmation, type WalkReason } from './rise-confirmation.ts';
import { RootCheck } from './root-check.ts';
import { unitStandingAfter } from './roots.ts';
import { monotonic } from './shared.ts';
import { type TargetOutcome, Targets } from './targets.ts';
import type { Start } from './walker-handle.ts';

export interface MeasuringOptions {
  readonly scanner: ScannerOptions;
  readonly context: () => ScanContext;
  readonly cacheFile: () => string | null;
  readonly ioWorkers: Pick<IoWorkers, 'take'>;
  readonly hangs: Hangs;
  readonly hungAfterMs: number;
  readonly mounts: Mounts;
  /** Called where a root is not as it should be, though no sweep has told so yet. */
  readonly onDoubt: () => void;
}

const nothing: ReadonlySet<string> = new Set();

export class UnitMeasuring {
  readonly pool: Pool;
  readonly #scanner: ScannerOptions;
  readonly #riseConfirmation: RiseConfirmation;
  readonly #targets: Targets;
  readonly #rootCheck: RootCheck;
  readonly #onDoubt: () => void;
  #rootsAway: ReadonlySet<string> = new Set();
  #hasGone = true;

  constructor({
    scanner,
    context,
    cacheFile,
    ioWorkers,
    hangs,
    hungAfterMs,
    mounts,
    onDoubt,
  }: MeasuringOptions) {
    const { workers, knownBytes, nextSeq, log, code } = scanner;
    this.#scanner = scanner;
    this.#onDoubt = onDoubt;
    this.#rootCheck = new RootCheck({ knownUnits: scanner, context, ioWorkers, hangs });
    this.pool = new Pool({
      size: workers,
      cacheFile,
      code: code?.walker,
      context,
      knownBytes,
      knownFiles: path => (mounts.isLocal(path) ? scanner.knownFiles?.(path) : undefined),
      nextSeq,
      hangs,
      hungAfterMs,
      deviceOf: path => mounts.deviceOf(path),
      warn: (details, message) => log.warn(details, message),
    });
    this.#targets = new Targets(this.pool, (path, result, start, origin) =>
      this.#settle(path, result, start, origin),
    );
    this.#riseConfirmation = new RiseConfirmation({
      walkAgain: (path, origin) => void this.measure(path, origin),
      log: (details, message) => log.info(details, message),
    });
  }

  /** Walks whatever unit is at this path, and then the units inside it. Never rejects. */
  measure(path: string, origin: WalkReason): Promise<TargetOutcome> {
    return this.#targets.measure(path, origin);
  }

  /**
   * Walks a unit that a sweep has found; `walked` is told what the first walk came to, and `settled` what
   * counts, without a promise where that is known at once: a sweep has many units, most of them unchanged.
   */
  sweep(
    task: SweepTask,
    walked: (result: TaskResult) => void,
    settled: (outcome: TargetOutcome) => void,
  ): void {
    const { path } = task.unit;
    const failed = (error: unknown): void => {
      this.#scanner.log.error({ path, err: error }, 'a measurement could not be recorded');
      settled('unread');
    };
    this.pool.add({
      task,
      urgency: 'sweep',
      done: (result, start) => {
        walked(result);
        const isCounted =
          'bytes' in result && this.#riseConfirmation.takeAtOnce(this.#candidate(result, start, 'sweep'));
        if (isCounted) settled('counted');
        else if (result.outcome === 'vanished') void this.measure(path, 'sweep').then(settled);
        else this.#settle(path, result, start, 'sweep').then(settled, failed);
      },
    });
  }

  /** A sweep has told how the roots are. */
  swept(roots: readonly SweptRoot[]): void {
    this.#rootsAway = new Set(roots.filter(({ away }) => away !== null).map(({ path }) => path));
  }

  /** Tells whether units may have gone since this was asked last; before the first time that is not known. */
  takeGone(): boolean {
    const hasGone = this.#hasGone;
    this.#hasGone = false;
    return hasGone;
  }

  /** The units of which not all counts, since it waits for git to finish in them. */
  held(): readonly HeldRise[] {
    return this.#riseConfirmation.all();
  }

  heldAt(path: string): HeldRise | undefined {
    return this.#riseConfirmation.at(path);
  }

  /** Stops walking; gives how many threads had to be left. */
  close(withinMs: number): Promise<number> {
    this.#riseConfirmation.close();
    return this.pool.close(withinMs);
  }

  async #settle(path: string, result: TaskResult, start: Start, origin: WalkReason): Promise<TargetOutcome> {
    const { log } = this.#scanner;
    switch (result.outcome) {
      case 'measured':
      case 'too large': {
        const counted = this.#riseConfirmation.take(this.#candidate(result, start, origin));
        if (origin === 'change') {
          await Promise.all(result.inner.map(inner => this.measure(inner, 'change')));
        }
        const fate = await counted;
        return fate === 'dropped' ? 'unread' : fate;
      }
      case 'none':
        this.#riseConfirmation.drop(path);
        return this.#missing(path, result.layout, start);
      case 'vanished':
        this.#riseConfirmation.drop(path);
        return 'unread';
      case 'unread':
        this.#riseConfirmation.drop(path);
        // A sweep lists it among what it could not read.
        if (origin !== 'sweep')
          log.warn({ path, place: result.path, error: result.error }, 'a unit could not be read');
        return 'unread';
      case 'failed':
        this.#riseConfirmation.drop(path);
        log.error({ path, reason: result.why, stack: result.stack }, 'a unit could not be walked');
        return 'unread';
      case 'hung':
        // The log has this once for the disk, not for each unit on it.
        this.#riseConfirmation.drop(path);
        return 'unread';
      case 'stopped':
        this.#riseConfirmation.drop(path);
        return 'stopped';
    }
  }

  #candidate(walked: WalkedUnit, start: Start, origin: WalkReason): Candidate {
    const { knownBytes: known, report, log } = this.#scanner;
    const { path } = walked.unit;
    const knownBytes = known(path);
    if (walked.outcome === 'too large') {
      log.error(
        { path },
        'the files of a unit together pass 2^53 - 1 bytes; it keeps the bytes it was known with',
      );
    }
    return {
      walked,
      origin,
      milliseconds: monotonic() - start.monotonicMs,
      knownBytes,
      count: bytes => {
        try {
          report(measurementOf(walked, start, walked.outcome === 'too large' ? (knownBytes ?? 0) : bytes));
        } catch (error) {
          log.error({ path, err: error }, 'a measurement could not be recorded');
        }
      },
    };
  }

  /** No unit is at this path: it is gone, unless its storage is. */
  async #missing(path: string, { tracks }: Layout, { seq }: Start): Promise<TargetOutcome> {
    const { knownBytes, report, log } = this.#scanner;
    if (knownBytes(path) === undefined) return 'none';
    // Already reported; the next sweep finds out whether they are back.
    if ([...this.#rootsAway].some(root => isWithin(path, root))) return 'unread';
    const roots = await this.#rootCheck.roots();
    if (roots === null || unitStandingAfter(nothing, nothing, roots)(path) !== 'gone') {
      const reason = roots?.find(({ away }) => away !== null)?.away ?? 'the disk does not answer';
      log.warn(
        { path, reason },
        'a unit is not there, but neither is its storage as it was; it is kept as it was known',
      );
      this.#onDoubt();
      return 'unread';
    }
    this.#hasGone = true;
    report({ gone: path, seq });
    // Asked for one by one: to go through all that is known, once for each of the many units of an owner,
    // takes long.
    const inner = tracks
      .flatMap(({ continuations }) => continuations.map(({ names }) => [path, ...names].join('/')))
      .filter(place => knownBytes(place) !== undefined);
    await Promise.all([...new Set(inner)].map(place => this.measure(place, 'change')));
    return 'gone';
  }
}
