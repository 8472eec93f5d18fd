/** A host's documents as a replica of those in a shared store. */

import t, { type Test } from 'tap';
import { createRule, rulesIn } from '../../src/policy/index.ts';
import { newGeneration } from '../../src/store/index.ts';
import { World, walk } from '../ledger/world.ts';

const rule = (name: string) => ({ name, limitBytes: 5, subjects: ['size:all' as const] });

/** Two hosts, of which the second has taken all that the first has. */
async function hosts(t: Test) {
  const one = await new World(t).open();
  const two = await new World(t).open();
  walk(one, 'alice/app', 100);
  await one.documents.transact(({ changes }) => createRule(changes, rule('first')));
  const begun = newGeneration();
  for (const each of [one, two]) await each.replica.applyWhole(await one.replica.policy(), [begun]);
  return { one, two, begun };
}

t.test('a whole policy takes the place of another, and what is the same stays', async t => {
  const { one, two, begun } = await hosts(t);
  t.strictSame(two.documents.position, begun);
  t.ok(await two.replica.hasSameDocuments(await one.replica.policy()));
  t.equal(two.documents.owners.byKey('alice')?.id, one.documents.owners.byKey('alice')?.id);
  const [rules] = [rulesIn(two.documents.snapshot)].map(all => [...all].map(({ name }) => name));
  t.strictSame(rules, ['first']);
  await two.replica.applyWhole({ owners: [], documents: [] }, [begun]);
  t.strictSame(two.documents.position, begun, 'one that is no further is passed over');
  t.notOk(two.replica.isEmpty);
});
