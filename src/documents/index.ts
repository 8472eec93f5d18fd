/**
 * The documents of all that is laid down, by kind and key, and the owners whom they are about: transactional,
 * audited, and replicated where several hosts share them.
 *
 * A change is drafted on the side, where it may fail half-way without harm. It is one write of the store, its
 * events included, and comes into force as a whole. What a kind of document means is its own module's
 * business.
 */

export type { AuditEntry, Author, PolicyEvent } from './audit-log.ts';
export { ChangeSet } from './change-set.ts';
export { DocumentStore } from './document-store.ts';
export { Documents } from './documents.ts';
export { EventIds } from './event-ids.ts';
export { EventLog, type EventStore } from './event-log.ts';
export type { Description, Durability, Kind } from './kind.ts';
export type { Applied, DocumentsOptions } from './options.ts';
export { mostExpected, OwnerRegistry, type Owners } from './owner-registry.ts';
export { DocumentReplica } from './replica.ts';
export type { ReplicaStanding, SharedDocuments } from './shared-documents.ts';
export type { Snapshot } from './snapshot.ts';
export type { AuditContext, Transaction } from './transaction.ts';
