/**
 * The records of the store that several hosts share.
 *
 * Its policy (owners and documents) changes as a whole, each change upon the one before, and each version
 * says what it changed. The usage on each host and the volatile documents are followed by numbers. Messages
 * only make following faster.
 */

import { z } from 'zod';
import type {
  DocumentRecord,
  LargeUnit,
  OwnerRecord,
  Position,
  RecordChanges,
  ShareRecord,
} from './record-store.ts';

/** Shapes of records that come from a file or another host. Times are milliseconds since 1970. */
export const whole = z.number().int();

export const ownerShape = z.strictObject({
  key: z.string(),
  id: whole,
  name: z.string(),
  type: z.enum(['user', 'organization']),
  since: whole,
});

/** State of a shared store at this moment. */
export interface SharedState {
  /** Null: nothing was ever stored there, or all of it is gone. */
  readonly position: Position | null;
  /** Generations whose policy an administrator has replaced by this one. */
  readonly supersedes: readonly string[];
  /** Id of the server's process, read just before the state; null if it does not say. */
  readonly server: string | null;
  /** Position up to which each host has reported its usage, as `placeIn` reads it. */
  readonly usage: ReadonlyMap<string, string>;
  /**
   * Position up to which volatile documents were written, as `placeIn` reads it; null: there never were any.
   */
  readonly volatile: string | null;
}

/** Reads a position of the form "EPOCH NUMBER"; null for any other text. */
export function placeIn(text: string): { readonly epoch: string; readonly number: number } | null {
  const [, epoch, digits] = /^(\w+) (\d{1,15})$/.exec(text) ?? [];
  return epoch === undefined ? null : { epoch, number: Number(digits) };
}

export interface SharedPolicy {
  readonly owners: readonly OwnerRecord[];
  readonly documents: readonly DocumentRecord[];
}

export interface PolicyRead {
  readonly state: SharedState;
  readonly policy: SharedPolicy;
}

export type DocumentNames = Pick<DocumentRecord, 'kind' | 'key'>;

/** Changes of volatile documents, of which the last write wins. */
export type VolatileChange = Pick<RecordChanges, 'documents' | 'goneDocuments'>;

/** A write of a volatile document; text null: its deletion. */
export interface VolatileWrite extends DocumentNames {
  readonly text: string | null;
}

/** A change of policy, with its events. */
export type PolicyChange = Pick<
  RecordChanges,
  'owners' | 'goneOwners' | 'documents' | 'goneDocuments' | 'events'
>;

export type PolicyRecords = Required<Omit<PolicyChange, 'events'>>;

/** Changes of the policy since a version. */
export interface PolicySince {
  /** Position after them; null: there is no policy. */
  readonly position: Position | null;
  /** The mark of that version in the store; null: the store does not have it any more. */
  readonly markThere: string | null;
  /** The versions after it that the store still has, the position last. */
  readonly versions: readonly Position[];
  /** Null: it is too much, or not known any more, so the whole policy has to be read. */
  readonly change: PolicyRecords | null;
}

export interface HostRecord {
  readonly host: string;
  /** The last sign of life of its daemon, in milliseconds since 1970 by the store's clock. */
  readonly seenAt: number;
  /** Tells whether its daemon seems to be running. */
  readonly isAlive: boolean;
  /** The version of softquota that last ran there. */
  readonly version: string;
  /** Its policy has diverged from the one in the store. */
  readonly isParted: boolean;
  /** The directories that its storage begins with; null: it has not found them yet. */
  readonly roots: readonly HostRoot[] | null;
  /** The storage of a Gitaly Cluster that it counts (`[forge] PRAEFECT_STORAGE`); null: none. */
  readonly praefectStorage: string | null;
  /** It has read the database of a forge. */
  readonly readsForge: boolean;
}

/** A directory that a host's storage begins with. */
export interface HostRoot {
  /** Its name on all hosts that mount it, such as `nas:/export/git`. */
  readonly source: string;
  /** Other hosts may mount it. */
  readonly isOfNetwork: boolean;
  /** The host measures it. */
  readonly isWalked: boolean;
}

/** The claim of a process to a host's name. */
export interface HostClaim {
  readonly host: string;
  /** Stored beside the host's own store, so that after a restart the host is recognized. */
  readonly token: string;
  /** Identifies this process. */
  readonly life: string;
  readonly version: string;
  /**
   * Set when the process starts: it replaces an earlier one with the same token. `unsure`: not if the store
   * knows neither the name's holder nor the host. Null: the process renews its claim.
   */
  readonly begins?: 'unsure' | 'sure' | null;
  readonly isParted?: boolean;
  readonly roots?: HostRecord['roots'];
  readonly praefectStorage?: HostRecord['praefectStorage'];
  /** Null: as the store has it, since the host has not read its forge yet, or not again. */
  readonly readsForge?: boolean | null;
}

/** `taken`: another process has the name. `unknown`: the store may have lost who has it. */
export type ClaimOutcome = 'kept' | 'taken' | 'unknown';

/** Something about the server that its administrator should change. */
export interface ServerAdvice {
  readonly code:
    | 'clock_differs'
    | 'dropped_at_start'
    | 'no_append_only'
    | 'no_messages'
    | 'evicts'
    | 'no_password'
    | 'too_old'
    | 'replica_written'
    | 'not_durable_enough';
  readonly message: string;
  /** A line of the server's configuration, or another remedy. */
  readonly mend: string;
}

/** A report of a host's usage, or a part of one. */
export interface TellUsage {
  /** Position that it continues; null: nothing was reported, or it was lost. */
  readonly from: string | null;
  /** Position that it leads to; null: the report is incomplete, and other hosts need not read it yet. */
  readonly to: string | null;
  /** By owners' keys, at most 1000, as `usageText` writes them. */
  readonly usage: ReadonlyMap<string, string>;
  /** Keys of owners who store nothing on the host any more. */
  readonly gone: readonly string[];
  /** By owners' keys. */
  readonly largest: ReadonlyMap<string, readonly LargeUnit[]>;
  /** Names of owners who may not be on record in the store, by their keys. */
  readonly names?: ReadonlyMap<string, string>;
  /** Fields of the host's usage that belong to no owner, and are removed. */
  readonly strayFields?: readonly string[];
}

/**
 * Usage of an owner that a host reported. Share null: the owner stores nothing there any more. The name comes
 * with owners who may not be on record.
 */
export type ToldShare = readonly [ownerKey: string, share: ShareRecord | null, ownerName?: string];
