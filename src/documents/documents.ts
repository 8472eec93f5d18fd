/**
 * The documents in force, and transactions upon them: drafted on what is in force, written, and only then in
 * force, as a whole. So two administrators at once lose nothing, and nobody ever decides by half a change.
 *
 * Transactions are made one after the other, in the order in which they are asked for.
 */

import { SoftquotaError } from '../errors.ts';
import { runToEnd, type Work, workInSlices } from '../slices.ts';
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
import { AuditLog, type Author } from './audit-log.ts';
import type { ChangeSet, Snapshot } from './change-set.ts';
import { DocumentsInForce } from './documents-in-force.ts';
import type { EventLog } from './event-log.ts';
import type { Kind } from './kind.ts';
import { Lineage } from './lineage.ts';
import type { OwnerRegistry, Owners } from './owner-registry.ts';
import {
  Deadline,
  deadlineMs,
  notBegun,
  notHereYet,
  type SharedDocuments,
  split,
  unknown,
} from './shared-documents.ts';
import { Transaction } from './transaction.ts';

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
  /** By the kind's name and the key. */
  readonly documents: ReadonlyMap<string, ReadonlyMap<string, unknown>>;
  readonly owners: readonly OwnerRecord[];
  /** Owners who were to go and have usage: each is somebody new now. */
  readonly renewedOwners: readonly OwnerRecord[];
  readonly goneOwners: readonly string[];
}

/** A change that may rest while it is drafted. */
type LongChange<T> = (transaction: Transaction) => Work<T>;

/** A transaction that is drafted, and not written yet. */
interface Draft<T> {
  readonly result: T;
  readonly transaction: Transaction;
  /** Null: there is nothing to write. */
  readonly records: PolicyChange | null;
  /** Position in the shared store of what it is drafted on. */
  readonly basis: Position | null;
}

/** Drafts of one transaction, when others' changes come in between. */
const mostTries = 20;

export class Documents {
  readonly #options: DocumentsOptions;
  #inForce = new DocumentsInForce([], []);
  readonly #auditLog = new AuditLog();
  #shared: SharedDocuments | null = null;
  /** Position in the shared store; null: no documents were ever taken from one. */
  #position: Position | null = null;
  /** The versions that led to the position. */
  readonly lineage = new Lineage();
  /** Ends when all transactions that were asked for have ended. */
  #last: Promise<unknown> = Promise.resolve();
  /** Number of changes of anything but volatile documents. */
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

  /** The documents in force as the store keeps them, but for volatile ones. */
  records(): Iterable<DocumentRecord> {
    return this.#inForce.records(durability => durability !== 'volatile');
  }

  volatileRecords(): Iterable<DocumentRecord> {
    return this.#inForce.records(durability => durability === 'volatile');
  }

  /** Those of these volatile documents that are in force, as the store keeps them. */
  volatileOf(names: readonly DocumentNames[]): readonly DocumentRecord[] {
    return names.flatMap(each => this.#inForce.record(each) ?? []);
  }

  isVolatile(kind: string): boolean {
    return this.#inForce.kinds.get(kind)?.durability === 'volatile';
  }

  get position(): Position | null {
    return this.#position;
  }

  /** From now on transactions are written there first. */
  shareWith(shared: SharedDocuments): void {
    this.#shared = shared;
  }

  /** Throws `store_refused` where what is kept cannot be read. */
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
   * Makes a change, after all those that were asked for before. What `change` drafts is in the store and in
   * force, as a whole, once this resolves. The same write has the events that say who did what: `by` asked
   * for it, or else softquota did it by itself.
   *
   * Rejects with what `change` throws, or `store_away`: then nothing is changed, unless the message says that
   * this is not known. Such a change may be found in the shared store later, and is applied then as if
   * another host had made it.
   */
  transact<T>(change: (transaction: Transaction) => T, by: Author | null = null): Promise<T> {
    return this.#inTurn(async transaction => change(transaction), by);
  }

  /** Does what `transact` does, in slices: a large change is drafted while others are answered. */
  transactInSlices<T>(change: LongChange<T>, by: Author | null = null): Promise<T> {
    return this.#inTurn(transaction => workInSlices(change(transaction)), by);
  }

  /** Gives what a change would give now, without making it. Throws what `change` throws. */
  dryRun<T>(change: (transaction: Transaction) => T): T {
    return change(this.#begin(this.#options.now()));
  }

  /** Drafts a change that may be large, otherwise like `dryRun`. */
  dryRunInSlices<T>(change: LongChange<T>): Promise<T> {
    return attempted(() => this.#upToDate(() => workInSlices(change(this.#begin(this.#options.now())))));
  }

  /** Resolves once what others changed by now is in force here. Rejects with `store_away`. */
  async catchUp(): Promise<void> {
    await this.#shared?.catchUp();
  }

  /** Takes what one host does at a time, for seconds. False: another has it. Rejects with `store_away`. */
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

  /** Runs one transaction after the other. One that gives up waiting lets none overtake those before it. */
  #inTurn<T>(change: (transaction: Transaction) => Promise<T>, by: Author | null): Promise<T> {
    const before = this.#last;
    const turn = this.#makeAfter(before, change, by);
    // The results of turns are not kept: each would hold on to the one before.
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
    const around = { owners: this.#options.owners, snapshot: this.#inForce, kinds: this.#inForce.kinds };
    const events = await workInSlices(this.#auditLog.eventsOf(transaction, by, at, around));
    const records = { ...(await workInSlices(transaction.records())), events };
    return { result, transaction, records, basis };
  }

  /** Does something with what is in force; null: that has changed meanwhile. */
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

  /** Writes it, and puts it in force; false: others came first, and it has to be drafted again. */
  async #commit({ transaction, records, basis }: Draft<unknown>, deadline: Deadline): Promise<boolean> {
    if (records === null) return true;
    const isVersioned = transaction.isVersioned(this.#inForce.kinds);
    if (this.#shared === null) {
      await this.#commitHere(records, isVersioned ? basis : null);
      this.#apply(transaction.changes, records, isVersioned);
      return true;
    }
    const { versioned, volatile } = split(records, kind => this.isVolatile(kind));
    const isDone = !isVersioned || (await this.#commitShared(this.#shared, versioned, basis, deadline));
    if (!isDone) return false;
    if (volatile !== null) {
      await deadline.wait(this.#shared.writeVolatile(volatile), unknown);
      this.applyVolatile(volatile);
    }
    if (!isVersioned) this.#options.eventLog.enqueue({ events: records.events ?? [] });
    return true;
  }

  async #commitHere(records: PolicyChange, left: Position | null): Promise<void> {
    const { writeBehind } = this.#options;
    if (left === null) return writeBehind.writeFirst(records);
    // A host that has left the others leaves the generation of their changes, too.
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
    const at = this.position?.generation === position.generation ? this.position.version : null;
    if (at === position.version - 1) this.applyRemote(versioned, [position]);
    else if (at === null || at < position.version) await deadline.wait(shared.catchUp(), notHereYet);
    return true;
  }

  /** Puts what others changed in force, written behind, as a whole. Throws `store_refused`. */
  applyRemote(change: Omit<PolicyChange, 'events'>, positions: readonly Position[]): void {
    this.#applyRemote(runToEnd(this.#inForce.changeSetOf(change)), change, positions);
  }

  /** Does as `applyRemote` without haste. False: others changed meanwhile, and nothing was done. */
  async applyRemoteInSlices(
    change: Omit<PolicyChange, 'events'>,
    positions: readonly Position[],
  ): Promise<boolean> {
    const before = this.#position;
    const changes = await workInSlices(this.#inForce.changeSetOf(change));
    if (this.#position !== before) return false;
    this.#applyRemote(changes, change, positions);
    return true;
  }

  /**
   * Takes owners as the shared store has them at the position in force. It is another object then: a change
   * that was drafted before may speak of owners by ids that nobody has now.
   */
  applyOwners(owners: readonly OwnerRecord[]): void {
    this.#position = this.#position && { ...this.#position };
    this.#apply(this.#inForce.changeSet(), { owners }, true);
  }

  /** Puts volatile documents in force that others wrote; they are written behind. Throws `store_refused`. */
  applyVolatile(change: VolatileChange): void {
    const changes = runToEnd(this.#inForce.changeSetOf(change));
    this.#options.writeBehind.note(change);
    this.#apply(changes, {}, false);
  }

  #applyRemote(
    changes: ChangeSet,
    change: Omit<PolicyChange, 'events'>,
    positions: readonly Position[],
  ): void {
    const { documents = [], goneDocuments = [], owners = [], goneOwners = [] } = change;
    const { writeBehind } = this.#options;
    const replicated = this.lineage.goOn(positions);
    writeBehind.note({ documents, goneDocuments, owners, goneOwners, replicated });
    this.#position = positions.at(-1) ?? null;
    this.#apply(changes, change, true);
  }

  #apply(
    changes: ChangeSet,
    { owners = [], goneOwners = [] }: Omit<PolicyChange, 'events'>,
    isVersioned: boolean,
  ): void {
    const { owners: known, writeBehind, usage, now, onApplied } = this.#options;
    if (isVersioned) this.#version += 1;
    this.#inForce.apply(changes);
    // Records of these owners that waited to be written are older than what is written now.
    const hasUsage = (key: string) => usage.hasUsage(key);
    const renewedOwners = known.change(owners, goneOwners, { now: now(), hasUsage });
    const written = [...owners, ...renewedOwners];
    writeBehind.note({ owners: written });
    onApplied({ documents: changes.changed, owners: written, renewedOwners, goneOwners });
  }
}

/** Makes one attempt after the other, until one is `done`; null: others' changes came in between. */
async function attempted<T>(attempt: () => Promise<{ readonly done: T } | null>): Promise<T> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const outcome = await attempt();
    if (outcome !== null) return outcome.done;
  }
  throw new SoftquotaError('store_away', 'others change the policy all the time: try again');
}
