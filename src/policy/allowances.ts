/**
 * Allowances: extra bytes for an owner on top of what the rules say, which end by themselves.
 *
 * An allowance that has ended counts no more, whether or not its record is still there. Owners are identified
 * by their ids, as with groups.
 */

import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { AuditContext, ChangeSet, Kind, Snapshot } from '../documents/index.ts';
import { FaultList, SoftquotaError } from '../errors.ts';
import type { ActiveAllowance } from '../quota/index.ts';
import { isoTime, printable } from '../text/index.ts';

const allowance = z.strictObject({
  id: z.string(),
  bytes: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER),
  /** Milliseconds since 1970, as `grantedAt`: a whole second. */
  until: z.number().int(),
  why: z.string(),
  /** Null: the administrator of a host, or, where it is automatic, the configuration. */
  grantedBy: z.string().nullable(),
  grantedAt: z.number().int(),
  /** The request that it answers; null: there was none. */
  request: z.string().nullable(),
  /** Granted by `[requests] AUTO_GRANT`. */
  automatic: z.boolean(),
  /** When an event told of its end; more than a day ahead where the clock was wrong then. */
  endedAt: z.number().int().optional(),
});

const allowances = z.array(allowance).readonly();

export type AllowanceDocument = z.infer<typeof allowance>;

/** By the owner's id; kept only for owners with an allowance. */
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

/** The most of one owner: each decision of an owner who has some adds them up again when one has ended. */
const mostAllowances = 50;

/** The longest life of one, so that nothing meant for a time stays for good. */
const longestMs = 3650 * 86_400_000;

export type NewAllowance = Omit<AllowanceDocument, 'id'>;

/** Those that have not ended, the first to end first. */
export function allowancesOf(snapshot: Snapshot, ownerId: number, now: number): readonly AllowanceDocument[] {
  return entriesOf(snapshot, ownerId)
    .filter(({ until }) => until > now)
    .sort((a, b) => a.until - b.until);
}

export function allowanceIn(snapshot: Snapshot, ownerId: number, id: string): AllowanceDocument | undefined {
  return entriesOf(snapshot, ownerId).find(entry => entry.id === id);
}

/** Adds one. Throws `invalid` with every fault, `conflict` where the owner has as many as can be. */
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

/** Why there cannot be an allowance of so many bytes until then; none: there can. Each names the field. */
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

/** Takes one out; throws `not_found`. */
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

/** The record of one that has ended stays for a day: until then a clock that was wrong can be set right. */
const keptMs = 86_400_000;

/** When its end is to be told, or, once that is done, its record to be taken out. */
export function dueAt({ until, endedAt }: AllowanceDocument, now: number): number {
  return endedAt !== undefined && endedAt - now <= keptMs ? endedAt + keptMs : until;
}

/** Takes the next step of one that is due; true if its end is to be told. */
export function stepToEnd(changes: ChangeSet, ownerId: number, due: AllowanceDocument, now: number): boolean {
  const others = entriesOf(changes, ownerId).filter(entry => entry !== due);
  const isEnd = dueAt(due, now) === due.until;
  put(changes, ownerId, isEnd ? [...others, { ...due, endedAt: now }] : others);
  return isEnd;
}

/** Gives the sum of those that have not ended; null: there are none. */
export function activeAllowance(snapshot: Snapshot, ownerId: number, now: number): ActiveAllowance | null {
  const active = allowancesOf(snapshot, ownerId, now);
  const [first] = active;
  if (first === undefined) return null;
  const sum = active.reduce((bytes, entry) => bytes + entry.bytes, 0);
  return {
    bytes: Math.min(sum, Number.MAX_SAFE_INTEGER),
    count: active.length,
    until: first.until,
  };
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
