/**
 * The signs that a repack may be at work in a repository, so that the same objects may be there twice.
 *
 * A repack writes a pack, and then removes what is in it, pack by pack and object by object: all of that
 * changes directories of `objects`, and nothing else that it does can be seen in all of its phases.
 */

import { readdirSync, type Stats } from 'node:fs';
import { beforeLook, directoryStatus, encodePath } from '../layout/index.ts';
import { hour, isCollected, isFanOut, isMaintained } from './gitfiles.ts';

export interface RepackSigns {
  /**
   * Milliseconds between the last change of a directory of `objects` and the walk's beginning; negative: it
   * changed during the walk; null: this host's clock does not tell, see `directories`.
   */
  readonly quietMs: number | null;
  /** Differs where a directory changed between two walks; empty where `quietMs` tells. */
  readonly directories: string;
  /** A directory of `objects` changed during the walk. */
  readonly isChanged: boolean;
  /** `objects/pack` did. */
  readonly arePacksChanged: boolean;
  /** `objects/pack` has files that a repack is writing. */
  readonly isWriting: boolean;
  /** There is a gc.pid that git would respect. */
  readonly isCollected: boolean;
  /** There is a maintenance.lock. */
  readonly isMaintained: boolean;
}

export const noSigns: RepackSigns = {
  quietMs: Number.POSITIVE_INFINITY,
  directories: '',
  isChanged: false,
  arePacksChanged: false,
  isWriting: false,
  isCollected: false,
  isMaintained: false,
};

/**
 * Watches a repository from now until the end of a walk, when the function that it returns is to be called.
 * `startedAt`: the time now, in milliseconds since 1970; `hasOwnTimes`: this host's own clock tells when
 * directories changed.
 */
export function watchSigns(
  repository: string,
  startedAt: number,
  hasOwnTimes: boolean,
): (isWriting: boolean) => RepackSigns {
  const wasCollected = isCollected(repository, startedAt);
  const wasMaintained = isMaintained(repository, startedAt);
  const before = hasOwnTimes ? '' : stateOf(statusesOf(repository));
  const packs = directoryStatus(`${repository}/objects/pack`);
  // One that changed within the last tick of the clock may change again in it.
  const isJustChanged = packs !== null && Math.abs(startedAt - packs.mtimeMs) < tickMs;
  const packsBefore = isJustChanged ? '' : stateOf([packs]);
  return isWriting => {
    const now = Date.now();
    const statuses = statusesOf(repository);
    const directories = hasOwnTimes ? '' : stateOf(statuses);
    const newest = Math.max(...statuses.map(stats => timeOf(stats, now)));
    const quietMs = hasOwnTimes ? startedAt - newest : null;
    return {
      quietMs,
      directories,
      isChanged: quietMs === null ? directories !== before : quietMs < tickMs,
      arePacksChanged: packsBefore !== stateOf([directoryStatus(`${repository}/objects/pack`)]),
      isWriting,
      isCollected: wasCollected || isCollected(repository, now),
      isMaintained: wasMaintained || isMaintained(repository, now),
    };
  };
}

/** File systems tell times to the kernel's tick, or better: what changes now may bear an earlier time. */
const tickMs = 20;

/** A time that lies more than an hour ahead says nothing: the clock was set back. */
function timeOf(stats: Stats | null, now: number): number {
  const time = stats?.mtimeMs ?? Number.NEGATIVE_INFINITY;
  return time > now + hour ? Number.NEGATIVE_INFINITY : time;
}

/** The statuses of `objects` and its own directories; null where one cannot be read. */
function statusesOf(repository: string): readonly (Stats | null)[] {
  const objects = `${repository}/objects`;
  let fanOut: readonly string[] = [];
  try {
    beforeLook(objects);
    fanOut = readdirSync(encodePath(objects)).filter(isFanOut);
  } catch {
    // The walk says that it cannot be read.
  }
  return ['', '/info', '/pack', ...fanOut.map(name => `/${name}`)].map(name =>
    directoryStatus(objects + name),
  );
}

function stateOf(statuses: readonly (Stats | null)[]): string {
  return statuses.map(stats => (stats === null ? '' : `${stats.ino} ${stats.mtimeMs}`)).join();
}
