/**
 * Where the ledger is kept.
 *
 * A store holds plain records and knows no rules. `write` is one atomic step: after a crash
 * either all of a `Changes` is there or nothing of it, and once its promise resolves it is on the
 * disk. Strings of any kind survive, lone surrogates and NUL among them, and numbers are whole,
 * from -(2^53 - 1) to 2^53 - 1. Every implementation passes test/store/contract.ts.
 */

import type { Leaf } from '../quota/index.ts';

/** One thing that takes space. */
export interface UnitRecord {
  /** What it is known by: the path of a walked unit; `owner key \0 leaf \0 name` of a reported one. */
  readonly id: string;
  readonly kind: 'walked' | 'reported';
  readonly host: string;
  /** Path of a walked unit (bytes that are not UTF-8 stand as lone surrogates, see layout/path.ts), name of a reported one. */
  readonly name: string;
  /** The owner's name as found; null where nobody could be told. */
  readonly owner: string | null;
  readonly leaf: Leaf;
  readonly bytes: number;
  /** Regular files counted; 0 for a reported unit. */
  readonly files: number;
  /** Some of it could not be read, and counts with its last known bytes. */
  readonly partial: boolean;
  /** Milliseconds since 1970. */
  readonly measuredAt: number;
  /** The place in the order of things at which the walk began, or the report came. */
  readonly seq: number;
}

/** Bytes that a trusted program reported between two walks. */
export interface DeltaRecord {
  readonly seq: number;
  readonly owner: string;
  readonly leaf: Leaf;
  /** May be negative. */
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/**
 * Owners' ids are so many random bits, so that machines that meet the same owner first need not agree on a
 * next number.
 */
export const ownerIdBits = 48;

/** An owner; it stays when its last unit goes. */
export interface OwnerRecord {
  /** Stays the same through a change of name, and is never another's. */
  readonly id: number;
  /** What names are compared by (quota/names.ts). */
  readonly key: string;
  /** As first seen. */
  readonly name: string;
  readonly type: 'user' | 'organization';
  /** Milliseconds since 1970. */
  readonly since: number;
}

/**
 * Something of the policy: a rule, a group, an assignment. What is in it is the ledger's business; the store
 * keeps any text, by kind and key.
 */
export interface DocumentRecord {
  readonly kind: string;
  readonly key: string;
  readonly text: string;
}

/** A storage root as it was when its units were last found. */
export interface RootRecord {
  readonly path: string;
  readonly device: bigint;
  readonly inode: bigint;
}

export interface SweepRecord {
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly units: number;
}

/** Something that happened, for the record. What there is to say of it is the ledger's business. */
export interface EventRecord {
  /** In ASCII; no two have the same. */
  readonly id: string;
  readonly kind: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Whom it is about, by id and by what the name was compared by, as far as there is either. */
  readonly ownerId: number | null;
  readonly ownerKey: string | null;
  readonly text: string;
}

/** Which events are asked for. */
export interface EventQuery {
  readonly kind?: string;
  /** One of the two is enough. */
  readonly owner?: Pick<EventRecord, 'ownerId' | 'ownerKey'>;
  /** Only what comes after this place in the order. */
  readonly after?: Pick<EventRecord, 'at' | 'id'>;
  /** How many at most; 1 or more. */
  readonly limit: number;
}

/** How near to their limits an owner was when it was last told. */
export interface LevelRecord {
  readonly ownerId: number;
  readonly text: string;
}

/** All that is loaded: everything that a store holds but events and levels, which are asked for. */
export interface Kept {
  readonly units: readonly UnitRecord[];
  /** In the order of `seq`; all else is in no order. */
  readonly deltas: readonly DeltaRecord[];
  readonly owners: readonly OwnerRecord[];
  readonly documents: readonly DocumentRecord[];
  readonly roots: readonly RootRecord[];
  /** The last sweep that ended; null before the first. */
  readonly sweep: SweepRecord | null;
}

/**
 * What one atomic write puts in (replacing what has the same id, key, seq or path) and takes out.
 *
 * Taking out comes first, so what is named in both is there afterwards. Of two records with the
 * same id the later one stays. Taking out what is not there is no fault.
 */
export interface Changes {
  readonly units?: readonly UnitRecord[];
  readonly goneUnits?: readonly string[];
  readonly deltas?: readonly DeltaRecord[];
  readonly goneDeltas?: readonly number[];
  readonly owners?: readonly OwnerRecord[];
  readonly goneOwners?: readonly string[];
  readonly documents?: readonly DocumentRecord[];
  readonly goneDocuments?: readonly Pick<DocumentRecord, 'kind' | 'key'>[];
  readonly roots?: readonly RootRecord[];
  readonly goneRoots?: readonly string[];
  readonly sweep?: SweepRecord;
  readonly events?: readonly EventRecord[];
  /** Those of before this time, in milliseconds since 1970. */
  readonly goneEventsBefore?: number;
  readonly levels?: readonly LevelRecord[];
  /** By owners' ids. */
  readonly goneLevels?: readonly number[];
}

export interface Store {
  /**
   * Everything that is kept, the writes asked for before included. Rejects with `store_refused`
   * where what is kept cannot be understood, as all that reads does.
   */
  load(): Promise<Kept>;
  /** Newest first; of those of the same time the one with the greater id comes first. */
  events(query: EventQuery): Promise<readonly EventRecord[]>;
  /** In no order. */
  levels(): Promise<readonly LevelRecord[]>;
  /**
   * Writes all of it or nothing; writes take effect in the order in which they are asked for.
   *
   * Rejects with `store_away` where the store cannot take it at the moment (disk full, no
   * connection), and with `invalid` where a record is none (a size below 0, a fraction, an
   * unknown leaf). Neither touches the writes before and after it. The caller may try again;
   * where the connection broke during a write it may have been kept after all, which
   * writing it again does not harm.
   */
  write(changes: Changes): Promise<void>;
  /** Ends after the writes under way; what is asked for later is rejected with `store_away`. */
  close(): Promise<void>;
}
