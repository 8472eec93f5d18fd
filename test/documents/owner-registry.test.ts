/** Owners who are about to come: remembered so that everybody means the same one, and not without end. */

import t from 'tap';
import { mostExpected, OwnerRegistry } from '../../src/documents/index.ts';

t.test('whoever meets a new owner meanwhile means the same one', async t => {
  const owners = new OwnerRegistry(true);
  const { id } = owners.expect('Alice', 1);
  t.equal(owners.expect('alice', 2).id, id);
  owners.add(owners.expect('alice', 3));
  t.equal(owners.named('ALICE')?.id, id);
});

t.test('owners of whom nothing came in the end are forgotten, the oldest first', async t => {
  const owners = new OwnerRegistry(true);
  const first = owners.expect('first', 1);
  const last = owners.expect('last', 1);
  for (let number = 0; number < mostExpected - 1; number += 1) owners.expect(`refused ${number}`, 1);
  t.equal(owners.expect('last', 2), last);
  t.not(owners.expect('first', 2), first);
});
