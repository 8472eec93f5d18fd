/**
 * Owners by key and id; and those who are about to come: remembered so that everybody means the same one, and
 * not without end.
 */

import fc from 'fast-check';
import t from 'tap';
import { mostExpected, OwnerRegistry } from '../../src/documents/index.ts';
import type { OwnerRecord } from '../../src/store/index.ts';

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

const anyOwner = fc.record<OwnerRecord>(
  {
    key: fc.constantFrom('a', 'b', 'c', 'zoë', 'al\udcff', ''),
    id: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.constantFrom(2 ** 32 + 1, 2 ** 48 - 1)),
    name: fc.constantFrom('a', 'A', 'zoë'),
    type: fc.constantFrom('user', 'organization'),
    since: fc.integer(),
  },
  { noNullPrototype: true },
);
const anyStep = fc.record({ is: fc.constantFrom('set', 'add', 'remove'), owner: anyOwner });

t.test('it holds what maps by key and id would hold, whoever comes, is renamed and goes', async t => {
  fc.assert(
    fc.property(fc.array(anyStep), steps => {
      const owners = new OwnerRegistry(true);
      const byKey = new Map<string, OwnerRecord>();
      const byId = new Map<number, string>();
      for (const { is, owner } of steps) {
        const before = byKey.get(owner.key);
        if (is === 'remove') owners.change([], [owner.key], { now: 0, hasUsage: () => false });
        else owners[is](owner);
        if (is === 'add' && before !== undefined) continue;
        if (before !== undefined && byId.get(before.id) === owner.key) byId.delete(before.id);
        byKey.delete(owner.key);
        if (is !== 'remove') {
          byKey.set(owner.key, owner);
          byId.set(owner.id, owner.key);
        }
      }
      const all = [...owners.all].map(({ key }) => key).sort();
      t.strictSame(all, [...byKey.keys()].sort());
      for (const [key, owner] of byKey) t.strictSame(owners.byKey(key), owner);
      for (const id of [1, 2, 3, 4, 2 ** 32 + 1, 2 ** 48 - 1]) {
        const key = byId.get(id);
        t.strictSame(owners.byId(id), key === undefined ? undefined : byKey.get(key));
      }
    }),
    { numRuns: 300 },
  );
});
