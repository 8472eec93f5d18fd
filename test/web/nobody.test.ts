/** Administrators see on the overview what is stored and belongs to nobody, and what to do about it. */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { account, addressOf } from '../e2e/accounts.ts';
import { Server } from '../e2e/server.ts';
import { reads, readsNoMore, Web } from './world.ts';

t.setTimeout(300_000);

t.test('what has no owner is on the overview until it has one', async t => {
  const server = await Server.open(t, {
    started: false,
    ini: { 'storage.lfs': { PATH: 'lfs/{repo}', OWNER: 'file OWNER' } },
  });
  const place = join(server.folder, 'lfs/one');
  await mkdir(place, { recursive: true });
  await writeFile(join(place, 'object'), Buffer.alloc(700));
  await server.start();
  await server.scan();
  const web = await Web.open(t);
  const token = await account(server, 'root', { isAdmin: true });
  const tab = await web.signedIn(new URL(await addressOf(server)), token);
  await reads(tab, 'Belongs to nobody', 'main');
  t.match(await tab.read('main'), /700 B.*without an owner/s);
  t.match(await tab.read('main'), /700 B: directories without a known owner \(1\)/);
  t.match(await tab.read('main'), /correct \[storage\.\*\] OWNER/);

  await writeFile(join(place, 'OWNER'), 'alice\n');
  await server.scan();
  await tab.page.reload();
  await reads(tab, 'Stored', 'main');
  await readsNoMore(tab, 'Belongs to nobody', 'main');
});
