/** Who watches the ledger hears of every change that a decision may depend on, and of nothing else. */

import t from 'tap';
import { lfs, repos, SetClock, settings, World, walk } from './world.ts';

t.test('a change of what an owner stores is told with the owner’s key', async t => {
  const ledger = await new World(t).open();
  const told: (string | null)[] = [];
  const since = () => told.splice(0);
  const unwatch = ledger.watch(key => told.push(key));
  walk(ledger, 'Alice/app', 5);
  t.strictSame(since(), ['alice']);
  walk(ledger, 'Alice/app', 5);
  t.strictSame(since(), [], 'the same size is no news');
  walk(ledger, 'Alice/app', 0, { leaf: lfs });
  t.strictSame(since(), ['alice']);
  walk(ledger, 'Alice/app', 5, { owner: 'bob' });
  t.strictSame(since(), ['alice', 'bob']);
  ledger.recordUnread('/srv/git/Alice/app.git');
  walk(ledger, 'nobody/app', 5, { owner: null });
  t.strictSame(since(), []);
  ledger.recordGone('/srv/git/Alice/app.git', ledger.nextSeq());
  t.strictSame(since(), ['bob']);
  await ledger.reportUnit('carol', lfs, 'store', 7);
  t.strictSame(since(), ['carol']);
  unwatch();
  walk(ledger, 'Alice/app', 6);
  t.strictSame(since(), []);
});

t.test('a delta is told when it comes and when it goes', async t => {
  const clock = new SetClock();
  const ledger = await new World(t, { clock }).open();
  walk(ledger, 'alice/app', 5);
  const told: (string | null)[] = [];
  ledger.watch(key => told.push(key));
  await ledger.addDelta('alice', repos, 10);
  t.strictSame(told.splice(0), ['alice']);
  walk(ledger, 'alice/app', 5);
  t.strictSame(told.splice(0), ['alice'], 'a walk has overtaken it');
});

t.test('a change of policy may be anybody’s', async t => {
  const ledger = await new World(t).open();
  const told: (string | null)[] = [];
  ledger.watch(key => told.push(key));
  ledger.reconfigure({ ...settings, totalBytes: 1 });
  t.strictSame(told, [null]);
});
