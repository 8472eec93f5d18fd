/** Sizes that the file system adds up itself are told from those that softquota counts, in Chromium. */

import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { measure } from '../api/people.ts';
import { World } from '../api/world.ts';
import { reads, Web } from './world.ts';

t.setTimeout(300_000);

t.test('the list of units and the reasoning say which sizes are sums of the file system', async t => {
  const world = await World.open(t, {
    settings: { 'storage.lfs': { PATH: 'lfs/{owner}', RULER: 'xattr:user.rbytes' } },
  });
  const store = join(world.directory, 'lfs/alice');
  mkdirSync(store, { recursive: true });
  execFileSync('setfattr', ['-n', 'user.rbytes', '-v', '7000', store]);
  await measure(world);
  const web = await Web.open(t);
  const own = await web.signedIn(world.url, await world.newToken('alice', ['all']), 'mine');
  await reads(own, 'sum of the file system 7 kB', 'main');
  const admin = await web.signedIn(world.url, await world.newToken('admin1', ['all']), 'owners/alice');
  await reads(admin, 'sum of the file system 7 kB', 'main');
  await admin.click('main td button[aria-expanded]');
  await reads(admin, 'The file system adds up these sizes itself: LFS', 'main');
  await reads(admin, '(RULER = xattr:user.rbytes)', 'main');
});
