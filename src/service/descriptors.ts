/**
 * Descriptors: each connection takes one of those that the system gives the process, and where none is left,
 * the system closes what comes, without a word to anybody. So servers share them, and none takes those of
 * another.
 */

import { closeSync, openSync, readFileSync } from 'node:fs';
import { systemCode } from '../errors.ts';

/** Number of connections that each server takes, at most. */
export interface ConnectionShares {
  readonly gate: number;
  readonly trusted: number;
  readonly http: number;
  readonly admin: number;
}

/** Bounds if there are enough descriptors. */
export const usualShares: ConnectionShares = { gate: 4096, trusted: 1024, http: 2048, admin: 256 };

/** For files, threads, programs that are run, and the store that hosts share. */
const ownDescriptors = 256;

/** Number of descriptors from which every server gets its usual share. */
export const enoughDescriptors =
  ownDescriptors + usualShares.gate + usualShares.trusted + usualShares.http + usualShares.admin;

/** Some connections are always taken: the probe notices where even these are too many. */
const leastShare = 4;

/** Number of files that this process may open; null if unknown. */
export function openFilesLimit(file = '/proc/self/limits'): number | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return null;
  }
  const line = text.split('\n').find(each => each.startsWith('Max open files'));
  const limit = Number(line?.slice('Max open files'.length).trim().split(' ', 1)[0]);
  return Number.isSafeInteger(limit) ? limit : null;
}

/** Gives what each server gets of so many descriptors; null: they are enough. */
export function connectionShares(limit: number | null): ConnectionShares {
  if (limit === null || limit >= enoughDescriptors) return usualShares;
  const free = limit - Math.min(ownDescriptors, limit / 2);
  const part = free / (enoughDescriptors - ownDescriptors);
  const of = (usual: number) => Math.max(leastShare, Math.floor(usual * part));
  const { gate, trusted, http, admin } = usualShares;
  return { gate: of(gate), trusted: of(trusted), http: of(http), admin: of(admin) };
}

interface DescriptorWatchOptions {
  /**
   * Called with the system's code where no file can be opened any more, and at most once a minute while that
   * lasts.
   */
  readonly exhausted: (code: string) => void;
  /** Called each second while no file can be opened. */
  readonly makeRoom: () => void;
  readonly everyMs?: number;
}

const usualEveryMs = 1000;
const tellEveryMs = 60_000;

/**
 * Looks whether a file can still be opened: of connections that could not be accepted, the system tells
 * nothing.
 */
export function watchDescriptors({
  exhausted,
  makeRoom,
  everyMs = usualEveryMs,
}: DescriptorWatchOptions): () => void {
  let toldAt = Number.NEGATIVE_INFINITY;
  const look = () => {
    const code = probe();
    if (code === null) return;
    makeRoom();
    if (performance.now() - toldAt < tellEveryMs) return;
    toldAt = performance.now();
    exhausted(code);
  };
  const timer = setInterval(look, everyMs).unref();
  return () => clearInterval(timer);
}

/** The system's code where no file can be opened; null: one can. */
function probe(): string | null {
  try {
    closeSync(openSync('/dev/null', 'r'));
    return null;
  } catch (error) {
    const code = systemCode(error);
    return code === 'EMFILE' || code === 'ENFILE' ? code : null;
  }
}
