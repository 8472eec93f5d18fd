/** Names that are asked about between two readings of a forge. */

import t, { type Test } from 'tap';
import type { ForgeOwner } from '../../../src/forge/index.ts';
import { createUser, identityKinds, profileOf } from '../../../src/identity/index.ts';
import { ForgeNames } from '../../../src/measuring/forge/names.ts';
import { syncOwners } from '../../../src/measuring/forge/owners.ts';
import { forgeLinkKinds } from '../../../src/measuring/index.ts';
import { moveUnits } from '../../../src/measuring/places.ts';
import { createLogger } from '../../../src/service/index.ts';
import { used, World, walk } from '../../ledger/world.ts';

async function open(t: Test, first: Readonly<Record<number, string>>) {
  const ledger = await new World(t, { kinds: [...identityKinds, ...forgeLinkKinds] }).open();
  const rows = new Map<number, string>();
  const ownerOf = ([id, name]: [number, string]): ForgeOwner => ({
    id,
    name,
    type: 'user',
    email: '',
    isAdmin: false,
  });
  const names = new ForgeNames({
    settings: { kind: 'gitea' },
    ledger,
    reader: {
      ownerBy: async (key, value) => {
        const row = [...rows].find(([id, name]) => (key === 'id' ? id : name) === value);
        return row === undefined ? null : ownerOf(row);
      },
    },
    isAway: () => false,
    take: async owners => {
      const { renames } = await ledger.documents.transactInSlices(transaction =>
        syncOwners(transaction, owners),
      );
      moveUnits(ledger, renames);
    },
    log: createLogger({ level: 'fatal', format: 'json' }).log,
  });
  const set = (all: Readonly<Record<number, string>>) => {
    for (const [id, name] of Object.entries(all)) rows.set(Number(id), name);
  };
  set(first);
  await names.takeRead([...rows].map(ownerOf));
  return { ledger, names, set };
}

t.test('who takes a name that another one left gets nothing of theirs', async t => {
  const { ledger, names, set } = await open(t, { 7: 'alice' });
  walk(ledger, 'alice/app', 12_000);
  set({ 7: 'bob', 9: 'alice' });
  await names.settle('alice', true);
  t.strictSame([used(ledger, 'alice'), used(ledger, 'bob')], [0, 12_000]);
  t.equal(ledger.ownerUsage('bob').name, 'bob', 'who left the name has the new one at once');
});

t.test('names that were given on in a row, and in a ring, keep their data apart', async t => {
  const { ledger, names, set } = await open(t, { 1: 'a', 2: 'b', 3: 'c' });
  for (const [at, name] of (['a', 'b', 'c'] as const).entries()) walk(ledger, `${name}/app`, 100 * (at + 1));
  set({ 1: 'b', 2: 'c', 3: 'd' });
  await names.settle('b', true);
  const of = (...owners: readonly string[]) => owners.map(name => used(ledger, name));
  t.strictSame(of('a', 'b', 'c', 'd'), [0, 100, 200, 300]);
  set({ 1: 'c', 2: 'b' });
  await names.settle('b', true);
  t.strictSame(of('b', 'c', 'd'), [200, 100, 300]);
});

t.test('an administrator of the forge is one here, unless the name has an account here', async t => {
  const { documents, walks } = await new World(t, { kinds: [...identityKinds, ...forgeLinkKinds] }).open();
  await documents.transact(transaction => createUser(transaction, { name: 'alice' }));
  walk({ walks }, 'bob/app', 100);
  const names = ['alice', 'bob', 'carol'];
  const told = names.map(
    (name, at): ForgeOwner => ({ id: at + 1, name, type: 'user', email: '', isAdmin: true }),
  );
  const { refused } = await documents.transactInSlices(transaction => syncOwners(transaction, told));
  t.strictSame(refused, []);
  const administrators = names.filter(name => {
    const owner = documents.owners.named(name);
    return owner !== undefined && profileOf(documents.snapshot, owner.id).isAdmin;
  });
  t.strictSame(administrators, ['bob', 'carol'], 'bob was only found on the disk, and carol is new');
});
