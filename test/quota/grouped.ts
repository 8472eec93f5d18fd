import type { Ledger } from '../../src/ledger/index.ts';
import { assign, createGroup } from '../../src/policy/index.ts';

/** Makes a group with these rules, and puts owners into it, who are created where nobody knows them. */
export async function grouped(
  { documents }: Pick<Ledger, 'documents'>,
  members: readonly string[],
  rules: Parameters<typeof createGroup>[1]['rules'],
  name = 'g',
): Promise<void> {
  await documents.transact(transaction => {
    createGroup(transaction.changes, { name, rules });
    for (const member of members) {
      const owner = documents.owners.named(member) ?? transaction.createOwner(member);
      assign(transaction.changes, owner.id, name);
    }
  });
}
