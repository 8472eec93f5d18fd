/**
 * The documents in force, and transactions upon them: drafted on what is in force, written, and only then in
 * force, as a whole. So two administrators at once lose nothing, and nobody ever decides by half a change.
 *
 * Transactions of one line of versions are made one after the other. Volatile documents are of no line: a
 * transaction that changes nothing else waits for none and makes none wait.
 */

import { SoftquotaError } from '../errors.ts';
import { runToEnd, type Work } from '../slices.ts';
import {
  type DocumentNames,
  type DocumentRecord,
  type EventRecord,
  type Heads,
  type Line,
  lines,
  newGeneration,
  newMark,
  type PolicyChange,
  type Position,
  type ReplicatedPosition,
  type VolatileChange,
} from '../store/index.ts';
import { AuditLog, type Author } from './audit-log.ts';
import type { ChangeSet } from './change-set.ts';
import { Deadline, deadlineMs, notBegun, notHereYet, unknown } from './deadline.ts';
import { DocumentStore } from './document-store.ts';
import {
  type Attempt,
  attempted,
  completed,
  type DraftedTransaction,
  type LongChange,
  workUpToDate,
} from './draft.ts';
import type { Kind } from './kind.ts';
import { LineQueues } from './line-queues.ts';
import { Lineage } from './lineage.ts';
import type { DocumentsOptions } from './options.ts';
import type { Owners } from './owner-registry.ts';
import { RecentEvents } from './recent-events.ts';
import {
  basisOf,
  type ReplicaStanding,
  replicaStandingAfter,
  type SharedDocuments,
  split,
} from './shared-documents.ts';
import type { Snapshot } from './snapshot.ts';
import { Transaction } from './transaction.ts';
import { writeVolatile } from './volatile.ts';

export class Documents {
  readonly #options: DocumentsOptions;
  #store = new DocumentStore([], []);
  readonly #auditLog = new AuditLog();
  #shared: SharedDocuments | null = null;
  /** Null: no documents were ever taken from a shared store. */
  #standing: ReplicaStanding | null = null;
  readonly #lineage = new Lineage();
  readonly #recentEvents = new RecentEvents();
  readonly #queues = new LineQueues();
  /** Number of times that each line was changed here. */
  #moves: Readonly<Record<Line, number>> = { policy: 0, account: 0 };
  readonly #movesNow = () => this.#moves;

  constructor(options: DocumentsOptions) {
    this.#options = options;
  }

  /** The owners that are known. */
  get owners(): Owners {
    return this.#options.owners;
  }

  /** The documents in force. */
  get snapshot(): Snapshot {
    return this.#store;
  }

  /** The documents in force as the store keeps them, but for volatile ones. */
  records(): Iterable<DocumentRecord> {
    return this.#store.records(durability => durability !== 'volatile');
  }

  /** The volatile ones. */
  volatileRecords(): Iterable<DocumentRecord> {
    return this.#store.records(durability => durability === 'volatile');
  }

  /** Those of these volatile documents that are in force, as the store keeps them. */
  volatileOf(names: readonly DocumentNames[]): readonly DocumentRecord[] {
    return names.flatMap(each => this.#store.record(each) ?? []);
  }

  /** Tells whether documents of that kind are volatile. */
  isVolatile(kind: string): boolean {
    return this.#store.kinds.get(kind)?.durability === 'volatile';
  }

  get position(): Position | null {
    return this.#standing?.position ?? null;
  }

  /** The versions that led to the position. */
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
  load(
    kinds: readonly Kind<unknown>[],
    records: readonly DocumentRecord[],
    replicated: ReplicatedPosition | null,
  ): void {
    if (replicated !== null) {
      const { generation, version, mark } = replicated;
      this.#standing = { position: { generation, version, mark }, heads: null };
    }
    this.#lineage.load(replicated);
    this.#store = new DocumentStore(kinds, records);
  }

  /**
   * Makes a change, after all those of its lines that were asked for before. What `change` drafts is in the
   * store and in force, as a whole, once this resolves. The same write has the events that say who did what:
   * `by` asked for it, or else softquota did it by itself.
   *
   * Rejects with what `change` throws, or `store_away`: then nothing is changed, unless the message says that
   * this is not known. Such a change may be found in the shared store later, and is applied then as if
   * another host had made it.
   */
  async transact<T>(change: (transaction: Transaction) => T, by: Author | null = null): Promise<T> {
    const deadline = new Deadline(deadlineMs);
    const first = this.#draftEarly(change, by);
    const isVolatile = first?.lines.size === 0 && (first.records !== null || this.#queues.isIdle);
    if (isVolatile) return this.#writeVolatile(first, deadline);
    for (let on: ReadonlySet<Line> = first?.records ? first.lines : new Set(lines); ; ) {
      const turn = await this.#queues.run(on, async before => {
        await (this.#shared === null ? before : deadline.wait(before, notBegun));
        return this.#inTurn(first, () => this.#draft(change, by), on, deadline);
      });
      if (turn.is === 'done') return turn.result;
      on = turn.lines;
    }
  }

  /** Gives what a change would give now, without making it. Throws what `change` throws. */
  dryRun<T>(change: (transaction: Transaction) => T): T {
    return change(this.#begin(this.#options.now()));
  }

  /**
   * Runs a change that may be large, otherwise like `transact`: it is drafted in slices, so that nothing else
   * waits for it, and again if what it was drafted on changes meanwhile.
   */
  transactInSlices<T>(change: LongChange<T>, by: Author | null = null): Promise<T> {
    const deadline = new Deadline(deadlineMs);
    return this.#queues.run(new Set(lines), async before => {
      await (this.#shared === null ? before : deadline.wait(before, notBegun));
      return attempted(async () => {
        const draft = await workUpToDate(() => this.#drafting(change, by), this.#movesNow);
        return (await this.#commit(draft, deadline)) ? { done: draft.result } : null;
      });
    });
  }

  /** Drafts a change that may be large, otherwise like `dryRun`. */
  dryRunInSlices<T>(change: LongChange<T>): Promise<T> {
    return workUpToDate(() => change(this.#begin(this.#options.now())), this.#movesNow);
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
    return new Transaction(this.#store.changeSet(), {
      owners,
      unitCountOf: key => usage.unitCountOf(key),
      now,
    });
  }

  /** Null: it cannot be made on what is in force now; what is under way may change that. */
  #draftEarly<T>(change: (transaction: Transaction) => T, by: Author | null): DraftedTransaction<T> | null {
    try {
      return this.#draft(change, by);
    } catch (error) {
      if (this.#queues.isIdle) throw error;
      return null;
    }
  }

  #draft<T>(change: (transaction: Transaction) => T, by: Author | null): DraftedTransaction<T> {
    const at = this.#options.now();
    const transaction = this.#begin(at);
    return runToEnd(this.#completed(transaction, change(transaction), by, at));
  }

  *#drafting<T>(change: LongChange<T>, by: Author | null): Work<DraftedTransaction<T>> {
    const at = this.#options.now();
    const transaction = this.#begin(at);
    return yield* this.#completed(transaction, yield* change(transaction), by, at);
  }

  #completed<T>(
    transaction: Transaction,
    result: T,
    by: Author | null,
    at: number,
  ): Work<DraftedTransaction<T>> {
    const { kinds } = this.#store;
    const around = { owners: this.#options.owners, snapshot: this.#store, kinds };
    const basis = { kinds, standing: this.#standing, moves: this.#moves };
    return completed(transaction, result, basis, () => this.#auditLog.eventsOf(transaction, by, at, around));
  }

  #inTurn<T>(
    first: DraftedTransaction<T> | null,
    redraft: () => DraftedTransaction<T>,
    on: ReadonlySet<Line>,
    deadline: Deadline,
  ): Promise<Attempt<T>> {
    let early: DraftedTransaction<T> | null = first;
    return attempted<Attempt<T>>(async () => {
      const draft = early !== null && this.#isCurrent(early, on) ? early : redraft();
      early = null;
      const wider = new Set([...on, ...draft.lines]);
      if (wider.size > on.size) return { done: { is: 'wider', lines: wider } };
      if (draft.lines.size === 0) await this.#writeVolatile(draft, deadline);
      else if (!(await this.#commit(draft, deadline))) return null;
      return { done: { is: 'done', result: draft.result } };
    });
  }

  /** Nothing of these lines was changed since. */
  #isCurrent({ moves }: DraftedTransaction<unknown>, on: ReadonlySet<Line>): boolean {
    return [...on].every(line => moves[line] === this.#moves[line]);
  }

  /**
   * Writes it, and puts it in force; false: others came first, and it has to be drafted again on what they
   * changed.
   */
  async #commit<T>(draft: DraftedTransaction<T>, deadline: Deadline): Promise<boolean> {
    const { changes, records, lines: changed, standing } = draft;
    if (records === null) return true;
    if (this.#shared === null) {
      // A host that has left the others leaves the line of their changes, too.
      const apart = standing === null ? null : newGeneration(standing.position.version + 1);
      await this.#options.writeBehind.now(apart === null ? records : { ...records, replicated: apart });
      this.#standing = apart === null ? null : { position: apart, heads: null };
      this.#lineage.load(apart);
      this.#apply(changes, records, changed);
      return true;
    }
    if (standing === null) {
      throw new SoftquotaError(
        'store_away',
        'the shared store was never reached, so the policy cannot be changed yet',
      );
    }
    const { versioned, volatile } = split(records, kind => this.isVolatile(kind));
    const basis = basisOf(standing, changed);
    const commit = basis === null ? null : this.#shared.commit(versioned, basis, newMark());
    const position = commit === null ? null : await deadline.wait(commit, unknown);
    if (position === null) {
      await deadline.wait(this.#shared.catchUp(), notBegun);
      return false;
    }
    this.#recentEvents.add(records.events ?? []);
    await this.#applyOwn(versioned, position, changed, deadline);
    if (volatile !== null) {
      await deadline.wait(this.#shared.writeVolatile(volatile), unknown);
      this.applyVolatile(volatile);
    }
    return true;
  }

  /**
   * Following the store's changes may have brought this one already; where others are missing before
   * it, they come first.
   */
  async #applyOwn(
    change: PolicyChange,
    position: Position,
    changed: ReadonlySet<Line>,
    deadline: Deadline,
  ): Promise<void> {
    const at = this.position;
    if (at?.generation === position.generation && at.version >= position.version) return;
    if (at?.generation === position.generation && at.version === position.version - 1) {
      this.applyRemote(change, position, [...changed]);
    } else if (this.#shared !== null) await deadline.wait(this.#shared.catchUp(), notHereYet);
  }

  /** Writes a draft that is of no line; waits for nothing else. */
  async #writeVolatile<T>(
    { result, changes, records }: DraftedTransaction<T>,
    deadline: Deadline,
  ): Promise<T> {
    if (records === null) return result;
    await writeVolatile(records, this.#options, this.#shared, deadline);
    this.#apply(changes, records, []);
    return result;
  }

  /**
   * Puts what others changed in force, as a whole; it is written behind. Throws `store_refused`, and then
   * nothing is changed.
   */
  applyRemote(change: Omit<PolicyChange, 'events'>, position: Position, changed: readonly Line[]): void {
    const standing = replicaStandingAfter(this.#standing, position, changed);
    this.#applyRemote(this.#store.changeSetOf(change), change, standing, changed);
  }

  /**
   * Reads what others changed without haste, and puts it in force as `applyRemote` does. False: what is in
   * force has changed meanwhile, and nothing was done.
   */
  async applyRemoteInSlices(
    change: Omit<PolicyChange, 'events'>,
    standing: ReplicaStanding,
  ): Promise<boolean> {
    const before = this.#standing;
    const changes = await this.#store.changeSetInSlices(change);
    if (this.#standing !== before) return false;
    this.#applyRemote(changes, change, standing, lines);
    return true;
  }

  /** The last change of each line, as the store has it that stands where this host does. */
  knowHeads(heads: Heads | null): void {
    if (this.#standing !== null) this.#standing = { ...this.#standing, heads };
  }

  /** Puts volatile documents in force that others wrote; they are written behind. Throws `store_refused`. */
  applyVolatile(change: VolatileChange): void {
    const changes = this.#store.changeSetOf(change);
    this.#options.writeBehind.applied(change);
    this.#apply(changes, {}, []);
  }

  #applyRemote(
    changes: ChangeSet,
    change: Omit<PolicyChange, 'events'>,
    standing: ReplicaStanding,
    changed: readonly Line[],
  ): void {
    const { documents = [], goneDocuments = [], owners = [], goneOwners = [] } = change;
    const { owners: known, writeBehind } = this.#options;
    const gone = goneOwners.flatMap(key => known.byKey(key) ?? []);
    for (const key of goneOwners) writeBehind.ownerGone(key);
    for (const owner of owners) writeBehind.owner(owner);
    writeBehind.applied({
      documents,
      goneDocuments,
      replicated: this.#lineage.goOn(standing.position, gone),
    });
    this.#standing = standing;
    this.#apply(changes, change, changed);
  }

  #apply(
    changes: ChangeSet,
    { owners = [], goneOwners = [] }: Omit<PolicyChange, 'events'>,
    changed: Iterable<Line>,
  ): void {
    const { owners: known, writeBehind, usage, now, onApplied } = this.#options;
    for (const line of changed) this.#moves = { ...this.#moves, [line]: this.#moves[line] + 1 };
    this.#store.apply(changes);
    // Records of these owners that waited to be written are older than what is written now.
    const hasUsage = (key: string) => usage.hasUsage(key);
    const renewedOwners = known.change(owners, goneOwners, { now: now(), hasUsage });
    const written = [...owners, ...renewedOwners];
    for (const owner of written) writeBehind.owner(owner);
    onApplied({ documents: changes.changed, owners: written, renewedOwners, goneOwners });
  }
}
