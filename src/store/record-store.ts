/**
 * Records of owners, of the policy for them, of their usage on each host, and of events. Hosts with one quota
 * share them.
 *
 * A record store holds plain records and knows no rules. Names of any kind survive, lone surrogates and NUL
 * among them; texts of documents, events and levels are JSON. Numbers are whole, from -(2^53 - 1) to
 * 2^53 - 1.
 */

import { randomBytes } from 'node:crypto';
import type { Leaf } from '../quota/index.ts';

/** An owner; it stays when its last unit goes. */
export interface OwnerRecord {
  /** Stays the same when the name changes; no other owner ever gets it. */
  readonly id: number;
  /** The form by which names are compared (quota/subjects.ts). */
  readonly key: string;
  readonly name: string;
  readonly type: 'user' | 'organization';
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** A rule, a group, an assignment or the like, as text; the ledger knows the kinds. */
export interface DocumentRecord {
  readonly kind: string;
  readonly key: string;
  readonly text: string;
}

/** One of an owner's larger units on a host. */
export interface LargeUnit {
  readonly kind: 'walked' | 'reported';
  readonly name: string;
  readonly leaf: Leaf;
  readonly bytes: number;
}

/** The usage of one owner on one host, as that host reports it. */
export interface ShareRecord {
  readonly ownerKey: string;
  readonly host: string;
  /** By leaf; a leaf without bytes may be left out. */
  readonly bytes: Readonly<Partial<Record<Leaf, number>>>;
  /** The part of `bytes` that no ref reaches, by leaf; absent if there is none. */
  readonly unreachable?: Readonly<Partial<Record<Leaf, number>>> | undefined;
  readonly units: number;
  /** A part could not be read, and counts with its last known bytes. */
  readonly partial: boolean;
  /** When the oldest of its walked units was walked, in milliseconds since 1970; null without any. */
  readonly measuredAt: number | null;
}

/** An event in the log. Its text is the ledger's business. */
export interface EventRecord {
  /** In ASCII; no two have the same. */
  readonly id: string;
  readonly kind: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The owner's id and the key of the name, as far as known. */
  readonly ownerId: number | null;
  readonly ownerKey: string | null;
  readonly text: string;
}

/**
 * Number of events that a store keeps. Beyond it the oldest changes of policy beyond their share are deleted
 * first, so that a large import leaves room for other events; then refusals, and the other changes of policy
 * last.
 */
export const mostKeptEvents = 100_000;
export const firstGone = 'refusal';
export const lastGone = 'policy';
export const lastGoneShare = 0.8;

export interface EventQuery {
  /** Absent: events of all kinds. */
  readonly kinds?: readonly string[];
  /** Events that match one of the two suffice. */
  readonly owner?: Pick<EventRecord, 'ownerId' | 'ownerKey'>;
  /** Only events that come after this one in the order. */
  readonly after?: Pick<EventRecord, 'at' | 'id'>;
  /** Number of events at most; 1 or more. */
  readonly limit: number;
}

export interface LevelRecord {
  readonly ownerId: number;
  readonly text: string;
}

export interface Position {
  /** Changes with each policy that does not continue the one before. */
  readonly generation: string;
  /** Counts the changes, from 1 on. */
  readonly version: number;
  /** Identifies the last change, to tell apart two changes made on the same version. */
  readonly mark: string;
}

/** All records in no order, without events and levels, which have queries of their own. */
export interface Records {
  readonly owners: readonly OwnerRecord[];
  readonly documents: readonly DocumentRecord[];
  readonly shares: readonly ShareRecord[];
}

/** Records that a write puts in and takes out; taking out comes first. */
export interface RecordChanges {
  readonly owners?: readonly OwnerRecord[];
  readonly goneOwners?: readonly string[];
  readonly documents?: readonly DocumentRecord[];
  readonly goneDocuments?: readonly Pick<DocumentRecord, 'kind' | 'key'>[];
  readonly shares?: readonly ShareRecord[];
  readonly goneShares?: readonly Pick<ShareRecord, 'ownerKey' | 'host'>[];
  readonly events?: readonly EventRecord[];
  /** Deletes events before this time, in milliseconds since 1970. */
  readonly goneEventsBefore?: number;
  readonly levels?: readonly LevelRecord[];
  readonly goneLevels?: readonly number[];
}

export interface RecordStore {
  /** Returns events, newest first; of two with the same time the one with the greater id comes first. */
  events(query: EventQuery): Promise<readonly EventRecord[]>;
  levels(): Promise<readonly LevelRecord[]>;
  /**
   * Writes all changes or none. Writes take effect in the order of the calls.
   *
   * Rejects with `store_away` if the store cannot write at the moment (disk full, no connection), and with
   * `invalid` if a record is not valid (a size below 0, a fraction, an unknown leaf). Neither affects the
   * writes before and after it. The caller may try again: if the connection broke during a write, it may have
   * been written after all, and writing it again does no harm.
   */
  write(changes: RecordChanges): Promise<void>;
}

/**
 * Returns the position of a policy that continues no other one: hosts that knew another do not take it over
 * without an administrator's decision.
 */
export function newGeneration(version = 1): Position {
  return { generation: newMark(), version, mark: newMark() };
}

export function newMark(): string {
  return randomBytes(8).toString('hex');
}

const eventsAtOnce = 1000;

/** Returns all events in pages, newest first. Rejects as `RecordStore.events` does. */
export async function* eventPages(
  records: Pick<RecordStore, 'events'>,
): AsyncGenerator<readonly EventRecord[]> {
  for (let after: EventRecord | undefined; ; ) {
    const page = await records.events({ limit: eventsAtOnce, ...(after === undefined ? {} : { after }) });
    yield page;
    after = page.at(-1);
    if (page.length < eventsAtOnce) return;
  }
}
