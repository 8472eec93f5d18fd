/**
 * What a change of what administrators rule is remembered by: an event for each thing that has become another,
 * with who did it, and what it was before and after. What has an occasion, such as somebody's sign-in, is one event
 * that lists them.
 *
 * It is read off the change itself, so that no change can go without, and none can say of itself what is not so.
 * Of a document only what its kind tells is told.
 */

import type { Kind, Told, View } from '../policy/index.ts';
import type { EventRecord, OwnerRecord } from '../store/index.ts';
import type { Amendment } from './amendment.ts';
import type { Book } from './book.ts';
import { EventIds } from './event-ids.ts';

/** Who asks for a change. */
export interface Author {
  /** Null: this machine's administrator, as `name` is. */
  readonly ownerId: number | null;
  readonly name: string | null;
  /** The token that it was asked for with. */
  readonly tokenId: string | null;
}

/** What has become another. */
export interface Become {
  readonly action: 'created' | 'edited' | 'deleted';
  /** The kind of document, or `owner`. */
  readonly what: string;
  readonly name: string | null;
  /** Whose it is, where it is one owner's. */
  readonly owner: string | null;
  /** Null: it was not there. */
  readonly before: unknown;
  /** Null: it is no more. */
  readonly after: unknown;
}

/** What the text of an event of the kind `policy` says, as JSON. */
export interface PolicyEvent extends Become {
  /** Things that were changed together, which came into force as a whole, have the same. */
  readonly change: string;
  /** Null: softquota itself. */
  readonly by: Author | null;
}

export interface ChronicleOptions {
  readonly book: Book;
  /** What is in force before the change. */
  readonly view: View;
  readonly kinds: ReadonlyMap<string, Kind<unknown>>;
}

interface Changed {
  readonly what: string;
  readonly before: Told | null;
  readonly after: Told | null;
}

const indexDigits = 6;

export class Chronicle {
  readonly #ids = new EventIds('p');

  /** The events of a change that is drafted and not yet in force. `at`: milliseconds since 1970. */
  eventsOf(
    amendment: Amendment,
    by: Author | null,
    at: number,
    options: ChronicleOptions,
  ): readonly EventRecord[] {
    const change = this.#ids.next();
    const author = by === null ? null : { ownerId: by.ownerId, name: by.name, tokenId: by.tokenId };
    const owners = ownersAround(amendment, options.book);
    const ownerOf = (id: number | null) =>
      id === null ? null : (owners.get(id) ?? options.book.owner(id) ?? null);
    const nameOf = (id: number) => ownerOf(id)?.name ?? `#${id}`;
    const changes = [...changedOwners(owners), ...changedDocuments(amendment, nameOf, options)].map(
      ({ what, before, after }) => {
        const { name = null, ownerId = null } = after ?? before ?? {};
        const told: Become = {
          action: before === null ? 'created' : after === null ? 'deleted' : 'edited',
          what,
          name,
          owner: ownerOf(ownerId)?.name ?? null,
          before: before?.content ?? null,
          after: after?.content ?? null,
        };
        return { ownerId, told };
      },
    );
    const { occasion } = amendment;
    if (occasion !== null) {
      const { kind, owner, facts } = occasion;
      const event = { change, by: author, ...facts, changes: changes.map(({ told }) => told) };
      return [{ id: change, kind, at, ownerId: owner.id, ownerKey: owner.key, text: JSON.stringify(event) }];
    }
    return changes.map(({ ownerId, told }, index) => {
      const event: PolicyEvent = { change, by: author, ...told };
      return {
        id: `${change}-${String(index).padStart(indexDigits, '0')}`,
        kind: 'policy',
        at,
        ownerId,
        ownerKey: ownerOf(ownerId)?.key ?? null,
        text: JSON.stringify(event),
      };
    });
  }
}

/** An owner as it was, else, where it is new, as it will be. */
interface OwnerAround extends OwnerRecord {
  readonly before: OwnerRecord | null;
  readonly after: OwnerRecord | null;
}

/** Those whose records change, by id. */
function ownersAround(amendment: Amendment, book: Book): ReadonlyMap<number, OwnerAround> {
  const { owners = [], goneOwners = [] } = amendment.changes;
  const after = new Map(owners.map(owner => [owner.id, owner]));
  const keys = [...goneOwners, ...owners.map(({ key }) => key)];
  const before = new Map<number, OwnerRecord>();
  for (const key of keys) {
    const owner = book.accountByKey(key)?.owner;
    if (owner !== undefined) before.set(owner.id, owner);
  }
  const found = new Map<number, OwnerAround>();
  for (const owner of [...before.values(), ...after.values()]) {
    if (found.has(owner.id)) continue;
    found.set(owner.id, {
      ...owner,
      before: before.get(owner.id) ?? null,
      after: after.get(owner.id) ?? null,
    });
  }
  return found;
}

function* changedOwners(owners: ReadonlyMap<number, OwnerAround>): Generator<Changed> {
  // Whoever gives way has gone before another one has the name.
  const goneFirst = [...owners.values()].sort((a, b) => Number(a.after !== null) - Number(b.after !== null));
  for (const owner of goneFirst) {
    const before = owner.before === null ? null : toldOwner(owner.before);
    const after = owner.after === null ? null : toldOwner(owner.after);
    if (!isSame(before, after)) yield { what: 'owner', before, after };
  }
}

function toldOwner({ id, name, type }: OwnerRecord): Told {
  return { name, ownerId: id, content: { name, type } };
}

function* changedDocuments(
  amendment: Amendment,
  nameOf: (ownerId: number) => string,
  { view, kinds }: ChronicleOptions,
): Generator<Changed> {
  for (const [what, page] of amendment.draft.changed) {
    const kind = kinds.get(what);
    if (kind === undefined) continue;
    const tell = (key: string, document: unknown): Told =>
      kind.told?.(key, document, nameOf) ?? { name: null, ownerId: null, content: {} };
    for (const [key, document] of page) {
      const known = view.get(kind, key);
      const before = known === undefined ? null : tell(key, known);
      const after = document === null ? null : tell(key, document);
      // Of what nothing is told it is still told that it has become another.
      const same = kind.told === undefined ? isSame(known ?? null, document) : isSame(before, after);
      if (!same) yield { what, before, after };
    }
  }
}

function isSame(before: unknown, after: unknown): boolean {
  return JSON.stringify(before) === JSON.stringify(after);
}
