/**
 * The documents in force, and transactions that change them. A transaction is drafted on the documents in
 * force, written, and only then takes effect, as a whole. So two administrators at once lose nothing, and no
 * decision sees half a change.
 *
 * Transactions run one after the other, in the order of the calls.
 */

import { messageOf, SoftquotaError } from '../errors.ts';
import {
  type DocumentNames,
  type DocumentRecord,
  newGeneration,
  newMark,
  type OwnerRecord,
  type PolicyChange,
  type Position,
  type ReplicatedPosition,
  type VolatileChange,
  type WriteBehind,
} from '../store/index.ts';
import { Deadline, runToEnd, type Work, workInSlices } from '../turns.ts';
import { type Author, auditEvents } from './audit-log.ts';
import { type ChangeSet, DocumentsInForce, type Kind, type Snapshot } from './documents-in-force.ts';
import type { EventLog } from './event-log.ts';
import { Lineage } from './lineage.ts';
import type { OwnerRegistry, Owners } from './owner-registry.ts';
import { Transaction } from './transaction.ts';

/** The store that transactions are written to first if several hosts share the documents. */
export interface SharedDocuments {
  /** Returns the position after the change; null: another change was first. Rejects with `store_away`. */
  commit(change: PolicyChange, basis: Position, mark: string): Promise<Position | null>;
  writeVolatile(change: VolatileChange): Promise<void>;
  /** Resolves once all changes of other hosts up to now are in force here. Rejects with `store_away`. */
  catchUp(): Promise<void>;
  /** Takes a lease for some seconds. False: another host has it. Rejects with `store_away`. */
  takeLease(name: string): Promise<boolean>;
}

interface DocumentsOptions {
  readonly owners: OwnerRegistry;
  readonly writeBehind: Pick<WriteBehind, 'note' | 'writeFirst'>;
  readonly usage: {
    unitCountOf(ownerKey: string): number;
    hasUsage(ownerKey: string): boolean;
  };
  readonly eventLog: Pick<EventLog, 'enqueue' | 'remember'>;
  now(): number;
  onApplied(applied: Applied): void;
}

export interface Applied {
  /** The changed documents by kind name and key; null: removed. */
  readonly documents: ReadonlyMap<string, ReadonlyMap<string, unknown>>;
  readonly owners: readonly OwnerRecord[];
  /** Owners in place of deleted ones that still have usage: same name, new id. */
  readonly renewedOwners: readonly OwnerRecord[];
  readonly goneOwners: readonly string[];
}

/** A change that is drafted in slices. */
type LongChange<T> = (transaction: Transaction) => Work<T>;

/** A transaction that is drafted but not written yet. */
interface Draft<T> {
  readonly result: T;
  readonly transaction: Transaction;
  /** The records to write; null: none. */
  readonly records: {
    readonly versioned: Required<PolicyChange>;
    readonly volatile: Required<VolatileChange>;
  } | null;
  /** The position of the documents that it is drafted on. */
  readonly basis: Position | null;
}

/** Most drafts of one transaction. Each change of another host in between needs a new draft. */
const mostTries = 20;
/** Milliseconds that a transaction waits for the shared store: clients have an answer in two seconds. */
const deadlineMs = 1700;

const notBegun = 'the shared store did not answer in time: nothing was changed. Try again';
const unknown =
  'the shared store did not answer in time: it is not known whether the change was made. It may come into force within ' +
  'moments; it is safe to send it again';
const notHereYet =
  'the change is stored, but not yet in force on this host; it comes into force here within moments';

export class Documents {
  readonly #options: DocumentsOptions;
  #inForce = new DocumentsInForce([], []);
  #shared: SharedDocuments | null = null;
  /** The position in the shared store; null: documents never came from one. */
  #position: Position | null = null;
  /** The versions that led to the position. */
  readonly lineage = new Lineage();
  /** Resolves when all transactions so far have ended. */
  #last: Promise<unknown> = Promise.resolve();
  #version = 0;

  constructor(options: DocumentsOptions) {
    this.#options = options;
  }

  get owners(): Owners {
    return this.#options.owners;
  }

  get snapshot(): Snapshot {
    return this.#inForce;
  }

  /** Returns all versioned documents as records of the store. */
  records(): Iterable<DocumentRecord> {
    return this.#inForce.records(durability => durability !== 'volatile');
  }

  volatileRecords(): Iterable<DocumentRecord> {
    return this.#inForce.records(durability => durability === 'volatile');
  }

  /** Returns those of the named documents that exist, as records of the store. */
  volatileOf(names: readonly DocumentNames[]): readonly DocumentRecord[] {
    return names.flatMap(each => this.#inForce.record(each) ?? []);
  }

  isVolatile(kind: string): boolean {
    return this.#inForce.kinds.get(kind)?.durability === 'volatile';
  }

  get position(): Position | null {
    return this.#position;
  }

  /** Number of changes of owners and versioned documents that this process has seen. */
  get version(): number {
    return this.#version;
  }

  /** Writes transactions to a shared store first from now on. */
  shareWith(shared: SharedDocuments): void {
    this.#shared = shared;
  }

  /** Throws `store_refused` if a record cannot be read. */
  load(
    kinds: readonly Kind<unknown>[],
    records: readonly DocumentRecord[],
    replicated: ReplicatedPosition | null,
  ): void {
    if (replicated !== null) {
      const { generation, version, mark } = replicated;
      this.#position = { generation, version, mark };
    }
    this.lineage.load(replicated);
    this.#inForce = new DocumentsInForce(kinds, records);
  }

  /**
   * Makes a change, after all earlier calls. Once this resolves, the draft of `change` is in the store and in
   * force, as a whole. The same write has the audit events, with `by` as the author; null: softquota itself.
   *
   * Rejects with the error of `change`, or with `store_away`: then nothing is changed, unless the message
   * says that only the policy was, or that this is unknown. An unknown change may turn up in the shared store
   * later, and is applied then like a change of another host.
   */
  transact<T>(change: (transaction: Transaction) => T, by: Author | null = null): Promise<T> {
    return this.#inTurn(async transaction => change(transaction), by);
  }

  /** Like `transact`, but drafts a large change in slices, so that it does not block other work. */
  transactInSlices<T>(change: LongChange<T>, by: Author | null = null): Promise<T> {
    return this.#inTurn(transaction => workInSlices(change(transaction)), by);
  }

  /** Returns the result of a change without making it. Throws the error of `change`. */
  dryRun<T>(change: (transaction: Transaction) => T): T {
    return change(this.#begin(this.#options.now()));
  }

  /** Like `dryRun`, but drafts a large change in slices. */
  dryRunInSlices<T>(change: LongChange<T>): Promise<T> {
    return attempted(() => this.#upToDate(() => workInSlices(change(this.#begin(this.#options.now())))));
  }

  /** Resolves once all changes of other hosts up to now are in force here. Rejects with `store_away`. */
  async catchUp(): Promise<void> {
    await this.#shared?.catchUp();
  }

  /** Takes a lease for some seconds. False: another host has it. Rejects with `store_away`. */
  async takeLease(name: string): Promise<boolean> {
    return (await this.#shared?.takeLease(name)) ?? true;
  }

  #begin(now: number): Transaction {
    const { owners, usage } = this.#options;
    return new Transaction(this.#inForce.changeSet(), {
      owners,
      unitCountOf: key => usage.unitCountOf(key),
      now,
    });
  }

  /** Runs transactions one after the other. One that times out while it waits does not change the order. */
  #inTurn<T>(change: (transaction: Transaction) => Promise<T>, by: Author | null): Promise<T> {
    const before = this.#last;
    const turn = this.#makeAfter(before, change, by);
    // Drops the results, since each promise would otherwise retain the one before.
    this.#last = Promise.allSettled([before, turn]).then(() => {});
    return turn;
  }

  async #makeAfter<T>(
    before: Promise<unknown>,
    change: (transaction: Transaction) => Promise<T>,
    by: Author | null,
  ): Promise<T> {
    const deadline = new Deadline(deadlineMs);
    await (this.#shared === null ? before : deadline.wait(before, notBegun));
    return attempted(async () => {
      const drafted = await this.#upToDate(() => this.#draft(change, by));
      if (drafted === null || !(await this.#commit(drafted.done, deadline))) return null;
      return { done: drafted.done.result };
    });
  }

  async #draft<T>(change: (transaction: Transaction) => Promise<T>, by: Author | null): Promise<Draft<T>> {
    const at = this.#options.now();
    const transaction = this.#begin(at);
    const result = await change(transaction);
    const basis = this.#position;
    if (transaction.isEmpty) return { result, transaction, records: null, basis };
    const { kinds } = this.#inForce;
    const around = { owners: this.#options.owners, snapshot: this.#inForce, kinds };
    const events = await workInSlices(auditEvents(transaction, by, at, around));
    const { versioned, volatile } = await workInSlices(transaction.records(kinds));
    return { result, transaction, records: { versioned: { ...versioned, events }, volatile }, basis };
  }

  /** Does work on the documents in force; null: they have changed meanwhile. */
  async #upToDate<T>(work: () => Promise<T>): Promise<{ readonly done: T } | null> {
    const before = this.#version;
    try {
      const done = await work();
      return this.#version === before ? { done } : null;
    } catch (error) {
      if (this.#version === before) throw error;
      return null;
    }
  }

  /** Writes a draft, and puts it in force; false: another host was first, so it has to be drafted again. */
  async #commit({ transaction, records, basis }: Draft<unknown>, deadline: Deadline): Promise<boolean> {
    if (records === null) return true;
    const { versioned, volatile } = records;
    const isVersioned = transaction.owners.size > 0 || hasDocuments(versioned);
    if (this.#shared === null) {
      const documents = [...versioned.documents, ...volatile.documents];
      const goneDocuments = [...versioned.goneDocuments, ...volatile.goneDocuments];
      await this.#commitHere({ ...versioned, documents, goneDocuments }, isVersioned ? basis : null);
      this.#apply(transaction.changes, versioned, isVersioned);
      return true;
    }
    const isDone = !isVersioned || (await this.#commitShared(this.#shared, versioned, basis, deadline));
    if (!isDone) return false;
    if (hasDocuments(volatile)) {
      const writing = deadline.wait(this.#shared.writeVolatile(volatile), unknown);
      await (isVersioned ? writing.catch(madeInPart) : writing);
      this.applyVolatile(volatile);
    }
    if (!isVersioned) this.#options.eventLog.enqueue({ events: versioned.events });
    return true;
  }

  async #commitHere(records: PolicyChange, left: Position | null): Promise<void> {
    const { writeBehind } = this.#options;
    if (left === null) return writeBehind.writeFirst(records);
    // A host that no longer shares its documents begins a generation of its own.
    const apart = newGeneration(left.version + 1);
    await writeBehind.writeFirst({ ...records, replicated: apart });
    this.#position = apart;
    this.lineage.load(apart);
  }

  async #commitShared(
    shared: SharedDocuments,
    versioned: PolicyChange,
    basis: Position | null,
    deadline: Deadline,
  ): Promise<boolean> {
    if (basis === null) {
      const words = 'the shared store was never reached, so the policy cannot be changed yet';
      throw new SoftquotaError('store_away', words);
    }
    const position = await deadline.wait(shared.commit(versioned, basis, newMark()), unknown);
    if (position === null) {
      await deadline.wait(shared.catchUp(), notBegun);
      return false;
    }
    this.#options.eventLog.remember(versioned.events ?? []);
    const at = () => (this.position?.generation === position.generation ? this.position.version : -1);
    const isNext = at() === position.version - 1;
    if (isNext) await this.applyRemote(versioned, [position]);
    if (at() < position.version) await deadline.wait(shared.catchUp(), notHereYet);
    return true;
  }

  /**
   * Reads a change of another host in slices, puts it in force as a whole, and writes it behind. False: the
   * position has changed meanwhile, and nothing was done. Rejects with `store_refused`.
   */
  async applyRemote(change: Omit<PolicyChange, 'events'>, positions: readonly Position[]): Promise<boolean> {
    const before = this.#position;
    const changes = await workInSlices(this.#inForce.changeSetOf(change));
    if (this.#position !== before) return false;
    const { documents = [], goneDocuments = [], owners = [], goneOwners = [] } = change;
    const { writeBehind } = this.#options;
    const replicated = this.lineage.goOn(positions);
    writeBehind.note({ documents, goneDocuments, owners, goneOwners, replicated });
    this.#position = positions.at(-1) ?? null;
    this.#apply(changes, change, true);
    return true;
  }

  /**
   * Replaces owners by those that the shared store has at this position. The position becomes a new object,
   * so that drafts from before, which may have other owner ids, are drafted again.
   */
  applyOwners(owners: readonly OwnerRecord[]): void {
    this.#position = this.#position && { ...this.#position };
    this.#apply(this.#inForce.changeSet(), { owners }, true);
  }

  /** Puts volatile documents in force, and writes them behind. Throws `store_refused`. */
  applyVolatile(change: VolatileChange): void {
    const changes = runToEnd(this.#inForce.changeSetOf(change));
    this.#options.writeBehind.note(change);
    this.#apply(changes, {}, false);
  }

  #apply(
    changes: ChangeSet,
    { owners = [], goneOwners = [] }: Omit<PolicyChange, 'events'>,
    isVersioned: boolean,
  ): void {
    const { owners: known, writeBehind, usage, now, onApplied } = this.#options;
    if (isVersioned) this.#version += 1;
    this.#inForce.apply(changes);
    // The note below replaces older records of owners that still wait to be written.
    const hasUsage = (key: string) => usage.hasUsage(key);
    const renewedOwners = known.change(owners, goneOwners, { now: now(), hasUsage });
    const written = [...owners, ...renewedOwners];
    writeBehind.note({ goneOwners, owners: written });
    onApplied({ documents: changes.changed, owners: written, renewedOwners, goneOwners });
  }
}

/** Repeats an attempt until it is done. An attempt returns null if changes of others came in between. */
async function attempted<T>(attempt: () => Promise<{ readonly done: T } | null>): Promise<T> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const outcome = await attempt();
    if (outcome !== null) return outcome.done;
  }
  throw new SoftquotaError('store_away', 'others change the policy all the time: try again');
}

function hasDocuments({ documents, goneDocuments }: Required<VolatileChange>): boolean {
  return documents.length + goneDocuments.length > 0;
}

/** Says of a change whose part for the policy was made that the rest may be missing. */
function madeInPart(error: unknown): never {
  const rest = 'the policy was changed; sessions, last uses and the like that belong to it perhaps not';
  throw new SoftquotaError('store_away', `${rest}: ${messageOf(error)}`, { cause: error });
}
