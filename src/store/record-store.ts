/**
 * Everything that is known of owners, whoever measured it: who they are, what is laid down for them, what
 * each host says they store, and what happened. It is what hosts with one quota keep together.
 *
 * A record store holds plain records and knows no rules. Strings of any kind survive, lone surrogates and NUL
 * among them, and numbers are whole, from -(2^53 - 1) to 2^53 - 1.
 */

import { randomBytes } from 'node:crypto';
import type { Leaf } from '../quota/index.ts';

/** Owners' ids are so many random bits: hosts that meet an owner first need not agree on a number. */
export const ownerIdBits = 48;

/** An owner; it stays when its last unit goes. */
export interface OwnerRecord {
  /** Stays the same through a change of name, and is never another's. */
  readonly id: number;
  /** The form by which names are compared (quota/names.ts). */
  readonly key: string;
  readonly name: string;
  readonly type: 'user' | 'organization';
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** A rule, a group, an assignment and the like: any text, by kind and key, which the ledger knows. */
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

/** The usage of one owner on one host, as that host tells it. */
export interface ShareRecord {
  readonly ownerKey: string;
  readonly host: string;
  /** By leaf; where there is nothing, the leaf may be left out. */
  readonly bytes: Readonly<Partial<Record<Leaf, number>>>;
  /** The bytes of those that no ref reaches, by leaf; absent where there are none. */
  readonly unreachable?: Readonly<Partial<Record<Leaf, number>>> | undefined;
  readonly units: number;
  /** Some of it could not be read, and counts with its last known bytes. */
  readonly partial: boolean;
  /** When the oldest of its walked units was walked, in milliseconds since 1970; null without any. */
  readonly measuredAt: number | null;
}

/** Something that happened, for the record. What there is to say of it is the ledger's business. */
export interface EventRecord {
  /** In ASCII; no two have the same. */
  readonly id: string;
  readonly kind: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Owner of the event, by id and by the key of the name, as far as there is either. */
  readonly ownerId: number | null;
  readonly ownerKey: string | null;
  readonly text: string;
}

/** Events that a store keeps. Beyond that, the oldest refusals go first, and changes of policy last. */
export const mostKeptEvents = 100_000;
export const firstGone = 'refusal';
export const lastGone = 'policy';

export interface EventQuery {
  readonly kind?: string;
  /** One of the two is enough. */
  readonly owner?: Pick<EventRecord, 'ownerId' | 'ownerKey'>;
  /** Only what comes after this place in the order. */
  readonly after?: Pick<EventRecord, 'at' | 'id'>;
  /** Number of events at most; 1 or more. */
  readonly limit: number;
}

export interface LevelRecord {
  readonly ownerId: number;
  readonly text: string;
}

export interface Position {
  /** Another one with each policy that does not go on from the one before. */
  readonly generation: string;
  /** Counts the changes, from 1 on. */
  readonly version: number;
  /** A mark of the last change alone, so that two that were made upon the same version are told apart. */
  readonly mark: string;
}

/** All that is loaded, in no order: everything that it holds but events and levels, which are asked for. */
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
  /** Those of before this time, in milliseconds since 1970. */
  readonly goneEventsBefore?: number;
  readonly levels?: readonly LevelRecord[];
  readonly goneLevels?: readonly number[];
}

export interface RecordStore {
  /** Newest first; of those of the same time the one with the greater id comes first. */
  events(query: EventQuery): Promise<readonly EventRecord[]>;
  levels(): Promise<readonly LevelRecord[]>;
  /**
   * Writes all of it or nothing; writes take effect in the order in which they are asked for.
   *
   * Rejects with `store_away` where the store cannot take it at the moment (disk full, no connection), and
   * with `invalid` where a record is none (a size below 0, a fraction, an unknown leaf). Neither touches the
   * writes before and after it. The caller may try again; where the connection broke during a write it may
   * have been kept after all, which writing it again does not harm.
   */
  write(changes: RecordChanges): Promise<void>;
}

/** Position of a policy that goes on from no other one: hosts that knew another ask before they take it. */
export function newGeneration(version = 1): Position {
  return { generation: newMark(), version, mark: newMark() };
}

export function newMark(): string {
  return randomBytes(8).toString('hex');
}

const eventsAtOnce = 1000;

/** Gives all events, newest first. Rejects as `RecordStore.events` does. */
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
