/**
 * Walks one unit and adds up its bytes.
 *
 * Never follows a symbolic link, counts regular files only, and one with several names once.
 * Never stops at what it cannot read: such places come back in `unread` and count with the bytes
 * they were last seen with, and the result is marked partial. What vanishes meanwhile is no fault.
 * Synchronous, for worker threads.
 */

import { Arrivals } from './arrivals.ts';
import type { Cache } from './cache.ts';
import { mayHoldCopies } from './copies.ts';
import { type Collector, collectorsOf, type Packs, packsOf } from './gitfiles.ts';
import { formerOwnersOf, identityOf } from './identity.ts';
import type { PacksDuringWalk, WalkOutcome, WalkRequest } from './outcome.ts';
import { carryOver, totalOfSums } from './sums.ts';
import { beginWalk, type Pulse, takeSteps, type Walk } from './visit.ts';

/** A pack that is being written was changed within this time. */
const writingMs = 60_000;
/** A repack may still be removing what is in a pack that came within this time. */
const freshMs = 60_000;

/** Walks `request.unit`, calling `pulse` on the way. What it cannot read it takes from the cache. */
export function walk(request: WalkRequest, cache: Cache, pulse: Pulse): WalkOutcome {
  const { unit } = request;
  const identity = identityOf(unit.path);
  if (identity === null) return { outcome: 'vanished' };
  const isRepository = unit.kind === 'repos' || unit.kind === 'wiki';
  const startedAt = Date.now();
  const collectorsBefore = isRepository ? collectorsOf(unit.path, startedAt) : [];
  const arrivals = new Arrivals(earliest(collectorsBefore, startedAt - writingMs));
  const state = beginWalk(request, isRepository ? arrivals : null, pulse);
  const before = isRepository ? packsOf(unit.path, state.now) : null;
  if (before?.fresh === true) arrivals.keepNames();
  const end = takeSteps(state);
  if (end !== 'done') return { outcome: end === 'stopped' ? 'stopped' : 'vanished' };
  // Half of a unit that was removed or unmounted meanwhile would be taken for all of it.
  if (identityOf(unit.path)?.name !== identity.name) return { outcome: 'vanished' };
  const bytes = bytesOf(state, cache);
  const isExact = Number.isSafeInteger(bytes);
  if (isExact) cache.write(unit.path, state.sums);
  const collectors = isRepository ? collectorsMet(state, collectorsBefore) : [];
  const mostCopied = collectors.length === 0 ? 0 : arrivals.mostCopied(earliest(collectors, startedAt));
  const packs = before === null ? 'still' : packsNow(state, collectors, before, arrivals);
  const isSettled = isExact && state.unreadCount === 0 && packs === 'still';
  const formerOwners = formerOwnersOf(unit, identity, cache);
  const { files, directories, objectBytes } = state;
  const found = { bytes, files, directories, objectBytes, formerOwners: formerOwners.length };
  const signature = isSettled ? state.signature.finish(found) : null;
  if (signature !== null) cache.writeSignature(unit.path, signature);
  return {
    outcome: isExact ? 'measured' : 'too large',
    bytes: isExact ? bytes : 0,
    files,
    directories,
    partial: state.unreadCount > 0,
    unread: state.unread,
    unreadCount: state.unreadCount,
    leftovers: state.leftovers,
    leftoverCount: state.leftoverCount,
    packs,
    packsIdentity: before?.identity ?? '',
    collectors: collectors.map(({ id }) => id),
    certainBytes: isExact ? Math.max(0, bytes - mostCopied) : 0,
    objectBytes,
    formerOwners,
  };
}

/**
 * All that were at work at any time of the walk; those without another sign, since their packs can have been
 * begun.
 */
function collectorsMet(state: Walk, before: readonly Collector[]): readonly Collector[] {
  const writing = state.packsBeingWritten.map(name => ({ id: name, since: state.now - writingMs }));
  const now = collectorsOf(state.request.unit.path, Date.now());
  return [...new Map([...before, ...now, ...writing].map(collector => [collector.id, collector])).values()];
}

function earliest(collectors: readonly Collector[], otherwise: number): number {
  return collectors.reduce((first, { since }) => Math.min(first, since), otherwise);
}

function packsNow(
  state: Walk,
  collectors: readonly Collector[],
  before: Packs,
  arrivals: Arrivals,
): PacksDuringWalk {
  if (collectors.length > 0) return 'collected';
  const { path } = state.request.unit;
  const isPlain = before.fresh && !mayHoldCopies(path, arrivals.counted(state.now - freshMs));
  // Asked for afterwards: what was counted was there all the time.
  const after = packsOf(path, Date.now());
  if (before.identity !== after.identity) return 'changed';
  return (before.fresh || after.fresh) && !isPlain ? 'fresh' : 'still';
}

/** The sum with what was last seen where nothing could be seen now. */
function bytesOf(state: Walk, cache: Cache): number {
  const { sums, unreadPlaces, request } = state;
  const [first] = unreadPlaces;
  if (first === undefined) return state.bytes;
  const remembered = cache.read(request.unit.path);
  if (remembered !== null) {
    carryOver(sums, remembered, unreadPlaces);
  } else {
    // What the unit was known with beyond what is seen now can only lie where nothing is seen.
    const unseen = Math.max(0, (request.knownBytes ?? 0) - state.bytes);
    sums.bytes[first.directory] = (sums.bytes[first.directory] ?? 0) + unseen;
  }
  return totalOfSums(sums);
}
