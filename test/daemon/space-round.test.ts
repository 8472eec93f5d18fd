/** The repositories of owners near a limit are looked through, before anybody asks. */

import t from 'tap';
import { SpaceRound } from '../../src/daemon/space-round.ts';
import { assign, createGroup } from '../../src/policy/index.ts';
import { until } from '../e2e/ask.ts';
import { silentLog, World, walk } from '../ledger/world.ts';

const mega = 1_000_000;

t.test('those of all members are looked through once they are near what they may have together', async t => {
  const ledger = await new World(t).open();
  walk(ledger, 'alice/app', 2 * mega);
  walk(ledger, 'bob/app', 2 * mega);
  walk(ledger, 'carol/app', 2 * mega);
  await ledger.documents.transact(transaction => {
    const { changes } = transaction;
    const subjects = ['size:all' as const];
    const rules = [
      { name: 'each', limitBytes: -1, subjects },
      { name: 'together', limitBytes: 10 * mega, subjects, per: 'group' as const },
    ];
    createGroup(changes, { name: 'lab', rules });
    createGroup(changes, { name: 'free', rules: [{ name: 'each' }] });
    for (const name of ['alice', 'bob']) assign(changes, transaction.mustBeOwner(name).id, 'lab');
    assign(changes, transaction.mustBeOwner('carol').id, 'free');
  });
  const looked = new Set<string>();
  const round = new SpaceRound({
    ledger,
    space: {
      collectFirst: () => {},
      isDue: path => !looked.has(path),
      look: async path => void looked.add(path),
    },
    log: silentLog,
    collects: () => false,
    pauseMs: 0,
  });
  t.teardown(() => round.close());
  round.start();
  const isNear = (name: string, isIt: boolean) =>
    until(async () => (round.isNear(name) === isIt ? true : null));
  await isNear('alice', false);
  walk(ledger, 'bob/app', 7 * mega);
  await isNear('alice', true);
  t.notOk(round.isNear('carol'));
  round.want('/srv/git/alice/app.git');
  await until(async () => (looked.has('/srv/git/alice/app.git') ? true : null));
  walk(ledger, 'bob/app', 2 * mega);
  await isNear('alice', false);
  t.notOk(looked.has('/srv/git/carol/app.git'));
});
