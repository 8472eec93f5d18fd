/** Things that are not held on to once they are done. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { createRule } from '../../src/policy/index.ts';
import { World } from '../ledger/world.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

t.test('what a change of policy gave is forgotten with it', async t => {
  const ledger = await new World(t, { kinds: [] }).open();
  const given: WeakRef<object>[] = [];
  const makes = (name: string) =>
    ledger.documents.transact(({ changes }) => {
      createRule(changes, { name, limitBytes: 0, subjects: [] });
      return { name };
    });
  for (const name of ['a', 'b', 'c']) given.push(new WeakRef(await makes(name)));
  // The last one may still be on its way.
  await makes('d');
  await new Promise(setImmediate);
  collectGarbage();
  t.strictSame(
    given.map(each => each.deref()),
    [undefined, undefined, undefined],
  );
});
