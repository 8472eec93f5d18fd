/** Limits of a repository and of a file at a push. */

import t from 'tap';
import { grouped } from '../../quota/grouped.ts';
import { MB, openPushWorld, unit, updates } from './world.ts';

t.test('a repository over its limit takes no push but a smaller history', async t => {
  const world = await openPushWorld(t);
  const { push, ledger, worker, walk } = world;
  walk('/srv/git/bob/other.git', 'bob', MB);
  const each = { name: 'each', limitBytes: 5 * MB, subjects: ['size:all'], per: 'repository' } as const;
  await grouped(ledger, ['bob'], [each]);
  const refused = { status: 413, text: /^Repository bob\/app is too large: it has 8 MB of 5 MB\.\n/ };
  t.match(await push({ fields: { process: '1' } }), refused);
  t.match(await push({ fields: { hook: 'receive-pack', process: '2' }, lines: '' }), refused);
  t.match(await push({ fields: { directory: '/srv/git/bob/other.git', process: '3' } }), { status: 200 });
  worker({ isHere: true, ask: async () => ({ smaller: true, words: 'smaller', sample: null }) });
  t.match(await push({ fields: { process: '4' }, lines: updates('refs/heads/main') }), { status: 200 });
  walk(unit, 'bob', 4 * MB);
  t.match(await push({ fields: { process: '5' } }), { status: 200 });
});

t.test('a line of the advice that is too long to be shown whole is left out', async t => {
  const world = await openPushWorld(t);
  const { push, ledger, worker, services } = world;
  await grouped(ledger, ['bob'], [{ name: 'each', limitBytes: MB, subjects: ['size:all'], per: 'file' }]);
  const object = 'a'.repeat(40);
  services.largeFiles = async () => ({ is: 'seen', blobs: [{ object, bytes: 2 * MB }] });
  const commands = [
    { what: 'To take it out:', lines: ['git rm', `git rm ${'x'.repeat(992)}`] },
    { what: 'To keep it:', lines: [`git lfs ${'x'.repeat(990)}`] },
  ];
  worker({ isHere: true, ask: async () => ({ path: 'a\nfile', commands }) });
  const { status, text } = await push();
  t.equal(status, 413);
  t.match(text, /^a\\u\{a\}file has 2 MB; a file may have 1 MB\.\n/);
  t.notMatch(text, 'To take it out');
  t.match(text, `\nTo keep it:\n  git lfs ${'x'.repeat(990)}\n`);
});
