/**
 * Changes of what administrators rule, one after the other: drafted on what is in force, written, and only then
 * in force, as a whole. So two administrators at once lose nothing, and nobody ever decides by half a change.
 */

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
import type { DocumentRecord, OwnerRecord } from '../store/index.ts';
import { Amendment } from './amendment.ts';
import type { Book } from './book.ts';
import { type Author, Chronicle } from './chronicle.ts';
import type { Keeper } from './keeper.ts';

export interface GoverningOptions {
  readonly book: Book;
  readonly keeper: Keeper;
  now(): number;
  /** Called when something that an owner's decisions depend on has changed; null: that anybody's do. */
  changed(ownerKey: string | null): void;
}

/** What may bear on owners whom it does not name. */
const forAnybody = [ruleKind, groupKind];

export class Governing {
  readonly #options: GoverningOptions;
  #shelf = new Shelf([], []);
  #policy = new Policy(this.#shelf);
  /** By name. */
  #kinds: ReadonlyMap<string, Kind<unknown>> = new Map();
  readonly #chronicle = new Chronicle();
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: GoverningOptions) {
    this.#options = options;
  }

  /** What is in force. */
  get view(): View {
    return this.#shelf;
  }

  get records(): readonly DocumentRecord[] {
    return this.#shelf.records;
  }

  get policy(): Policy {
    return this.#policy;
  }

  /** Throws `store_refused` where what is kept cannot be read. */
  load(kinds: readonly Kind<unknown>[], records: readonly DocumentRecord[]): void {
    this.#shelf = new Shelf(kinds, records);
    this.#kinds = new Map(kinds.map(kind => [kind.name, kind]));
    this.#policy = new Policy(this.#shelf);
  }

  /** Rejects with what `change` throws, or `store_away`: then nothing is changed. */
  async govern<T>(change: (amendment: Amendment) => T, by: Author | null): Promise<T> {
    const turn = this.#last.then(() => this.#govern(change, by));
    this.#last = turn.catch(() => {});
    return turn;
  }

  /** What a change gives, and nothing of it stays. Throws what `change` throws. */
  rehearse<T>(change: (amendment: Amendment) => T): T {
    const { book, now } = this.#options;
    return change(new Amendment(this.#shelf.draft(), book, now()));
  }

  async #govern<T>(change: (amendment: Amendment) => T, by: Author | null): Promise<T> {
    const { book, keeper, now, changed } = this.#options;
    const at = now();
    const amendment = new Amendment(this.#shelf.draft(), book, at);
    const result = change(amendment);
    if (amendment.isEmpty) return result;
    const { changes, draft } = amendment;
    const { owners = [], goneOwners = [] } = changes;
    const known = { book, view: this.#shelf, kinds: this.#kinds };
    await keeper.now({ ...changes, events: this.#chronicle.eventsOf(amendment, by, at, known) });
    this.#shelf.apply(draft);
    const isPolicy = policyKinds.some(({ name }) => draft.changed.has(name));
    if (isPolicy) this.#policy = new Policy(this.#shelf);
    // What was noted of these owners before is older than what is written now.
    const written: readonly OwnerRecord[] = [...owners, ...amendment.applyOwners()];
    for (const owner of written) keeper.owner(owner);
    if (goneOwners.length > 0 || forAnybody.some(({ name }) => draft.changed.has(name))) changed(null);
    else for (const ownerKey of ownersIn(draft, written, book)) changed(ownerKey);
    return result;
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
