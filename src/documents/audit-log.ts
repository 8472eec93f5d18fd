/**
 * The audit log: an event for each thing that a transaction changes, with who did it, and what it was before
 * and after. A transaction with an audit context, such as somebody's sign-in, is one event that lists the
 * changes.
 *
 * The events are read off the transaction itself, so that no change can go without, and none can say of
 * itself what is not so. Of a document only what its kind describes is shown.
 */

import type { EventRecord, OwnerRecord } from '../store/index.ts';
import { EventIds } from './event-ids.ts';
import type { Description, Kind } from './kind.ts';
import type { OwnerRegistry } from './owner-registry.ts';
import type { Snapshot } from './snapshot.ts';
import type { Transaction } from './transaction.ts';

/** Who asks for a change. */
export interface Author {
  /** Null: this host's administrator, as `name` is. */
  readonly ownerId: number | null;
  readonly name: string | null;
  /** The token that it was asked for with. */
  readonly tokenId: string | null;
}

/** One thing that was changed. */
export interface AuditEntry {
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
export interface PolicyEvent extends AuditEntry {
  /** The same for all that was changed together. */
  readonly change: string;
  /** Null: softquota itself. */
  readonly by: Author | null;
}

export interface AuditOptions {
  readonly owners: OwnerRegistry;
  /** The documents in force before the transaction. */
  readonly snapshot: Snapshot;
  readonly kinds: ReadonlyMap<string, Kind<unknown>>;
}

interface Changed {
  readonly what: string;
  readonly before: Description | null;
  readonly after: Description | null;
}

const indexDigits = 6;

export class AuditLog {
  readonly #ids = new EventIds('p');

  /**
   * Makes the events of a transaction that is drafted and not yet in force. `at`: milliseconds since 1970.
   */
  eventsOf(
    transaction: Transaction,
    by: Author | null,
    at: number,
    options: AuditOptions,
  ): readonly EventRecord[] {
    const change = this.#ids.next();
    const author = by === null ? null : { ownerId: by.ownerId, name: by.name, tokenId: by.tokenId };
    const owners = ownersAround(transaction, options.owners);
    const ownerOf = (id: number | null) =>
      id === null ? null : (owners.get(id) ?? options.owners.byId(id) ?? null);
    const nameOf = (id: number) => ownerOf(id)?.name ?? `#${id}`;
    const changes = [...changedOwners(owners), ...changedDocuments(transaction, nameOf, options)].map(
      ({ what, before, after }) => {
        const { name = null, ownerId = null } = after ?? before ?? {};
        const entry: AuditEntry = {
          action: before === null ? 'created' : after === null ? 'deleted' : 'edited',
          what,
          name,
          owner: ownerOf(ownerId)?.name ?? null,
          before: before?.content ?? null,
          after: after?.content ?? null,
        };
        return { ownerId, entry };
      },
    );
    const { context } = transaction;
    if (context !== null) {
      const { kind, owner, facts } = context;
      const event = { change, by: author, ...facts, changes: changes.map(({ entry }) => entry) };
      return [{ id: change, kind, at, ownerId: owner.id, ownerKey: owner.key, text: JSON.stringify(event) }];
    }
    return changes.map(({ ownerId, entry }, index) => {
      const event: PolicyEvent = { change, by: author, ...entry };
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
function ownersAround(transaction: Transaction, known: OwnerRegistry): ReadonlyMap<number, OwnerAround> {
  const { owners = [], goneOwners = [] } = transaction.records;
  const after = new Map(owners.map(owner => [owner.id, owner]));
  const keys = [...goneOwners, ...owners.map(({ key }) => key)];
  const before = new Map<number, OwnerRecord>();
  for (const key of keys) {
    const owner = known.byKey(key);
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
    const before = owner.before === null ? null : describeOwner(owner.before);
    const after = owner.after === null ? null : describeOwner(owner.after);
    if (!isSame(before, after)) yield { what: 'owner', before, after };
  }
}

function describeOwner({ id, name, type }: OwnerRecord): Description {
  return { name, ownerId: id, content: { name, type } };
}

function* changedDocuments(
  transaction: Transaction,
  nameOf: (ownerId: number) => string,
  { snapshot, kinds }: AuditOptions,
): Generator<Changed> {
  for (const [what, page] of transaction.changes.changed) {
    const kind = kinds.get(what);
    if (kind === undefined || (kind.durability === 'volatile' && kind.describe === undefined)) continue;
    const describe = (key: string, document: unknown): Description =>
      kind.describe?.(key, document, nameOf) ?? { name: null, ownerId: null, content: {} };
    for (const [key, document] of page) {
      const known = snapshot.get(kind, key);
      const before = known === undefined ? null : describe(key, known);
      const after = document === null ? null : describe(key, document);
      // A document without a description is still told to have changed.
      const same = kind.describe === undefined ? isSame(known ?? null, document) : isSame(before, after);
      if (!same) yield { what, before, after };
    }
  }
}

function isSame(before: unknown, after: unknown): boolean {
  return JSON.stringify(before) === JSON.stringify(after);
}
