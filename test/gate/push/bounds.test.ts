/** The limit of a repository at a push. */

import t from 'tap';
import { assign, createGroup, createRule } from '../../../src/policy/index.ts';
import { MB, openPushWorld, unit, updates } from './world.ts';

t.test('a repository over its limit takes no push but a smaller history', async t => {
  const world = await openPushWorld(t);
  const { push, ledger, worker, walk } = world;
  walk('/srv/git/bob/other.git', 'bob', MB);
  await ledger.documents.transact(transaction => {
    const { changes } = transaction;
    createRule(changes, { name: 'each', limitBytes: 5 * MB, subjects: ['size:all'], per: 'repository' });
    createGroup(changes, { name: 'g', rules: [{ name: 'each' }] });
    assign(changes, transaction.mustBeOwner('bob').id, 'g');
  });
  const refused = { status: 413, text: /^Repository bob\/app is too large: it has 8 MB of 5 MB\.\n/ };
  t.match(await push({ fields: { process: '1' } }), refused);
  t.match(await push({ fields: { hook: 'receive-pack', process: '2' }, lines: '' }), refused);
  t.match(await push({ fields: { directory: '/srv/git/bob/other.git', process: '3' } }), { status: 200 });
  worker({ isHere: true, ask: async () => ({ smaller: true, words: 'smaller', sample: null }) });
  t.match(await push({ fields: { process: '4' }, lines: updates('refs/heads/main') }), { status: 200 });
  walk(unit, 'bob', 4 * MB);
  t.match(await push({ fields: { process: '5' } }), { status: 200 });
});
