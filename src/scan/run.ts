/** The state of one sweep: its progress, its problems and how it ended. */

import type { Unread } from '../layout/index.ts';
import type { CountedList, Leftover, TaskResult } from './task.ts';

export type SweepKind = 'sweep' | 'verify';

/** Difference between the known figures and those that a `verify` found. */
interface Drift {
  readonly units: number;
  /** Sum of the absolute differences. */
  readonly bytes: number;
}

export interface SweepRequest {
  readonly kind: SweepKind;
  /** Owners whose units are measured, though all units are looked for; all owners unless given. */
  readonly owners?: readonly string[];
  /**
   * Accepts a root that has become another file system or lacks most of its units: drops the missing units.
   */
  readonly acceptMoved?: boolean;
}

interface Progress {
  /** Units measured so far. */
  readonly units: number;
  /** Units to measure, as far as they are found. */
  readonly unitsFound: number;
  /** Tells whether more may be found. */
  readonly discovering: boolean;
  /** Content of the measured units. */
  readonly directories: number;
  readonly files: number;
  readonly bytes: number;
  readonly entriesPerSecond: number;
  readonly bytesPerSecond: number;
  /** Estimated seconds until the end; null: unknown. */
  readonly estimateSeconds: number | null;
}

/** A problem at a path; `what` describes it for people. */
interface WalkFault {
  readonly path: string;
  readonly what: string;
}

/** A sweep, for readers. */
export type ScanRun = Readonly<Omit<Run, 'begin' | 'end' | 'record' | 'compare' | 'widen'>>;

const mostListed = 1000;

/** Keeps the first entries, and counts all. */
class GrowingList<Entry> implements CountedList<Entry> {
  readonly first: Entry[] = [];
  count = 0;

  /** Adds entries; `count`: their number, of which `first` may have only some. */
  add(first: readonly Entry[], count = first.length): void {
    this.count += count;
    this.first.push(...first.slice(0, Math.max(0, mostListed - this.first.length)));
  }
}

export class Run {
  readonly id: number;
  readonly kind: SweepKind;
  /** Null: all owners. */
  owners: readonly string[] | null;
  acceptMoved: boolean;
  state: 'waiting' | 'running' | 'done' | 'stopped' | 'failed' = 'waiting';
  /** Milliseconds since 1970; null before. */
  startedAt: number | null = null;
  finishedAt: number | null = null;
  error: string | null = null;
  /** Only for a finished `verify`. */
  drift: Drift | null = null;
  /** Resolves when it is over, however it ended. */
  readonly done: Promise<void>;

  readonly problems = {
    unread: new GrowingList<Unread>(),
    faults: new GrowingList<WalkFault>(),
    leftovers: new GrowingList<Leftover>(),
  };
  discovering = true;
  unitsFound = 0;
  units = 0;
  /** Units that could not be read and count 0 bytes. */
  unmeasured = 0;

  /** Places where disks did not answer: reported once, and not for each unit. */
  readonly #hungAt = new Set<string>();
  readonly #over = Promise.withResolvers<void>();
  readonly #counts = { directories: 0, files: 0, bytes: 0 };
  #begunMs = 0;
  #overMs: number | null = null;
  /** Entries of an earlier sweep of all owners, from which the end is estimated; null: unknown. */
  #expectedEntries: number | null = null;
  readonly #drift = { units: 0, bytes: 0 };

  constructor(id: number, request: SweepRequest) {
    this.id = id;
    this.kind = request.kind;
    this.owners = request.owners ?? null;
    this.acceptMoved = acceptsAll(request);
    this.done = this.#over.promise;
  }

  /** Merges another request of the same kind into this run, while it waits. */
  widen(request: SweepRequest): void {
    const isWhole = this.owners === null || request.owners === undefined;
    this.owners = isWhole ? null : [...new Set([...(this.owners ?? []), ...(request.owners ?? [])])];
    this.acceptMoved ||= acceptsAll(request);
  }

  /** `before`: the last whole sweep. */
  begin(before: Run | null): void {
    this.state = 'running';
    this.startedAt = Date.now();
    this.#begunMs = performance.now();
    this.#expectedEntries = this.owners === null && before !== null ? before.#entries : null;
  }

  end(state: 'done' | 'stopped' | 'failed', error: string | null = null): void {
    this.state = state;
    this.error = error;
    this.finishedAt = Date.now();
    this.discovering = false;
    this.#overMs = performance.now();
    if (state === 'done' && this.kind === 'verify') this.drift = this.#drift;
    this.#over.resolve();
  }

  /** Adds the result of one unit's walk. */
  record(path: string, result: TaskResult): void {
    if (result.outcome === 'failed') {
      this.problems.faults.add([{ path, what: `it could not be walked: ${result.why}` }]);
    }
    if (result.outcome === 'hung' && !this.#hungAt.has(result.path)) {
      this.#hungAt.add(result.path);
      this.problems.unread.add([{ path: result.path, error: 'ETIMEDOUT' }]);
    }
    if (!('bytes' in result)) return;
    const { outcome, unread, leftovers } = result;
    this.#counts.directories += result.directories;
    this.#counts.files += result.files;
    this.#counts.bytes += result.bytes;
    this.problems.unread.add(unread.first, unread.count);
    this.problems.leftovers.add(leftovers.first, leftovers.count);
    if (outcome === 'too large') {
      this.problems.faults.add([{ path, what: 'the sum of its files exceeds 2^53 - 1 bytes' }]);
    }
  }

  /** Adds the difference between a unit's known and measured bytes to the drift. */
  compare(knownBytes: number, bytes: number): void {
    if (bytes === knownBytes) return;
    this.#drift.units += 1;
    this.#drift.bytes += Math.abs(bytes - knownBytes);
  }

  get #entries(): number {
    return this.#counts.directories + this.#counts.files;
  }

  progress(): Progress {
    const { units, unitsFound, discovering } = this;
    const { directories, files, bytes } = this.#counts;
    const seconds =
      this.state === 'waiting' ? 0 : ((this.#overMs ?? performance.now()) - this.#begunMs) / 1000;
    const perSecond = (amount: number): number => (seconds > 0 ? amount / seconds : 0);
    return {
      units,
      unitsFound,
      discovering,
      directories,
      files,
      bytes,
      entriesPerSecond: perSecond(this.#entries),
      bytesPerSecond: perSecond(bytes),
      estimateSeconds: this.#estimate(seconds),
    };
  }

  #estimate(seconds: number): number | null {
    if (this.state !== 'running') return this.state === 'waiting' ? null : 0;
    const entries = this.#entries;
    const expected = this.#expectedEntries;
    if (expected !== null && entries > 0 && entries < expected)
      return (seconds * (expected - entries)) / entries;
    if (this.discovering || this.units === 0) return null;
    return (seconds * (this.unitsFound - this.units)) / this.units;
  }
}

/** Tells whether one of these runs does, or will do, all that a whole sweep of this kind would. */
export function isCovered(
  kind: SweepKind,
  runs: readonly Pick<ScanRun, 'kind' | 'owners' | 'state'>[],
): boolean {
  return runs.some(
    run =>
      (run.state === 'waiting' || run.state === 'running') &&
      run.owners === null &&
      (run.kind === kind || run.kind === 'verify'),
  );
}

/**
 * Tells whether a request accepts moved roots. One for some owners does not, since the roots hold units of
 * others, too.
 */
function acceptsAll({ acceptMoved = false, owners }: SweepRequest): boolean {
  return acceptMoved && owners === undefined;
}
