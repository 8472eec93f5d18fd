/**
 * The records that several hosts keep together, and what keeps them apart.
 *
 * Its policy (owners and documents) is changed as a whole, each change upon the one before, and what a
 * version changed is told. What each host stores, and documents without a version, are followed by numbers.
 * What is published besides only makes following quicker.
 */

import type {
  DocumentRecord,
  LargeUnit,
  OwnerRecord,
  Position,
  RecordChanges,
  RecordStore,
  ShareRecord,
} from './record-store.ts';

/** State of a shared store at this moment. */
export interface SharedState {
  /** Null: nothing was ever kept there, or all of it is gone. */
  readonly position: Position | null;
  /** Generations whose policy was given up for this one by somebody's decision. */
  readonly supersedes: readonly string[];
  /** The server that has it, in its present life; null where it does not say. It had it then or before. */
  readonly server: string | null;
  /** Place up to which each host has told its usage, as `placeIn` reads it. */
  readonly usage: ReadonlyMap<string, string>;
  /** Place up to which volatile documents were written, as `placeIn` reads it; null: none ever were. */
  readonly volatile: string | null;
}

/** Reads "EPOCH NUMBER", as which the places of what is followed are kept; null: it is none. */
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

/** Volatile documents, of which the last writer wins. */
export type VolatileChange = Pick<RecordChanges, 'documents' | 'goneDocuments'>;

/** A change of policy, and the events that tell of it. */
export type PolicyChange = Pick<
  RecordChanges,
  'owners' | 'goneOwners' | 'documents' | 'goneDocuments' | 'events'
>;

export type PolicyRecords = Required<Omit<PolicyChange, 'events'>>;

/** Changes of the policy since a version. */
export interface PolicySince {
  /** Position after them; null: there is no policy. */
  readonly position: Position | null;
  /** The mark that the version has there; null: it is not told any more. */
  readonly markThere: string | null;
  /** The versions after it, as far as they are told, the position last. */
  readonly versions: readonly Position[];
  /** Null: it is too much, or not told any more; the policy has to be read. */
  readonly change: PolicyRecords | null;
}

export interface OwnerComparison {
  /** The mark of the policy that was compared with; null: there is none. */
  readonly mark: string | null;
  readonly lacking: readonly OwnerRecord[];
  /** Their records in the store. */
  readonly others: readonly OwnerRecord[];
}

export interface HostRecord {
  readonly host: string;
  /** When its daemon was last heard of, in milliseconds since 1970 by the store's clock. */
  readonly seenAt: number;
  /** Tells whether its daemon is taken to be running. */
  readonly isAlive: boolean;
  /** The version of the softquota that ran there last. */
  readonly version: string;
  /** Its policy is not the one in the store. */
  readonly isParted: boolean;
  /** The directories that its storage begins with; null: it does not know them yet. */
  readonly roots: readonly HostRoot[] | null;
}

/** A directory that a host's storage begins with. */
export interface HostRoot {
  /** Its name for all hosts that mount it, such as `nas:/export/git`. */
  readonly source: string;
  /** Other hosts may mount it. */
  readonly isOfNetwork: boolean;
  /** The host measures it. */
  readonly isWalked: boolean;
}

/** The process that takes a host's name. */
export interface HostClaim {
  readonly host: string;
  /** Stored beside the host's own store, so that the host is the same after a restart. */
  readonly token: string;
  /** A mark of this process alone. */
  readonly life: string;
  readonly version: string;
  /**
   * The process begins: it takes the place of one with the same token. `unsure`: unless the store knows
   * neither the name's holder nor the host. Null: it goes on.
   */
  readonly begins?: 'unsure' | 'sure' | null;
  readonly isParted?: boolean;
  readonly roots?: HostRecord['roots'];
}

/** `taken`: another process has it. `unknown`: the store may have lost who has it. */
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
  /** A line of the server's configuration, or what else to do. */
  readonly mend: string;
}

/** A host's word on what its owners store there. */
export interface TellUsage {
  /** Place from which it goes on; null: nothing was told, or it was lost. */
  readonly from: string | null;
  /** Place that it comes to; null: what is told is not whole yet, and nobody has to follow. */
  readonly to: string | null;
  /** By owners' keys, at most 1000, as `usageText` writes it. */
  readonly usage: ReadonlyMap<string, string>;
  /** Keys of owners who store nothing there any more. */
  readonly gone: readonly string[];
  /** By owners' keys. */
  readonly largest: ReadonlyMap<string, readonly LargeUnit[]>;
}

export interface ToldShare {
  readonly share: ShareRecord;
  /** The text that `usageText` wrote. */
  readonly text: string;
}

/** Usage that a host told after a number. */
export interface UsageChanges {
  /** Number of the last of them. */
  readonly number: number;
  /** By owners' keys; null: nothing is stored there any more. */
  readonly shares: readonly (readonly [ownerKey: string, share: ShareRecord | null])[];
  readonly isMore: boolean;
}

/** Someone who follows a shared store, as far as messages arrive. */
export interface Listener {
  /** Called when there may be news, or the connection is back. */
  changed(): void;
  /** Called with what a host said. */
  said(text: string): void;
}

/** Everything rejects with `store_away`, and `store_refused` where it is not understood, or not for us. */
export interface SharedStore extends RecordStore {
  state(): Promise<SharedState>;
  policy(): Promise<PolicyRead>;
  /** Gives those of these owners whom the store lacks, and those whom it knows otherwise. */
  compareOwners(known: readonly OwnerRecord[]): Promise<OwnerComparison>;
  /** Reads what has changed in the policy since a version. */
  policySince(version: Pick<Position, 'version'>): Promise<PolicySince>;
  /**
   * Makes one change of documents and owners, as a whole, upon `basis`, and has as many replicas acknowledge
   * it as the settings ask for. Gives where the store stands with it. Null, and nothing is written: another
   * change came first, the store has another owner under a key, or another server than the one named has its
   * place. Rejects with `store_away`, also where replicas did not acknowledge it in time: then it may be in
   * force all the same.
   */
  commit(
    change: PolicyChange,
    basis: Position,
    mark: string,
    server?: string | null,
  ): Promise<Position | null>;
  /**
   * Puts a whole policy in place of what is there, at the last of the positions that led to it. `conflict`:
   * the store does not stand at `basis` (null: is not empty) any more.
   */
  replace(
    policy: SharedPolicy,
    basis: Position | null,
    positions: readonly Position[],
    supersedes: readonly string[],
  ): Promise<'kept' | 'conflict'>;
  /** Puts and takes out volatile documents, whatever is there. */
  writeVolatile(change: VolatileChange): Promise<void>;
  /** Those of these volatile documents that are there; all without names. */
  volatile(names: readonly DocumentNames[] | null): Promise<readonly DocumentRecord[]>;
  /** The names of volatile documents that were written after that number; null: all have to be read. */
  volatileNamesAfter(number: number): Promise<readonly DocumentNames[] | null>;
  /** Writes what a host stores; `conflict`: the store does not stand at `from`, and nothing is written. */
  tellUsage(host: string, usage: TellUsage): Promise<'kept' | 'conflict'>;
  /** Reads everything that a host told, some owners at a time. */
  usage(host: string): AsyncIterable<readonly ToldShare[]>;
  usageAfter(host: string, number: number): Promise<UsageChanges>;
  /** The largest units of an owner on these hosts, as they told, largest first. */
  largestUnits(
    ownerKey: string,
    hosts: readonly string[],
  ): Promise<ReadonlyMap<string, readonly LargeUnit[]>>;
  /** The largest units of all owners on a host, some owners at a time. */
  allLargest(
    host: string,
  ): AsyncIterable<readonly (readonly [ownerKey: string, units: readonly LargeUnit[]])[]>;
  /** Calls the listener, in place of the one before, until the store is closed. */
  follow(listener: Listener): void;
  /** Takes the host's name, or keeps it. */
  claim(claim: HostClaim): Promise<ClaimOutcome>;
  /** Gives the name up, so that another daemon may have it at once. */
  release(claim: HostClaim): Promise<void>;
  /** Takes a task that one host has at a time, or keeps it, as long as its name. False: another has it. */
  takeTask(task: string, host: string): Promise<boolean>;
  /** Gives it up, where the host has it. */
  leaveTask(task: string, host: string): Promise<void>;
  /** Calls all that listen at this moment, this host too, with an object as JSON; nobody keeps it. */
  say(text: string): Promise<void>;
  hosts(): Promise<readonly HostRecord[]>;
  /**
   * Takes a host out, with its usage. Rejects with `conflict` while it lives, `not_found` where there is
   * none; `isKnown`: it counts, although the store may have lost it.
   */
  forgetHost(host: string, isKnown?: boolean): Promise<void>;
  /** `lacksPolicy`: the server is known to have lost a policy that it had. */
  advice(lacksPolicy?: boolean): Promise<readonly ServerAdvice[]>;
  /** Ends after the writes under way; what is asked for later is rejected with `store_away`. */
  close(): Promise<void>;
}
