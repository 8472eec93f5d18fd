/**
 * Walks one unit and adds up its bytes.
 *
 * Never follows a symbolic link, counts regular files only, and one with several names once.
 * Never stops at what it cannot read: such places come back in `unread`, the larger of the known and
 * the seen bytes counts, and the result is marked partial. What vanishes meanwhile is no fault.
 * Synchronous, for worker threads.
 */

import { lstatSync } from 'node:fs';
import { systemCode } from '../errors.ts';
import { encodePath, holdsRepositories } from '../layout/index.ts';
import type { Cache } from './cache.ts';
import { noQuarantines, quarantinesOf } from './quarantine.ts';
import { noSigns, type RepackSigns, watchSigns } from './repack-signs.ts';
import { noCounts } from './shared.ts';
import { isSignatureCurrent } from './signature.ts';
import type { Vanished, Walked, WalkRequest } from './task.ts';
import { countLeftovers, mostListed, type Pulse, takeSteps, Walk } from './visit.ts';

/** Gives what the last walk found if its signature stands for this one; else walks, calling `pulse` on the way. */
export function walk(request: WalkRequest, cache: Cache, pulse: Pulse): Walked | Vanished {
  return unchanged(request, cache, pulse) ?? walkThrough(request, cache, pulse);
}

/** The result of the last walk, where the signature says that nothing has changed since; null elsewhere. */
function unchanged(request: WalkRequest, cache: Cache, pulse: Pulse): Walked | null {
  const { unit, knownBytes, trustsSignature = false } = request;
  const signature = trustsSignature ? cache.readSignature(unit.path) : null;
  if (signature === null || signature.bytes !== knownBytes) return null;
  if (!isSignatureCurrent(request, signature, () => pulse(noCounts))) return null;
  pulse(signature);
  const { bytes, files, directories, objectBytes } = signature;
  const nothing = { signs: noSigns, before: noQuarantines, after: noQuarantines };
  return {
    outcome: 'measured',
    bytes,
    files,
    directories,
    partial: false,
    unread: [],
    unreadCount: 0,
    leftovers: [],
    leftoverCount: 0,
    objects: holdsRepositories(unit.kind) ? { bytes: objectBytes, ...nothing } : null,
  };
}

function walkThrough(request: WalkRequest, cache: Cache, pulse: Pulse): Walked | Vanished {
  const { unit, quarantines = [], measure, hasOwnTimes = true } = request;
  const identity = identityOf(unit.path);
  if (identity === null) return { outcome: 'vanished' };
  const isRepository = holdsRepositories(unit.kind);
  const before = isRepository ? quarantinesOf(unit.path, quarantines, measure) : noQuarantines;
  const startedAt = Date.now();
  const endSigns = isRepository ? watchSigns(unit.path, startedAt, hasOwnTimes) : null;
  const state = new Walk(request, isRepository, startedAt, pulse);
  takeSteps(state);
  // Half of a unit that was removed or unmounted meanwhile would be taken for all of it.
  if (identityOf(unit.path) !== identity) return { outcome: 'vanished' };
  const leftovers = countLeftovers(state);
  const bytes = state.unreadCount === 0 ? state.bytes : Math.max(state.bytes, request.knownBytes ?? 0);
  const isExact = Number.isSafeInteger(bytes);
  const objects = endSigns && {
    bytes: state.objectBytes + (state.areObjectsUnread ? bytes - state.bytes : 0),
    signs: endSigns(state.isRepacked),
    before,
    after: quarantinesOf(unit.path, quarantines, measure),
  };
  const { files, directories } = state;
  const objectBytes = objects?.bytes ?? 0;
  const isSettled = isExact && state.unreadCount === 0 && (objects === null || areQuiet(objects.signs));
  const signature = isSettled ? state.signature.finish({ bytes, files, directories, objectBytes }) : null;
  if (signature !== null) cache.writeSignature(unit.path, signature);
  return {
    outcome: isExact ? 'measured' : 'too large',
    bytes: isExact ? bytes : 0,
    files,
    directories,
    partial: state.unreadCount > 0,
    unread: state.unread,
    unreadCount: state.unreadCount,
    leftovers: leftovers.slice(0, mostListed),
    leftoverCount: leftovers.length,
    objects,
  };
}

/** Returns which directory is there; null: none is. Where the system does not say, its code stands for it. */
function identityOf(path: string): string | null {
  try {
    const stats = lstatSync(encodePath(path), { bigint: true, throwIfNoEntry: false });
    return stats?.isDirectory() === true ? `${stats.dev}:${stats.ino}` : null;
  } catch (error) {
    const code = systemCode(error);
    if (code === null) throw error;
    return code;
  }
}

/** The signature itself tells directories that changed just before. */
function areQuiet({ isChanged, isWriting, isCollected, isMaintained }: RepackSigns): boolean {
  return !isChanged && !isWriting && !isCollected && !isMaintained;
}
