/**
 * The disks that do not answer.
 *
 * Nobody can end a thread that waits for a disk. A thread that waits for long is recorded here with its path,
 * until the disk answers. Meanwhile no other thread uses the file system of that path, so that the disk blocks
 * no further thread.
 */

import { isWithin } from '../layout/index.ts';
import type { Log } from '../log.ts';
import type { Mounts } from './mounts.ts';
import { monotonic } from './shared.ts';
import type { DiskThread } from './thread.ts';

/** A place at which a thread waits for a disk. */
export interface Hang {
  readonly path: string;
  /** The mount point of its file system. */
  readonly mountedAt: string;
  /** Time that it has waited. */
  readonly milliseconds: number;
}

export interface HangsOptions {
  readonly mounts: Mounts;
  /** After this time a disk is taken not to answer. */
  readonly hungAfterMs: number;
  readonly log: Log;
  /** Called when a disk answers that was told not to. */
  readonly onAnswer: () => void;
}

/** Those who cannot wait keep away from a file system at which so many wait already, for however short. */
export const mostImpatient = 2;

interface BlockedThread {
  readonly path: string;
  readonly since: number;
  isTold: boolean;
}

export class Hangs {
  readonly #options: HangsOptions;
  readonly #blocked = new Set<BlockedThread>();

  constructor(options: HangsOptions) {
    this.#options = options;
  }

  /**
   * Records a thread that has waited since `since` (on the monotonic clock). Returns the function to call when
   * the thread has come back.
   */
  track(path: string, since: number): () => void {
    const { hungAfterMs, mounts } = this.#options;
    const thread: BlockedThread = { path, since, isTold: false };
    this.#blocked.add(thread);
    void mounts.refresh();
    const timer = setTimeout(
      () => this.#tell(thread),
      Math.max(0, since + hungAfterMs - monotonic()),
    ).unref();
    return () => {
      if (!this.#blocked.delete(thread)) return;
      clearTimeout(timer);
      if (!thread.isTold) return;
      this.#options.log.warn({ path, seconds: secondsSince(since) }, 'a disk answers again');
      this.#options.onAnswer();
    };
  }

  /** Abandons a thread that does not answer in time. Until it has ended, it is recorded where it waits. */
  leave(thread: Pick<DiskThread, 'at' | 'ended' | 'close'>): void {
    const at = thread.at();
    const isAtDisk = at !== null && at.path !== '';
    const release = isAtDisk ? this.track(at.path, monotonic() - at.milliseconds) : () => {};
    void thread.ended.then(release);
    void thread.close(0);
  }

  #tell(thread: BlockedThread): void {
    thread.isTold = true;
    const { path, since } = thread;
    this.#options.log.error(
      { path, seconds: secondsSince(since) },
      'a disk does not answer; its units keep their last known bytes, and everything else continues',
    );
  }

  /** The directories below which nobody is to look. */
  avoided(): readonly string[] {
    return this.#places(waiting => waiting.some(thread => this.#isHung(thread)));
  }

  /** The places to avoid by looks for which nobody would wait. */
  avoidedInHaste(): readonly string[] {
    return this.#places(
      waiting => waiting.length >= mostImpatient || waiting.some(thread => this.#isHung(thread)),
    );
  }

  #places(isMeant: (waiting: readonly BlockedThread[]) => boolean): readonly string[] {
    const waiting = Map.groupBy(this.#blocked, ({ path }) => this.placeOf(path));
    return [...waiting].filter(([, thread]) => isMeant(thread)).map(([place]) => place);
  }

  /** Tells whether a thread waits for the file system of a path. */
  isWaitedFor(path: string): boolean {
    const place = this.placeOf(path);
    return [...this.#blocked].some(thread => this.placeOf(thread.path) === place);
  }

  /** The directory below which all is on the file system of a path. */
  placeOf(path: string): string {
    const place = this.#options.mounts.placeOf(path);
    // All other file systems are below this one.
    return place === '/' ? path : place;
  }

  /** A reported disk is always listed: a timer may fire a fraction of a millisecond before its time. */
  #isHung({ isTold, since }: BlockedThread): boolean {
    return isTold || monotonic() - since >= this.#options.hungAfterMs;
  }

  /** The place where a thread waits, if that is the reason not to look at this path; else null. */
  waitingAt(path: string): string | null {
    const place = this.avoided().find(avoided => isWithin(path, avoided));
    if (place === undefined) return null;
    return [...this.#blocked].find(thread => isWithin(thread.path, place))?.path ?? place;
  }

  /** Those that have waited for long, the longest first. */
  list(): readonly Hang[] {
    const now = monotonic();
    return [...this.#blocked]
      .filter(thread => this.#isHung(thread))
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
