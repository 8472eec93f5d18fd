/** What is not held on to once it is done. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { World } from '../ledger/world.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

t.test('what a change of policy gave is forgotten with it', async t => {
  const ledger = await new World(t, { kinds: [] }).open();
  const given: WeakRef<object>[] = [];
  for (let n = 0; n < 3; n++) given.push(new WeakRef(await ledger.documents.transact(() => ({ n }))));
  // The last one may still be on its way.
  await ledger.documents.transact(() => null);
  await new Promise(setImmediate);
  collectGarbage();
  t.strictSame(
    given.map(each => each.deref()),
    [undefined, undefined, undefined],
  );
});
