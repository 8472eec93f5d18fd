/**
 * The documents and owners of this host as a replica of those in a shared store: where they stand, how they differ, and
 * what is applied of others' changes.
 *
 * What is applied counts at once and is written behind into this host's own store, so that it is known at the next start
 * whether or not the shared one can be reached.
 */

import { inSlices } from '../slices.ts';
import type {
  DocumentRecord,
  OwnerRecord,
  PolicyChange,
  Policy as PolicyRecords,
  Position,
  WriteBehind,
} from '../store/index.ts';
import { differenceBetween, type InForce, isSameOwner } from './difference.ts';
import type { Documents } from './documents.ts';
import type { OwnerRegistry } from './owner-registry.ts';

/** What leads from older documents to those in force. */
export interface Lacked {
  readonly change: Omit<PolicyChange, 'events'>;
  /** The positions that it leads through, the one in force last. */
  readonly positions: readonly Position[];
}

export interface DocumentReplicaOptions {
  readonly documents: Documents;
  readonly owners: OwnerRegistry;
  readonly writeBehind: Pick<WriteBehind, 'owner'>;
}

export class DocumentReplica {
  readonly #options: DocumentReplicaOptions;

  constructor(options: DocumentReplicaOptions) {
    this.#options = options;
  }

  /** Where the documents in force stand; null: none were ever taken from a shared store. */
  get position(): Position | null {
    return this.#options.documents.position;
  }

  /** Nothing is laid down, whatever is passing. */
  get isEmpty(): boolean {
    return this.#options.documents.isEmpty;
  }

  get owners(): Pick<OwnerRegistry, 'all' | 'byKey'> {
    return this.#options.owners;
  }

  /** The owners and documents in force, to be put into a shared store. */
  async policy(): Promise<PolicyRecords> {
    const { owners, documents } = this.#inForce;
    const records: DocumentRecord[] = [];
    await inSlices(documents, document => records.push(document));
    return { owners: [...owners], documents: records };
  }

  /**
   * Whether somebody else's policy lays down the same as the one in force, whoever the owners are: what is passing, such
   * as sessions, does not count, nor does what there is nothing to tell of, such as when a token was last used.
   * Rejects with `store_refused` where it cannot be read.
   */
  async isLaidDown(policy: PolicyRecords): Promise<boolean> {
    const { documents: known, owners } = this.#options;
    const inForce = { owners: owners.all, documents: known.recordsToKeep() };
    const { documents, goneDocuments } = await differenceBetween(inForce, policy);
    return goneDocuments.length === 0 && documents.every(document => known.changesNothing(document));
  }

  /** Applies a change that others made. Throws `store_refused` where it cannot be read, and then nothing is changed. */
  apply(change: Omit<PolicyChange, 'events'>, position: Position): void {
    this.#options.documents.applyRemote(change, position);
  }

  /**
   * Puts other owners and documents in place of those in force, unless what is in force has come as far meanwhile. What is
   * the same stays as it is. Rejects as `apply` throws.
   */
  async applyWhole(policy: PolicyRecords, position: Position): Promise<void> {
    const { documents } = this.#options;
    for (;;) {
      const at = documents.position;
      if (at?.generation === position.generation && at.version >= position.version) return;
      const change = await differenceBetween(this.#inForce, policy);
      if (documents.position !== at) continue;
      if (await documents.applyRemoteInSlices(change, position)) return;
    }
  }

  /** Puts owners on record whom others have, in place of those of the same keys. */
  addOwners(added: readonly OwnerRecord[]): void {
    const { owners, writeBehind } = this.#options;
    for (const owner of added) {
      const known = owners.byKey(owner.key);
      if (known !== undefined && isSameOwner(owner, known)) continue;
      owners.set(owner);
      writeBehind.owner(owner);
    }
  }

  /** Whether this host has somebody of this name, or knows this one by any name. */
  knows({ key, id }: OwnerRecord): boolean {
    const { owners } = this.#options;
    return owners.byKey(key) !== undefined || owners.byId(id) !== undefined;
  }

  /** The mark that a version had which led to the one in force; null: it is not known to. */
  markOf(version: number): string | null {
    return this.#options.documents.lineage.markOf(version);
  }

  /**
   * What a stored policy lacks of the one in force, where it stands at a version that this one came from; null: what is
   * in force has changed meanwhile. Owners whom others put on record since stay there.
   */
  async lackedBy({ version }: Position, stored: PolicyRecords): Promise<Lacked | null> {
    const { lineage, position } = this.#options.documents;
    const change = await differenceBetween(stored, await this.policy());
    if (this.position !== position) return null;
    const hasDeparted = lineage.departedSince(version);
    const ids = new Map(stored.owners.map(({ key, id }) => [key, id]));
    const goneOwners = change.goneOwners.filter(key => hasDeparted({ key, id: ids.get(key) ?? 0 }));
    return { change: { ...change, goneOwners }, positions: lineage.since(version) };
  }

  get #inForce(): InForce {
    const { documents, owners } = this.#options;
    return { owners: owners.all, documents: documents.records() };
  }
}
