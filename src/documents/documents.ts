/**
 * The documents in force, and transactions upon them, one after the other: drafted on what is in force, written, and only
 * then in force, as a whole. So two administrators at once lose nothing, and nobody ever decides by half a change.
 */

import { SoftquotaError } from '../errors.ts';
import { inSlices } from '../slices.ts';
import {
  type Adopted,
  type DocumentRecord,
  type EventRecord,
  newGeneration,
  newMark,
  type OwnerRecord,
  type PolicyChange,
  type Position,
  type WriteBehind,
} from '../store/index.ts';
import { AuditLog, type Author } from './audit-log.ts';
import type { ChangeSet } from './change-set.ts';
import { Deadline } from './deadline.ts';
import { DocumentStore } from './document-store.ts';
import type { Kind } from './kind.ts';
import { Lineage } from './lineage.ts';
import type { OwnerRegistry, Owners } from './owner-registry.ts';
import { RecentEvents } from './recent-events.ts';
import type { Snapshot } from './snapshot.ts';
import { Transaction } from './transaction.ts';

/** What the documents have to know of usage. */
export interface UsageOfOwners {
  /** How many units an owner has, on all hosts. */
  unitCountOf(ownerKey: string): number;
  /** Whether anything is stored or reported of an owner. */
  hasUsage(ownerKey: string): boolean;
}

export interface DocumentsOptions {
  readonly owners: OwnerRegistry;
  readonly writeBehind: Pick<WriteBehind, 'now' | 'owner' | 'ownerGone' | 'applied'>;
  readonly usage: UsageOfOwners;
  /** Milliseconds since 1970. */
  now(): number;
  /** Called when something has come into force. */
  onApplied(applied: Applied): void;
}

/** What has come into force. */
export interface Applied {
  /** By the kind's name and the key. */
  readonly documents: ReadonlyMap<string, ReadonlyMap<string, unknown>>;
  readonly owners: readonly OwnerRecord[];
  /** Owners who were to go and have usage: each is somebody new now. */
  readonly renewedOwners: readonly OwnerRecord[];
  readonly goneOwners: readonly string[];
}

/** Where transactions are written first when several hosts share the documents. */
export interface SharedDocuments {
  /** `behind`: the store does not stand at `basis` any more, and nothing is written. Rejects with `store_away`. */
  commit(change: PolicyChange, basis: Position, next: Position): Promise<'kept' | 'behind'>;
  /** Resolves once what others changed by now is in force here. Rejects with `store_away`. */
  catchUp(): Promise<void>;
}

interface Drafted<T> {
  readonly result: T;
  readonly changes: ChangeSet;
  /** Null: there is nothing to write. */
  readonly records: PolicyChange | null;
}

/** How long a transaction waits for the shared store, in milliseconds: whoever asks is answered within two seconds. */
const deadlineMs = 1700;

const notBegun = 'the shared store does not answer in time: nothing was changed. Try again';

const unknown =
  'the shared store did not answer in time: it is not known whether the change was made. It may come into force within ' +
  'moments; to ask for it again does no harm';

/** Drafts of one transaction, when others' changes come in between. */
const mostTries = 20;

export class Documents {
  readonly #options: DocumentsOptions;
  #store = new DocumentStore([], []);
  readonly #auditLog = new AuditLog();
  #shared: SharedDocuments | null = null;
  /** Where the documents in force stand in the shared store; null: none were ever taken from one. */
  #position: Position | null = null;
  readonly #lineage = new Lineage();
  readonly #recentEvents = new RecentEvents();
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: DocumentsOptions) {
    this.#options = options;
  }

  /** Who is known. */
  get owners(): Owners {
    return this.#options.owners;
  }

  /** The documents in force. */
  get snapshot(): Snapshot {
    return this.#store;
  }

  /** The documents in force, as the store keeps them. */
  records(): Iterable<DocumentRecord> {
    return this.#store.records();
  }

  /** The same but for what is passing. */
  *recordsToKeep(): Generator<DocumentRecord> {
    for (const record of this.records()) {
      if (this.#store.kinds.get(record.kind)?.isPassing !== true) yield record;
    }
  }

  /** It is passing, or in force already as far as there is anything to tell of it. Throws `store_refused`. */
  changesNothing(record: DocumentRecord): boolean {
    const { key } = record;
    const kind = this.#store.kinds.get(record.kind);
    if (kind?.isPassing === true) return true;
    if (kind === undefined || this.#store.get(kind, key) === undefined) return false;
    const described = (snapshot: Snapshot) =>
      JSON.stringify(kind.describe?.(key, snapshot.get(kind, key), String));
    return (
      kind.describe !== undefined &&
      described(this.#store.changeSetOf({ documents: [record] })) === described(this.#store)
    );
  }

  get isEmpty(): boolean {
    for (const _ of this.recordsToKeep()) return false;
    return true;
  }

  get position(): Position | null {
    return this.#position;
  }

  /** What led to the position. */
  get lineage(): Pick<Lineage, 'departedSince' | 'markOf' | 'since'> {
    return this.#lineage;
  }

  /** Events of the last transactions that were asked for here, which a store that falls back may lose. */
  get recentEvents(): readonly EventRecord[] {
    return this.#recentEvents.all;
  }

  /** From now on transactions are written there first. */
  shareWith(shared: SharedDocuments): void {
    this.#shared = shared;
  }

  /** Throws `store_refused` where what is kept cannot be read. */
  load(kinds: readonly Kind<unknown>[], records: readonly DocumentRecord[], adopted: Adopted | null): void {
    if (adopted !== null) {
      const { generation, version, mark } = adopted;
      this.#position = { generation, version, mark };
    }
    this.#lineage.load(adopted);
    this.#store = new DocumentStore(kinds, records);
  }

  /**
   * Makes a change, after all those asked for before. What `change` drafts is in the store and in force, as a whole, once
   * this resolves. The same write has the events that say who did what: `by` asked for it, or else softquota did it by itself.
   *
   * Rejects with what `change` throws, or `store_away`: then nothing is changed, unless the message says that this is not
   * known. Such a change may be found in the shared store later, and is applied then as if another host had made it.
   */
  async transact<T>(change: (transaction: Transaction) => T, by: Author | null = null): Promise<T> {
    const before = this.#last;
    const turn = this.#inTurn(before, change, by);
    // Who gave up waiting does not let those who come later overtake those who came before. What changes gave is not kept:
    // each would hold on to the one before.
    this.#last = Promise.allSettled([before, turn]).then(() => {});
    return turn;
  }

  async #inTurn<T>(
    before: Promise<unknown>,
    change: (transaction: Transaction) => T,
    by: Author | null,
  ): Promise<T> {
    const deadline = new Deadline(deadlineMs);
    await (this.#shared === null ? before : deadline.wait(before, notBegun));
    return this.#transact(change, by, deadline);
  }

  /** Gives what a change would give now, without making it. Throws what `change` throws. */
  dryRun<T>(change: (transaction: Transaction) => T): T {
    return change(this.#begin(this.#options.now()));
  }

  #begin(now: number): Transaction {
    const { owners, usage } = this.#options;
    return new Transaction(this.#store.changeSet(), {
      owners,
      unitCountOf: key => usage.unitCountOf(key),
      now,
    });
  }

  async #transact<T>(
    change: (transaction: Transaction) => T,
    by: Author | null,
    deadline: Deadline,
  ): Promise<T> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const { result, changes, records } = this.#draft(change, by);
      if (records === null || (await this.#commit(changes, records, deadline))) return result;
    }
    throw new SoftquotaError('store_away', 'others change the policy all the time: try again');
  }

  #draft<T>(change: (transaction: Transaction) => T, by: Author | null): Drafted<T> {
    const at = this.#options.now();
    const transaction = this.#begin(at);
    const result = change(transaction);
    const { changes } = transaction;
    if (transaction.isEmpty) return { result, changes, records: null };
    const { owners } = this.#options;
    const known = { owners, snapshot: this.#store, kinds: this.#store.kinds };
    const events = this.#auditLog.eventsOf(transaction, by, at, known);
    return { result, changes, records: { ...transaction.records, events } };
  }

  /** Writes it, and puts it in force; false: others came first, and it has to be drafted anew on what they changed. */
  async #commit(changes: ChangeSet, records: PolicyChange, deadline: Deadline): Promise<boolean> {
    const { writeBehind } = this.#options;
    const basis = this.#position;
    if (this.#shared === null) {
      // A host that has left the others leaves the line of their changes, too.
      const apart = basis === null ? null : newGeneration(basis.version + 1);
      await writeBehind.now(apart === null ? records : { ...records, adopted: apart });
      this.#position = apart;
      this.#lineage.load(apart);
      this.#apply(changes, records);
      return true;
    }
    if (basis === null) {
      throw new SoftquotaError(
        'store_away',
        'the shared store was never reached, so nothing can be ruled yet',
      );
    }
    const next = { ...basis, version: basis.version + 1, mark: newMark() };
    if ((await deadline.wait(this.#shared.commit(records, basis, next), unknown)) === 'behind') {
      await deadline.wait(this.#shared.catchUp(), notBegun);
      return false;
    }
    this.#recentEvents.add(records.events ?? []);
    // Whoever follows the store's changes may have brought this one, and later ones, already.
    if (this.#position === basis) this.applyRemote(records, next);
    return true;
  }

  /**
   * Puts what others changed in force, as a whole; it is written behind. Throws `store_refused`, and then nothing is
   * changed.
   */
  applyRemote(change: Omit<PolicyChange, 'events'>, position: Position): void {
    this.#applyRemote(this.#store.changeSetOf(change), change, position);
  }

  /**
   * Reads what others changed without haste, and puts it in force as `applyRemote` does. False: what is in force has
   * changed meanwhile, and nothing was done.
   */
  async applyRemoteInSlices(change: Omit<PolicyChange, 'events'>, position: Position): Promise<boolean> {
    const { documents = [], goneDocuments = [] } = change;
    const before = this.#position;
    const store = this.#store;
    const changes = store.changeSet();
    await inSlices(goneDocuments, names => store.read(changes, names, null));
    await inSlices(documents, document => store.read(changes, document, document.text));
    if (this.#position !== before) return false;
    this.#applyRemote(changes, change, position);
    return true;
  }

  #applyRemote(changes: ChangeSet, change: Omit<PolicyChange, 'events'>, position: Position): void {
    const { documents = [], goneDocuments = [], owners = [], goneOwners = [] } = change;
    const { owners: known, writeBehind } = this.#options;
    const gone = goneOwners.flatMap(key => known.byKey(key) ?? []);
    for (const key of goneOwners) writeBehind.ownerGone(key);
    for (const owner of owners) writeBehind.owner(owner);
    writeBehind.applied({ documents, goneDocuments, adopted: this.#lineage.goOn(position, gone) });
    this.#position = position;
    this.#apply(changes, change);
  }

  #apply(changes: ChangeSet, { owners = [], goneOwners = [] }: Omit<PolicyChange, 'events'>): void {
    const { owners: known, writeBehind, usage, now, onApplied } = this.#options;
    this.#store.apply(changes);
    // What waited to be written of these owners before is older than what is written now.
    const hasUsage = (key: string) => usage.hasUsage(key);
    const renewedOwners = known.change(owners, goneOwners, { now: now(), hasUsage });
    const written = [...owners, ...renewedOwners];
    for (const owner of written) writeBehind.owner(owner);
    onApplied({ documents: changes.changed, owners: written, renewedOwners, goneOwners });
  }
}
