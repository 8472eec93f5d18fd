/**
 * The documents and owners of this host as a replica of those in a shared store: where they stand, how they
 * differ, and what is applied of others' changes.
 *
 * A change that is applied counts at once and is written behind into this host's own store, so that it is
 * known at the next start whether or not the shared one can be reached.
 */

import { inSlices } from '../slices.ts';
import type {
  DocumentRecord,
  PolicyChange,
  SharedPolicy as PolicyRecords,
  Position,
  WriteBehind,
} from '../store/index.ts';
import { differenceBetween, type InForce } from './difference.ts';
import type { Documents } from './documents.ts';
import type { OwnerRegistry } from './owner-registry.ts';

/** The difference between older documents and those in force. */
interface Lacked {
  readonly change: Omit<PolicyChange, 'events'>;
  /** The positions that it leads through, the one in force last. */
  readonly positions: readonly Position[];
}

interface DocumentReplicaOptions {
  readonly documents: Documents;
  readonly owners: OwnerRegistry;
  readonly writeBehind: Pick<WriteBehind, 'note'>;
}

export class DocumentReplica {
  readonly #options: DocumentReplicaOptions;

  constructor(options: DocumentReplicaOptions) {
    this.#options = options;
  }

  /** Position of the documents in force; null: none were ever taken from a shared store. */
  get position(): Position | null {
    return this.#options.documents.position;
  }

  /** The positions that led to the one in force, as far as they are known, and that one last. */
  get positions(): readonly Position[] {
    return this.#options.documents.lineage.all;
  }

  /** There are no documents but volatile ones. */
  get isEmpty(): boolean {
    for (const _ of this.#options.documents.records()) return false;
    return true;
  }

  /** The owners, and the documents that have a version, to be put into a shared store. */
  async policy(): Promise<PolicyRecords> {
    const { owners, documents } = this.#inForce;
    const records: DocumentRecord[] = [];
    await inSlices(documents, document => records.push(document));
    return { owners: [...owners], documents: records };
  }

  /** Tells whether somebody else's documents are the same as those in force, whoever the owners are. */
  async hasSameDocuments(policy: PolicyRecords): Promise<boolean> {
    const { documents, goneDocuments } = await differenceBetween(this.#inForce, this.#versioned(policy));
    return documents.length + goneDocuments.length === 0;
  }

  /**
   * Applies a change that others made, at the last of the positions that it leads through. Throws
   * `store_refused` where it cannot be read, and then nothing is changed.
   */
  apply(change: Omit<PolicyChange, 'events'>, positions: readonly Position[]): void {
    this.#options.documents.applyRemote(change, positions);
  }

  /**
   * Puts other owners and documents in place of those in force, unless what is in force has come as far
   * meanwhile. What is the same stays as it is. Rejects as `apply` throws.
   */
  async applyWhole(policy: PolicyRecords, positions: readonly Position[]): Promise<void> {
    const { documents } = this.#options;
    const wanted = this.#versioned(policy);
    const position = positions.at(-1);
    if (position === undefined) throw new TypeError('no position to come to');
    for (;;) {
      const at = documents.position;
      if (at?.generation === position.generation && at.version >= position.version) return;
      const change = await differenceBetween(this.#inForce, wanted);
      if (documents.position !== at) continue;
      if (await documents.applyRemoteInSlices(change, positions)) return;
    }
  }

  /** The mark that a version had which led to the one in force; null: it is not known to. */
  markOf(version: number): string | null {
    return this.#options.documents.lineage.markOf(version);
  }

  /**
   * Gives what a stored policy lacks of the one in force, where it stands at a version that this one came
   * from; null: what is in force has changed meanwhile.
   */
  async lackedBy({ version }: Position, stored: PolicyRecords): Promise<Lacked | null> {
    const { lineage, position } = this.#options.documents;
    const change = await differenceBetween(this.#versioned(stored), await this.policy());
    if (this.position !== position) return null;
    return { change, positions: lineage.since(version) };
  }

  /** Without volatile documents, which an older version kept among the others. */
  #versioned({ owners, documents }: PolicyRecords): PolicyRecords {
    return { owners, documents: documents.filter(({ kind }) => !this.#options.documents.isVolatile(kind)) };
  }

  get #inForce(): InForce {
    const { documents, owners } = this.#options;
    return { owners: owners.all, documents: documents.records() };
  }
}
