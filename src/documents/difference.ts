/** Finds what has to change for the documents and owners in force to become others. */

import { inSlices } from '../slices.ts';
import type {
  DocumentRecord,
  OwnerRecord,
  PolicyChange,
  SharedPolicy as PolicyRecords,
} from '../store/index.ts';

export interface InForce {
  readonly documents: Iterable<DocumentRecord>;
  readonly owners: Iterable<OwnerRecord>;
}

/** Works in slices: a change that comes into force meanwhile may be missed. */
export async function differenceBetween(
  before: InForce,
  after: PolicyRecords,
): Promise<Required<Omit<PolicyChange, 'events'>>> {
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

/** When each host met the owner first does not matter. */
function isSameOwner(owner: OwnerRecord, known: OwnerRecord): boolean {
  return known.id === owner.id && known.name === owner.name && known.type === owner.type;
}
