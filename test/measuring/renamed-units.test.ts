/** Units go with their owners when a forge renames their directories. */

import t from 'tap';
import { moveUnits } from '../../src/measuring/places.ts';
import { totalOf } from '../../src/quota/index.ts';
import { used, World, walk } from '../ledger/world.ts';
import { PushWorld } from './push-world.ts';

t.test('owners who exchange their names keep their own data', async t => {
  const ledger = await new World(t).open();
  walk(ledger, 'a/x', 100);
  walk(ledger, 'a/y', 50);
  walk(ledger, 'b/x', 7);
  const paths = moveUnits(ledger, [
    { from: 'a', to: 'b' },
    { from: 'b', to: 'a' },
  ]);
  t.strictSame([used(ledger, 'a'), used(ledger, 'b')], [7, 150]);
  const bytesAt = (name: string) => ledger.units.unit(`/srv/git/${name}.git`)?.bytes;
  t.strictSame(['a/x', 'a/y', 'b/x', 'b/y'].map(bytesAt), [7, undefined, 100, 50]);
  const wanted = ['b/x', 'b/y', 'a/x'].map(name => `/srv/git/${name}.git`);
  t.strictSame(paths.slice(0, 3), wanted, 'new paths are measured before old ones');
});

t.test('data that a walk has found under the new name already counts as it was found', async t => {
  const ledger = await new World(t).open();
  walk(ledger, 'a/x', 100);
  walk(ledger, 'b/x', 120);
  moveUnits(ledger, [{ from: 'a', to: 'b' }]);
  t.strictSame([used(ledger, 'a'), used(ledger, 'b')], [0, 120]);
});

t.test('what is forgiven of a repository is so under its new name', async t => {
  const ledger = await new World(t).open();
  ledger.settings = { ...ledger.settings, garbage: 'forgive' };
  walk(ledger, 'a/x', 100);
  ledger.reach.measured('/srv/git/a/x.git', { reachableBytes: 30, unreachableBytes: 70 }, 0);
  const unreachable = (owner: string) => totalOf(ledger.ownerUsage(owner).unreachable ?? []);
  t.equal(unreachable('a'), 70);
  moveUnits(ledger, [{ from: 'a', to: 'b' }]);
  t.strictSame([unreachable('a'), unreachable('b'), used(ledger, 'b')], [0, 70, 100]);
  walk(ledger, 'b/x', 100);
  t.equal(unreachable('b'), 70, 'nor does a walk change it');
});

t.test('what is forgiven is doubted under the new name, as it may have been under the old one', async t => {
  const { doubts, ledger, measuring } = await PushWorld.open(t, { hasHooks: false });
  for (const place of ['bob/plain', 'bob/forgiven'] as const) walk(ledger, place, 100);
  ledger.reach.measured('/srv/git/bob/forgiven.git', { reachableBytes: 30, unreachableBytes: 70 }, 0);
  measuring.ownersRenamed([{ from: 'bob', to: 'carol' }]);
  t.strictSame(doubts, ['/srv/git/carol/forgiven.git']);
});
