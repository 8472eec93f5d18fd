/**
 * Changes of what administrators rule, one after the other: drafted on what is in force, written, and only then
 * in force, as a whole. So two administrators at once lose nothing, and nobody ever decides by half a change.
 */

import { SoftquotaError } from '../errors.ts';
import {
  assignmentKind,
  type Draft,
  groupKind,
  type Kind,
  Policy,
  policyKinds,
  ruleKind,
  Shelf,
  type View,
} from '../policy/index.ts';
import {
  type Adopted,
  type DocumentRecord,
  type EventRecord,
  newGeneration,
  newMark,
  type OwnerRecord,
  type PolicyChange,
  type Position,
} from '../store/index.ts';
import { Amendment } from './amendment.ts';
import type { Book } from './book.ts';
import { type Author, Chronicle } from './chronicle.ts';
import type { Keeper } from './keeper.ts';
import { Lineage } from './lineage.ts';
import { Patience } from './patience.ts';
import { RecentEvents } from './recent-events.ts';
import { inSlices } from './slices.ts';

export interface GoverningOptions {
  readonly book: Book;
  readonly keeper: Keeper;
  now(): number;
  /** Called when something that an owner's decisions depend on has changed; null: that anybody's do. */
  changed(ownerKey: string | null): void;
}

/** What may bear on owners whom it does not name. */
const forAnybody = [ruleKind, groupKind];

/** Where changes of policy are written first when several machines share it. */
export interface SharedPolicy {
  /** `behind`: the store does not stand at `basis` any more, and nothing is written. Rejects with `store_away`. */
  commit(change: PolicyChange, basis: Position, next: Position): Promise<'kept' | 'behind'>;
  /** Resolves once what others changed by now is in force here. Rejects with `store_away`. */
  catchUp(): Promise<void>;
}

interface Drafted<T> {
  readonly result: T;
  readonly draft: Draft;
  /** Null: it changes nothing. */
  readonly changes: PolicyChange | null;
}

/** How long whoever rules waits for the shared store, in milliseconds: they are answered within two seconds. */
const patienceMs = 1700;

const notBegun = 'the shared store does not answer in time: nothing was changed. Try again';

const unknown =
  'the shared store did not answer in time: it is not known whether the change was made. It may come into force within ' +
  'moments; to ask for it again does no harm';

/** Drafts of one change, when others' changes come in between. */
const mostTries = 20;

export class Governing {
  readonly #options: GoverningOptions;
  #shelf = new Shelf([], []);
  #policy = new Policy(this.#shelf);
  /** By name. */
  #kinds: ReadonlyMap<string, Kind<unknown>> = new Map();
  readonly #chronicle = new Chronicle();
  #shared: SharedPolicy | null = null;
  /** Where the policy in force stands in the shared store; null: none was ever taken over from one. */
  #position: Position | null = null;
  readonly #lineage = new Lineage();
  readonly #recentEvents = new RecentEvents();
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: GoverningOptions) {
    this.#options = options;
  }

  /** What is in force. */
  get view(): View {
    return this.#shelf;
  }

  /** What is in force, as the store keeps it. */
  records(): Iterable<DocumentRecord> {
    return this.#shelf.records();
  }

  /** Of that, all but what is passing. */
  *recordsToKeep(): Generator<DocumentRecord> {
    for (const record of this.records()) {
      if (this.#kinds.get(record.kind)?.isPassing !== true) yield record;
    }
  }

  /** It is passing, or in force already as far as there is anything to tell of it. Throws `store_refused`. */
  changesNothing(record: DocumentRecord): boolean {
    const { key } = record;
    const kind = this.#kinds.get(record.kind);
    if (kind?.isPassing === true) return true;
    if (kind === undefined || this.#shelf.get(kind, key) === undefined) return false;
    const told = (view: View) => JSON.stringify(kind.told?.(key, view.get(kind, key), String));
    return (
      kind.told !== undefined && told(this.#shelf.draftOf({ documents: [record] })) === told(this.#shelf)
    );
  }

  get isEmpty(): boolean {
    for (const _ of this.recordsToKeep()) return false;
    return true;
  }

  get policy(): Policy {
    return this.#policy;
  }

  get position(): Position | null {
    return this.#position;
  }

  /** What led there. */
  get lineage(): Pick<Lineage, 'departedSince' | 'markOf' | 'since'> {
    return this.#lineage;
  }

  /** Events of the last changes that were asked for here, which a store that falls back may lose. */
  get recentEvents(): readonly EventRecord[] {
    return this.#recentEvents.all;
  }

  /** From now on changes are written there first. */
  shareWith(shared: SharedPolicy): void {
    this.#shared = shared;
  }

  /** Throws `store_refused` where what is kept cannot be read. */
  load(kinds: readonly Kind<unknown>[], records: readonly DocumentRecord[], adopted: Adopted | null): void {
    if (adopted !== null) {
      const { generation, version, mark } = adopted;
      this.#position = { generation, version, mark };
    }
    this.#lineage.load(adopted);
    this.#shelf = new Shelf(kinds, records);
    this.#kinds = new Map(kinds.map(kind => [kind.name, kind]));
    this.#policy = new Policy(this.#shelf);
  }

  /**
   * Rejects with what `change` throws, or `store_away`: then nothing is changed, unless the message says that this is not
   * known. Such a change may be found in the shared store later, and is taken over then as if another machine had made it.
   */
  async govern<T>(change: (amendment: Amendment) => T, by: Author | null): Promise<T> {
    const before = this.#last;
    const turn = this.#inTurn(before, change, by);
    // Who gave up waiting does not let those who come later overtake those who came before. What changes gave is not kept:
    // each would hold on to the one before.
    this.#last = Promise.allSettled([before, turn]).then(() => {});
    return turn;
  }

  async #inTurn<T>(
    before: Promise<unknown>,
    change: (amendment: Amendment) => T,
    by: Author | null,
  ): Promise<T> {
    const patience = new Patience(patienceMs);
    await (this.#shared === null ? before : patience.wait(before, notBegun));
    return this.#govern(change, by, patience);
  }

  /** What a change gives, and nothing of it stays. Throws what `change` throws. */
  rehearse<T>(change: (amendment: Amendment) => T): T {
    const { book, now } = this.#options;
    return change(new Amendment(this.#shelf.draft(), book, now()));
  }

  async #govern<T>(change: (amendment: Amendment) => T, by: Author | null, patience: Patience): Promise<T> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const { result, draft, changes } = this.#draft(change, by);
      if (changes === null || (await this.#commit(draft, changes, patience))) return result;
    }
    throw new SoftquotaError('store_away', 'others change the policy all the time: try again');
  }

  #draft<T>(change: (amendment: Amendment) => T, by: Author | null): Drafted<T> {
    const { book, now } = this.#options;
    const at = now();
    const amendment = new Amendment(this.#shelf.draft(), book, at);
    const result = change(amendment);
    const { draft } = amendment;
    if (amendment.isEmpty) return { result, draft, changes: null };
    const known = { book, view: this.#shelf, kinds: this.#kinds };
    const events = this.#chronicle.eventsOf(amendment, by, at, known);
    return { result, draft, changes: { ...amendment.changes, events } };
  }

  /** Writes it, and puts it in force; false: others came first, and it has to be drafted anew on what they changed. */
  async #commit(draft: Draft, change: PolicyChange, patience: Patience): Promise<boolean> {
    const { keeper } = this.#options;
    const basis = this.#position;
    if (this.#shared === null) {
      // A machine that has left the others leaves the line of their changes, too.
      const apart = basis === null ? null : newGeneration(basis.version + 1);
      await keeper.now(apart === null ? change : { ...change, adopted: apart });
      this.#position = apart;
      this.#lineage.load(apart);
      this.#enforce(draft, change);
      return true;
    }
    if (basis === null) {
      throw new SoftquotaError(
        'store_away',
        'the shared store was never reached, so nothing can be ruled yet',
      );
    }
    const next = { ...basis, version: basis.version + 1, mark: newMark() };
    if ((await patience.wait(this.#shared.commit(change, basis, next), unknown)) === 'behind') {
      await patience.wait(this.#shared.catchUp(), notBegun);
      return false;
    }
    this.#recentEvents.add(change.events ?? []);
    // Whoever follows the store's changes may have brought this one, and later ones, already.
    if (this.#position === basis) this.takeOver(change, next);
    return true;
  }

  /** Puts what others changed in force, as a whole; it is written behind. Throws `store_refused`, and then nothing is changed. */
  takeOver(change: Omit<PolicyChange, 'events'>, position: Position): void {
    this.#takeOver(this.#shelf.draftOf(change), change, position);
  }

  /**
   * Has what others changed looked at without haste, and puts it in force as `takeOver` does. False: what is in force has
   * become another meanwhile, and nothing is changed.
   */
  async takeOverInSlices(change: Omit<PolicyChange, 'events'>, position: Position): Promise<boolean> {
    const { documents = [], goneDocuments = [] } = change;
    const before = this.#position;
    const shelf = this.#shelf;
    const draft = shelf.draft();
    await inSlices(goneDocuments, names => shelf.takeOver(draft, names, null));
    await inSlices(documents, document => shelf.takeOver(draft, document, document.text));
    if (this.#position !== before) return false;
    this.#takeOver(draft, change, position);
    return true;
  }

  #takeOver(draft: Draft, change: Omit<PolicyChange, 'events'>, position: Position): void {
    const { documents = [], goneDocuments = [], owners = [], goneOwners = [] } = change;
    const { book, keeper } = this.#options;
    const gone = goneOwners.flatMap(key => book.accountByKey(key)?.owner ?? []);
    for (const key of goneOwners) keeper.ownerGone(key);
    for (const owner of owners) keeper.owner(owner);
    keeper.takenOver({ documents, goneDocuments, adopted: this.#lineage.goOn(position, gone) });
    this.#position = position;
    this.#enforce(draft, change);
  }

  #enforce(draft: Draft, { owners = [], goneOwners = [] }: Omit<PolicyChange, 'events'>): void {
    const { book, keeper, now, changed } = this.#options;
    this.#shelf.apply(draft);
    const isPolicy = policyKinds.some(({ name }) => draft.changed.has(name));
    if (isPolicy) this.#policy = new Policy(this.#shelf);
    // What was noted of these owners before is older than what is written now.
    const anew = book.change(owners, goneOwners, now());
    const written = [...owners, ...anew];
    for (const owner of written) keeper.owner(owner);
    if (goneOwners.length > 0 || forAnybody.some(({ name }) => draft.changed.has(name))) {
      changed(null);
      // Besides, they are somebody else now.
      for (const { key } of anew) changed(key);
      return;
    }
    for (const ownerKey of ownersIn(draft, written, book)) changed(ownerKey);
  }
}

/** The keys of those whose records or groups have changed. */
function ownersIn(draft: Draft, written: readonly OwnerRecord[], book: Book): ReadonlySet<string> {
  const assigned = [...(draft.changed.get(assignmentKind.name)?.keys() ?? [])];
  return new Set([
    ...written.map(({ key }) => key),
    ...assigned.flatMap(ownerId => book.owner(Number(ownerId))?.key ?? []),
  ]);
}
