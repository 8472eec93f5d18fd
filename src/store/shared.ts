/**
 * The records that several hosts keep together, and what keeps them apart.
 *
 * Its policy (owners and documents) is changed as a whole, each change upon the one before, and every change
 * has a number in a log that is followed. What is published besides only makes following quicker.
 */

import type {
  DocumentRecord,
  OwnerRecord,
  Position,
  RecordChanges,
  RecordStore,
  Records,
  ShareRecord,
} from './record-store.ts';

/** State of a shared store at this moment. */
export interface SharedState {
  /** Null: nothing was ever kept there, or all of it is gone. */
  readonly position: Position | null;
  /** Generations whose policy was given up for this one by somebody's decision. */
  readonly supersedes: readonly string[];
  /** The number of the last change in the log; 0 before the first. */
  readonly lastChange: number;
  /**
   * The server that has it, in this life of its own; null where it does not say. It had it then or before.
   */
  readonly server: string | null;
}

export type SharedPolicy = Pick<Records, 'owners' | 'documents'>;

/** The names that a document is found by. */
export type DocumentNames = Pick<DocumentRecord, 'kind' | 'key'>;

/** Volatile documents, of which the last writer wins. */
export type VolatileChange = Pick<RecordChanges, 'documents' | 'goneDocuments'>;

/** A change of policy, and the events that tell of it. */
export type PolicyChange = Pick<
  RecordChanges,
  'owners' | 'goneOwners' | 'documents' | 'goneDocuments' | 'events'
>;

/** One entry of the log. */
export type Change = { readonly number: number } & (
  | {
      readonly is: 'policy';
      readonly position: Position;
      /** Null: too much to be told here; the policy has to be read. */
      readonly change: Omit<PolicyChange, 'events'> | null;
    }
  | { readonly is: 'owners'; readonly owners: readonly OwnerRecord[] }
  /** These volatile documents have changed: they have to be read; null: too many to be named. */
  | { readonly is: 'volatile'; readonly names: readonly DocumentNames[] | null }
  /** The shares of these owners are others: they have to be read. */
  | { readonly is: 'shares'; readonly ownerKeys: readonly string[] }
);

/** A host that takes part. */
export interface HostRecord {
  readonly host: string;
  /** When its daemon was last heard of, in milliseconds since 1970 by the store's clock. */
  readonly seenAt: number;
  /** Tells whether its daemon is taken to be running. */
  readonly isAlive: boolean;
  /** The version of the softquota that ran there last. */
  readonly version: string;
}

/** The process that takes a host's name. */
export interface HostClaim {
  readonly host: string;
  /** Stored beside the host's own store, so that the host is the same after a restart. */
  readonly token: string;
  /** A mark of this process alone. */
  readonly life: string;
  readonly version: string;
  /** It had the name when it claimed it last. */
  readonly isHeld?: boolean;
}

/**
 * `regained`: it has the name, which a daemon that began later had until now, and does not know yet. `taken`:
 * another one that lives has it. `former_life`: whether the daemon that had it before lives is not known yet.
 * `young_store`: nor whether there was one, as the store may have lost that.
 */
export type ClaimOutcome = 'kept' | 'regained' | 'taken' | 'former_life' | 'young_store';

/** Something about the server that its administrator should change. */
export interface ServerAdvice {
  readonly code:
    | 'dropped_at_start'
    | 'no_append_only'
    | 'evicts'
    | 'no_password'
    | 'too_old'
    | 'replica_written'
    | 'not_durable_enough';
  readonly message: string;
  /** A line of the server's configuration, or what else to do. */
  readonly mend: string;
}

/** The shares of some owners on all hosts. */
export interface SharesPage {
  readonly ownerKeys: readonly string[];
  readonly shares: readonly ShareRecord[];
  readonly isLast: boolean;
}

export interface SharedStore extends RecordStore {
  state(): Promise<SharedState>;
  /** The policy, and how the store stands with it. */
  policy(): Promise<{ readonly state: SharedState; readonly policy: SharedPolicy }>;
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
  /** Puts and takes out volatile documents, whatever is there. */
  writeVolatile(change: VolatileChange): Promise<void>;
  /** Those of these volatile documents that are there; all without names. Null: none were ever written. */
  volatile(names: readonly DocumentNames[] | null): Promise<readonly DocumentRecord[] | null>;
  /**
   * Changes that the store had, and has lost, in one: from `basis` to the last of the positions, whoever was
   * put on record since. `behind` where `commit` gives null.
   */
  restore(
    change: Omit<PolicyChange, 'events'>,
    basis: Position,
    positions: readonly Position[],
  ): Promise<'kept' | 'conflict'>;
  /**
   * Puts a whole policy in place of what is there, as the first of a generation. `behind`: the store does not
   * stand at `basis` (null: is not empty) any more.
   */
  replace(
    policy: SharedPolicy,
    basis: Position | null,
    next: Position,
    supersedes: readonly string[],
  ): Promise<'kept' | 'conflict'>;
  /** Puts owners on record whose keys nobody has; gives those who had one of the keys before. */
  enroll(owners: readonly OwnerRecord[]): Promise<readonly OwnerRecord[]>;
  /** At most `limit` entries after that number; null: there is a gap, so all has to be read. */
  changesAfter(number: number, limit: number): Promise<readonly Change[] | null>;
  /** The mark of the change that made this version; null: the log does not tell it any more. */
  markOf(version: Pick<Position, 'generation' | 'version'>): Promise<string | null>;
  /** The shares of these owners, of all hosts. */
  sharesOf(ownerKeys: readonly string[]): Promise<readonly ShareRecord[]>;
  /**
   * All shares, some owners at a time, those whose shares were changed last at the end. What is changed while
   * they are read may be among them or not, and is in the log. Rejects as `load` does.
   */
  sharePages(): AsyncIterable<SharesPage>;
  /**
   * Calls when there may be something new, a connection that is back included, until what it gives is called.
   */
  follow(told: () => void): () => void;
  /**
   * Takes the host's name, or keeps it. Of two daemons that live both, the one that began first has it.
   */
  claim(claim: HostClaim): Promise<ClaimOutcome>;
  /** Gives the name up, so that another daemon may have it at once. */
  release(claim: HostClaim): Promise<void>;
  /**
   * Takes a task that one host has at a time, or keeps it for as long as it would keep its name. False:
   * another has it.
   */
  takeTask(task: string, host: string): Promise<boolean>;
  /** Gives it up, where the host has it. */
  leaveTask(task: string, host: string): Promise<void>;
  /**
   * Gives the hosts that walk what several of them mount, by its name. A host that has taken it walks it
   * until it is left, or the host forgotten.
   */
  walkers(): Promise<ReadonlyMap<string, string>>;
  /** Takes it for a host that has its name, unless another has it; gives the one that has it now. */
  takeWalk(name: string, host: string): Promise<string>;
  /** Gives it up, where the host has it. */
  leaveWalk(name: string, host: string): Promise<void>;
  /** Calls all that listen at this moment, this host too; nobody keeps what was said. */
  say(text: string): Promise<void>;
  /** Calls with what is said, as far as it arrives, until what it gives is called. */
  listen(heard: (text: string) => void): () => void;
  hosts(): Promise<readonly HostRecord[]>;
  /**
   * Takes a host out, with its shares. Rejects with `conflict` while it lives, `not_found` where there is
   * none.
   */
  forgetHost(host: string): Promise<void>;
  /** `lacksPolicy`: the store is known to have had a policy that is gone. */
  advice(lacksPolicy?: boolean): Promise<readonly ServerAdvice[]>;
}
