/**
 * The documents and owners of this host as a replica of those in a shared store: compares them, and applies
 * the shared ones.
 *
 * An applied change counts at once, and is written behind into this host's own store. So the next start knows
 * it, even if the shared store cannot be reached.
 */

import type { DocumentRecord, OwnerRecord, PolicyRecords, Position, SharedPolicy } from '../store/index.ts';
import { inSlices } from '../turns.ts';
import type { Documents } from './documents.ts';

interface InForce {
  readonly documents: Iterable<DocumentRecord>;
  readonly owners: Iterable<OwnerRecord>;
}

export class DocumentReplica {
  readonly #documents: Documents;

  constructor(documents: Documents) {
    this.#documents = documents;
  }

  get isEmpty(): boolean {
    return this.#documents.records()[Symbol.iterator]().next().done === true;
  }

  /** Returns the owners and all versioned documents, for a shared store. */
  async policy(): Promise<SharedPolicy> {
    const { owners, documents } = this.#inForce;
    const records: DocumentRecord[] = [];
    await inSlices(documents, document => records.push(document));
    return { owners: [...owners], documents: records };
  }

  /** Tells whether these documents are the same as those in force; ignores owners. */
  async hasSameDocuments(policy: SharedPolicy): Promise<boolean> {
    const { documents, goneDocuments } = await differenceBetween(this.#inForce, this.#versioned(policy));
    return documents.length + goneDocuments.length === 0;
  }

  /** Replaces all documents and owners, unless this host is as far already. Rejects as `applyRemote`. */
  async applyWhole(policy: SharedPolicy, positions: readonly Position[]): Promise<void> {
    const documents = this.#documents;
    const wanted = this.#versioned(policy);
    const position = positions.at(-1);
    if (position === undefined) throw new TypeError('no position to come to');
    for (;;) {
      const at = documents.position;
      if (at?.generation === position.generation && at.version >= position.version) return;
      const change = await differenceBetween(this.#inForce, wanted);
      if (documents.position !== at) continue;
      if (await documents.applyRemote(change, positions)) return;
    }
  }

  /** Leaves out volatile documents, which an older version stored among the others. */
  #versioned({ owners, documents }: SharedPolicy): SharedPolicy {
    return { owners, documents: documents.filter(({ kind }) => !this.#documents.isVolatile(kind)) };
  }

  get #inForce(): InForce {
    return { owners: this.#documents.owners.all, documents: this.#documents.records() };
  }
}

/** Computes the difference in slices. May miss a change that takes effect meanwhile. */
async function differenceBetween(before: InForce, after: SharedPolicy): Promise<PolicyRecords> {
  const documents = new Map<string, Map<string, DocumentRecord>>();
  await inSlices(after.documents, document => {
    const ofKind = documents.get(document.kind) ?? new Map<string, DocumentRecord>();
    documents.set(document.kind, ofKind.set(document.key, document));
  });
  const goneDocuments: Pick<DocumentRecord, 'kind' | 'key'>[] = [];
  await inSlices(before.documents, ({ kind, key, text }) => {
    const ofKind = documents.get(kind);
    const there = ofKind?.get(key);
    if (there === undefined) goneDocuments.push({ kind, key });
    else if (there.text === text) ofKind?.delete(key);
  });

  const owners = new Map<string, OwnerRecord>();
  await inSlices(after.owners, owner => owners.set(owner.key, owner));
  const goneOwners: string[] = [];
  await inSlices(before.owners, owner => {
    const there = owners.get(owner.key);
    if (there === undefined) goneOwners.push(owner.key);
    else if (isSameOwner(owner, there)) owners.delete(owner.key);
  });
  return {
    documents: [...documents.values()].flatMap(ofKind => [...ofKind.values()]),
    goneDocuments,
    owners: [...owners.values()],
    goneOwners,
  };
}

/** Compares two owners, except `since`, which may differ between hosts. */
function isSameOwner(owner: OwnerRecord, known: OwnerRecord): boolean {
  return known.id === owner.id && known.name === owner.name && known.type === owner.type;
}
