/** Disks with too little free space, in the list for hooks that get no answer. */

import t from 'tap';
import { subjects } from '../../src/quota/index.ts';
import { lfs, settings, World, walk } from '../ledger/world.ts';
import { publishedBy } from './world.ts';

t.test('repositories on a disk with too little free space are in it, whoever they belong to', async t => {
  const disk = { of: 'bytes', free: 2_000_000, size: 64_000_000, least: 4_000_000 } as const;
  let full: readonly string[] = [];
  const disks = {
    get areAny() {
      return full.length > 0;
    },
    at: (path: string | null) =>
      path !== null && full.some(place => path.startsWith(`/srv/git/${place}`)) ? disk : null,
  };
  const ledger = await new World(t).open();
  const { refusals, lines, logged } = publishedBy(t, ledger, { disks });
  walk(ledger, 'alice/app', 100);
  walk(ledger, 'alice/store', 100, { leaf: lfs });
  walk(ledger, 'bob/app', 20_000);
  walk(ledger, 'carol/app', 100);
  refusals.start();
  const over = 'Quota exceeded: bob uses 20 kB of 10 kB (200 %).';
  const bob = subjects.map(subject => `owner\tbob\t${subject}\t${over}`);
  const into = (name: string, words: string) =>
    ['path', 'lfs'].map(kind => `${kind}\t/srv/git/${name}/app.git\t${words}`);
  t.strictSame(await lines(), [...bob, ...into('bob', over)]);
  full = ['alice', 'bob'];
  refusals.lookAtAll();
  const message = 'The disk is nearly full: 2 MB of 64 MB are free, and 4 MB have to stay free.';
  t.strictSame(await lines(), [...bob, ...into('bob', message), ...into('alice', message)]);
  ledger.settings = { ...settings, mode: 'report' };
  t.strictSame(await lines(), []);
  ledger.settings = { ...settings, enabled: false };
  t.strictSame(await lines(), []);
  ledger.settings = settings;
  full = [];
  refusals.lookAtAll();
  t.strictSame(await lines(), [...bob, ...into('bob', over)]);
  t.same(logged, []);
});
