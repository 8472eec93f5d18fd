/**
 * The disks that do not answer.
 *
 * A thread that waits for a disk cannot be ended. What waits for long is noted here by its path, until the
 * disk answers after all; meanwhile everybody keeps away from the file system that the path lies on, so that
 * it holds no other thread.
 */

import { isWithin } from '../layout/index.ts';
import type { Mounts } from './mounts.ts';
import type { ScanLog } from './options.ts';
import { monotonic } from './shared.ts';
import type { WorkerClient } from './worker-client.ts';

/** A place at which a thread waits for a disk. */
export interface Hang {
  readonly path: string;
  /** Where its file system is mounted. */
  readonly mountedAt: string;
  /** How long it has waited. */
  readonly milliseconds: number;
}

export interface HangsOptions {
  readonly mounts: Mounts;
  /** After this time a disk is taken not to answer. */
  readonly hungAfterMs: number;
  readonly log: ScanLog;
  /** Called when a disk answers that was told not to. */
  readonly onAnswer: () => void;
}

/** Those who cannot wait keep away from a file system at which so many wait already, for however short. */
export const mostImpatient = 2;

interface Noted {
  readonly path: string;
  readonly since: number;
  isTold: boolean;
}

export class Hangs {
  readonly #options: HangsOptions;
  readonly #noted = new Set<Noted>();

  constructor(options: HangsOptions) {
    this.#options = options;
  }

  /**
   * Notes a thread that waits since then, on the monotonic clock; gives what is to be called when it has come
   * back.
   */
  note(path: string, since: number): () => void {
    const { hungAfterMs, mounts } = this.#options;
    const noted: Noted = { path, since, isTold: false };
    this.#noted.add(noted);
    void mounts.refresh();
    const timer = setTimeout(() => this.#tell(noted), Math.max(0, since + hungAfterMs - monotonic())).unref();
    return () => {
      if (!this.#noted.delete(noted)) return;
      clearTimeout(timer);
      if (!noted.isTold) return;
      this.#options.log.warn({ path, seconds: secondsSince(since) }, 'a disk answers again');
      this.#options.onAnswer();
    };
  }

  /**
   * Leaves an I/O worker that does not answer in time behind; until it has ended it is noted where it waits.
   */
  leave(client: Pick<WorkerClient, 'at' | 'ended' | 'close'>): void {
    const at = client.at();
    const isAtDisk = at !== null && at.path !== '';
    const release = isAtDisk ? this.note(at.path, monotonic() - at.milliseconds) : () => {};
    void client.ended.then(release);
    void client.close(0);
  }

  #tell(noted: Noted): void {
    noted.isTold = true;
    const { path, since } = noted;
    this.#options.log.error(
      { path, seconds: secondsSince(since) },
      'a disk does not answer; what lies on it counts as last known, and all else goes on',
    );
  }

  /** The directories below which nobody is to look. */
  avoided(): readonly string[] {
    return this.#places(waiting => waiting.some(noted => this.#isHung(noted)));
  }

  /** The same for those whom nobody would wait for. */
  avoidedInHaste(): readonly string[] {
    return this.#places(
      waiting => waiting.length >= mostImpatient || waiting.some(noted => this.#isHung(noted)),
    );
  }

  #places(isMeant: (waiting: readonly Noted[]) => boolean): readonly string[] {
    const waiting = Map.groupBy(this.#noted, ({ path }) => this.placeOf(path));
    return [...waiting].filter(([, noted]) => isMeant(noted)).map(([place]) => place);
  }

  /** The directory below which all is on the file system of a path. */
  placeOf(path: string): string {
    const place = this.#options.mounts.placeOf(path);
    // All other file systems are below this one.
    return place === '/' ? path : place;
  }

  /** What is told is listed: a timer may come a part of a millisecond before its time. */
  #isHung({ isTold, since }: Noted): boolean {
    return isTold || monotonic() - since >= this.#options.hungAfterMs;
  }

  /** Where a thread waits, if that is why nobody is to look at this path; else null. */
  waitingAt(path: string): string | null {
    const place = this.avoided().find(avoided => isWithin(path, avoided));
    if (place === undefined) return null;
    return [...this.#noted].find(noted => isWithin(noted.path, place))?.path ?? place;
  }

  /** Those that have waited for long, the longest first. */
  list(): readonly Hang[] {
    const now = monotonic();
    return [...this.#noted]
      .filter(noted => this.#isHung(noted))
      .map(({ path, since }) => ({
        path,
        mountedAt: this.#options.mounts.placeOf(path),
        milliseconds: now - since,
      }))
      .sort((a, b) => b.milliseconds - a.milliseconds);
  }
}

function secondsSince(since: number): number {
  return Math.round((monotonic() - since) / 1000);
}
