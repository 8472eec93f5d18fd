/**
 * The audit log: an event for each change of a transaction, with its author, and the content before and
 * after. A transaction with an audit context, such as a sign-in, is one event that lists the changes.
 *
 * The events are derived from the transaction itself, so that every change has one, and none is wrong. Events
 * show only the part of a document that its kind describes.
 */

import type { EventRecord, OwnerRecord } from '../store/index.ts';
import type { Work } from '../turns.ts';
import type { Description, Kind, Snapshot } from './documents-in-force.ts';
import { EventIds } from './event-log.ts';
import type { OwnerRegistry } from './owner-registry.ts';
import type { Transaction } from './transaction.ts';

export interface Author {
  /** Null, and `name` too: this host's administrator. */
  readonly ownerId: number | null;
  readonly name: string | null;
  /** The token of the request; null: none. */
  readonly tokenId: string | null;
}

interface AuditEntry {
  readonly action: 'created' | 'edited' | 'deleted';
  /** The kind of document, or `owner`. */
  readonly what: string;
  readonly name: string | null;
  readonly owner: string | null;
  /** Null: created. */
  readonly before: unknown;
  /** Null: deleted. */
  readonly after: unknown;
}

/** The content of an event of the kind `policy`, as JSON. */
export interface PolicyEvent extends AuditEntry {
  /** The id of the transaction. */
  readonly change: string;
  /** Null: softquota itself. */
  readonly by: Author | null;
}

interface AuditOptions {
  readonly owners: OwnerRegistry;
  readonly snapshot: Snapshot;
  readonly kinds: ReadonlyMap<string, Kind<unknown>>;
}

interface Changed {
  readonly what: string;
  readonly before: Description | null;
  readonly after: Description | null;
}

const indexDigits = 6;

const ids = new EventIds('p');

/** Makes the events of a drafted transaction. `at`: milliseconds since 1970. */
export function* auditEvents(
  transaction: Transaction,
  by: Author | null,
  at: number,
  options: AuditOptions,
): Work<readonly EventRecord[]> {
  const change = ids.next();
  const author = by === null ? null : { ownerId: by.ownerId, name: by.name, tokenId: by.tokenId };
  const owners = yield* ownersAround(transaction, options.owners);
  const ownerOf = (id: number | null) => {
    const around = id === null ? undefined : owners.get(id);
    return around?.before ?? around?.after ?? (id === null ? null : (options.owners.byId(id) ?? null));
  };
  const nameOf = (id: number) => ownerOf(id)?.name ?? `#${id}`;
  const entries: AuditEntry[] = [];
  const events: EventRecord[] = [];
  const { context } = transaction;
  for (const changed of changesOf(transaction, owners, nameOf, options)) {
    yield;
    if (changed === null) continue;
    const { what, before, after } = changed;
    const { name = null, ownerId = null } = after ?? before ?? {};
    const entry: AuditEntry = {
      action: before === null ? 'created' : after === null ? 'deleted' : 'edited',
      what,
      name,
      owner: ownerOf(ownerId)?.name ?? null,
      before: before?.content ?? null,
      after: after?.content ?? null,
    };
    if (context !== null) {
      entries.push(entry);
      continue;
    }
    const event: PolicyEvent = { change, by: author, ...entry };
    events.push({
      id: `${change}-${String(events.length).padStart(indexDigits, '0')}`,
      kind: 'policy',
      at,
      ownerId,
      ownerKey: ownerOf(ownerId)?.key ?? null,
      text: JSON.stringify(event),
    });
  }
  if (context === null) return events;
  const { kind, owner, facts } = context;
  const event = { change, by: author, ...facts, changes: entries };
  return [{ id: change, kind, at, ownerId: owner.id, ownerKey: owner.key, text: JSON.stringify(event) }];
}

/** A changed owner, before and after the transaction. */
interface OwnerAround {
  readonly before: OwnerRecord | null;
  readonly after: OwnerRecord | null;
}

function* ownersAround(
  { owners }: Transaction,
  known: OwnerRegistry,
): Work<ReadonlyMap<number, OwnerAround>> {
  const found = new Map<number, OwnerAround>();
  for (const key of owners.keys()) {
    const before = known.byKey(key);
    if (before !== undefined) found.set(before.id, { before, after: null });
    yield;
  }
  for (const after of owners.values()) {
    if (after !== null) found.set(after.id, { before: found.get(after.id)?.before ?? null, after });
    yield;
  }
  return found;
}

/** Yields the changes; null: a document or owner that was put but is unchanged. */
function* changesOf(
  transaction: Transaction,
  owners: ReadonlyMap<number, OwnerAround>,
  nameOf: (ownerId: number) => string,
  options: AuditOptions,
): Generator<Changed | null> {
  // Deleted owners come first, since another owner may get the name.
  for (const owner of owners.values()) if (owner.after === null) yield changedOwner(owner);
  for (const owner of owners.values()) if (owner.after !== null) yield changedOwner(owner);
  yield* changedDocuments(transaction, nameOf, options);
}

function changedOwner(owner: OwnerAround): Changed | null {
  const before = owner.before && describeOwner(owner.before);
  const after = owner.after && describeOwner(owner.after);
  return isSame(before, after) ? null : { what: 'owner', before, after };
}

function describeOwner({ id, name, type }: OwnerRecord): Description {
  return { name, ownerId: id, content: { name, type } };
}

function* changedDocuments(
  transaction: Transaction,
  nameOf: (ownerId: number) => string,
  { snapshot, kinds }: AuditOptions,
): Generator<Changed | null> {
  for (const [what, page] of transaction.changes.changed) {
    const kind = kinds.get(what);
    if (kind === undefined || (kind.durability === 'volatile' && kind.describe === undefined)) continue;
    const describe = (key: string, document: unknown, other: unknown): Description =>
      kind.describe?.(key, document, nameOf, other) ?? { name: null, ownerId: null, content: {} };
    for (const [key, document] of page) {
      const known = snapshot.get(kind, key);
      const before = known === undefined ? null : describe(key, known, document);
      const after = document === null ? null : describe(key, document, known ?? null);
      // Without a description, the documents themselves are compared.
      const same = kind.describe === undefined ? isSame(known ?? null, document) : isSame(before, after);
      yield same ? null : { what, before, after };
    }
  }
}

function isSame(before: unknown, after: unknown): boolean {
  return JSON.stringify(before) === JSON.stringify(after);
}
