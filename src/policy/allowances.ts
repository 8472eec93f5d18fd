/**
 * Allowances: extra bytes for an owner on top of the limits, which end at a set time.
 *
 * An allowance does not count from its end on, even while its record is still stored. Allowances belong to
 * owner ids, like memberships.
 */

import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { AuditContext, ChangeSet, Kind, Snapshot } from '../documents/index.ts';
import { FaultList, SoftquotaError } from '../errors.ts';
import { isoTime, printable } from '../text.ts';

const allowance = z.strictObject({
  id: z.string(),
  bytes: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
  /** Milliseconds since 1970, rounded down to a second. */
  until: z.number().int(),
  why: z.string(),
  /** Null: the administrator of a host, or if `automatic`, the configuration. */
  grantedBy: z.string().nullable(),
  grantedAt: z.number().int(),
  /** The id of the request that it answers; null: none. */
  request: z.string().nullable(),
  /** Granted by `[requests] AUTO_GRANT`. */
  automatic: z.boolean(),
  /**
   * The time at which the event of its end was recorded. If the clock was wrong, it may be far in the future.
   */
  endedAt: z.number().int().optional(),
});

const allowances = z.array(allowance).readonly();

export type AllowanceDocument = z.infer<typeof allowance>;

/** The allowances of an owner. The key is the owner id; owners without allowances have no document. */
export const allowanceKind: Kind<readonly AllowanceDocument[]> = {
  name: 'allowance',
  durability: 'versioned',
  schema: allowances,
  describe: (key, entries, nameOf) => ({
    name: nameOf(Number(key)),
    ownerId: Number(key),
    content: { allowances: entries.map(({ id, bytes, until }) => ({ id, bytes, until: isoTime(until) })) },
  }),
};

/** Most running allowances of an owner, so that it is quick to add them up. */
export const mostAllowances = 50;

/** The longest time of an allowance, so that none is for ever. */
const longestMs = 3650 * 86_400_000;

type NewAllowance = Omit<AllowanceDocument, 'id'>;

/** Returns the running allowances of an owner, the first to end first. */
export function allowancesOf(snapshot: Snapshot, ownerId: number, now: number): readonly AllowanceDocument[] {
  return entriesOf(snapshot, ownerId)
    .filter(({ until }) => until > now)
    .sort((a, b) => a.until - b.until);
}

export function allowanceIn(snapshot: Snapshot, ownerId: number, id: string): AllowanceDocument | undefined {
  return entriesOf(snapshot, ownerId).find(entry => entry.id === id);
}

/** Adds an allowance. Throws `invalid` with all faults, or `conflict` if the owner has too many. */
export function createAllowance(
  changes: ChangeSet,
  ownerId: number,
  { until, ...wanted }: NewAllowance,
): AllowanceDocument {
  const before = entriesOf(changes, ownerId);
  const active = allowancesOf(changes, ownerId, wanted.grantedAt);
  const document = { id: randomBytes(5).toString('hex'), ...wanted, until: wholeSecond(until) };
  FaultList.of(allowanceFaults(document, wanted.grantedAt)).throwIfAny();
  if (active.length >= mostAllowances) {
    throw new SoftquotaError(
      'conflict',
      `the owner has ${active.length} allowances, which is the limit: end one first`,
    );
  }
  put(changes, ownerId, [...before, document]);
  return document;
}

/** Returns the faults of an allowance, each with the name of the field; empty: it is valid. */
export function allowanceFaults(
  { bytes, until }: { readonly bytes: number; readonly until: number },
  now: number,
): readonly string[] {
  return [
    ...(Number.isSafeInteger(bytes) && bytes > 0 ? [] : ['bytes: expected whole bytes from 1 to 2^53 - 1']),
    ...(wholeSecond(until) > now ? [] : ['until: the time is in the past']),
    ...(until - now <= longestMs ? [] : ['until: an allowance lasts for at most 3,650 days']),
  ];
}

/** Removes an allowance; throws `not_found`. */
export function endAllowance(changes: ChangeSet, ownerId: number, id: string): AllowanceDocument {
  const before = entriesOf(changes, ownerId);
  const ended = allowanceIn(changes, ownerId, id);
  if (ended === undefined) {
    throw new SoftquotaError('not_found', `the owner has no allowance ${printable(id)}`);
  }
  put(
    changes,
    ownerId,
    before.filter(entry => entry !== ended),
  );
  return ended;
}

/**
 * Milliseconds that an ended allowance stays stored, so that it counts again if a wrong clock is corrected.
 */
const keptMs = 86_400_000;

/** Returns the time of the next step: the event of the end, and after that the removal of the record. */
export function dueAt({ until, endedAt }: AllowanceDocument, now: number): number {
  return endedAt !== undefined && endedAt - now <= keptMs ? endedAt + keptMs : until;
}

/** Makes the next step of an allowance that is due. Returns true if an event of its end must be recorded. */
export function stepToEnd(changes: ChangeSet, ownerId: number, due: AllowanceDocument, now: number): boolean {
  const others = entriesOf(changes, ownerId).filter(entry => entry !== due);
  const isEnd = dueAt(due, now) === due.until;
  put(changes, ownerId, isEnd ? [...others, { ...due, endedAt: now }] : others);
  return isEnd;
}

export function auditAllowance(
  owner: AuditContext['owner'],
  action: 'granted' | 'ended',
  { id, bytes, until, why, request }: AllowanceDocument,
): AuditContext {
  const facts = { owner: owner.name, action, allowance: id, bytes, until: isoTime(until), why, request };
  return { kind: 'allowance', owner, facts };
}

export function* everyAllowance(snapshot: Snapshot): Generator<readonly [number, AllowanceDocument]> {
  for (const [owner, entries] of snapshot.all(allowanceKind)) {
    for (const entry of entries) yield [Number(owner), entry];
  }
}

function entriesOf(snapshot: Snapshot, ownerId: number): readonly AllowanceDocument[] {
  return snapshot.get(allowanceKind, String(ownerId)) ?? [];
}

function put(changes: ChangeSet, ownerId: number, entries: readonly AllowanceDocument[]): void {
  if (entries.length === 0) changes.remove(allowanceKind, String(ownerId));
  else changes.put(allowanceKind, String(ownerId), entries);
}

function wholeSecond(time: number): number {
  return Math.floor(time / 1000) * 1000;
}
