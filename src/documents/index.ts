/**
 * The documents that administrators and users set, by kind and key, and the owners that they belong to. They
 * are transactional, audited, and replicated if several hosts share them.
 *
 * A change is drafted first, so it can fail half-way without harm. It is one write to the store, including
 * its events, and takes effect as a whole. Each kind of document belongs to the module that knows its
 * meaning.
 */

export type { Author, PolicyEvent } from './audit-log.ts';
export { type Applied, Documents, type SharedDocuments } from './documents.ts';
export { ChangeSet, DocumentsInForce, type Kind, type Snapshot } from './documents-in-force.ts';
export { EventIds, EventLog, type EventStore } from './event-log.ts';
export { mostExpected, OwnerRegistry, type Owners } from './owner-registry.ts';
export { DocumentReplica } from './replica.ts';
export type { AuditContext, Transaction } from './transaction.ts';
