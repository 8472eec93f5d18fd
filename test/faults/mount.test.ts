/** A storage root that is not mounted is no deletion. */

import { statSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { until } from '../e2e/ask.ts';
import { must } from '../e2e/run.ts';
import { Server } from '../e2e/server.ts';
import { ext4, mountSmall, unmount } from './small-disk.ts';

t.test('the units of a storage root that is not mounted are kept, said, and back when it is', async t => {
  const server = await Server.open(t, { started: false });
  const root = join(server.folder, 'mnt');
  await mkdir(root);
  await mountSmall(t, root, '1m');
  await server.configure({ 'storage.packages': { PATH: `${root}/{owner}` } });
  const store = async (bytes: number) => {
    await mkdir(join(root, 'alice'), { recursive: true });
    await writeFile(join(root, 'alice', 'package'), Buffer.alloc(bytes));
  };
  await store(1234);
  await server.start();
  t.equal(await server.usage('alice'), 1234);

  await unmount(root);
  await server.scan();
  t.equal(await server.usage('alice'), 1234, 'known as before');
  t.match(await server.reasons(), `storage root ${root}: `);
  await server.daemon.logged(/a storage root is missing/);
  const doctor = await server.softquota(['doctor']);
  t.match(doctor, { code: 1, stdout: /storage root .*\n.*mount the file system/ });
  t.equal((await server.ask('gate', '/healthz')).status, 200);

  await server.stop();
  await server.start({ ready: false });
  await server.daemon.logged(/a sweep has ended/);
  t.equal(await server.usage('alice'), 1234, 'a restart forgets nothing');
  t.match(await server.reasons(), `storage root ${root}: `);

  await mountSmall(t, root, '1m');
  await store(4321);
  await server.scan();
  t.equal(await server.usage('alice'), 4321, 'it is back, and measured');
  t.equal(await server.reasons(), '');

  await unmount(root);
  await server.scan();
  t.equal(await server.usage('alice'), 4321);
  t.equal((await server.softquota(['scan', '--accept-moved'])).code, 0);
  t.equal(await server.usage('alice'), 0, 'unless it is said to be meant');
  await until(async () => ((await server.reasons()) === '' ? true : null));
});

t.test('another ext4 in place of a storage root is noticed, by a sweep and by a single look', async t => {
  const server = await Server.open(t, { started: false });
  const root = join(server.folder, 'mnt');
  await mkdir(root);
  const [first, second] = [await ext4(t), await ext4(t)];
  await first(root);
  const before = statSync(root, { bigint: true });
  await server.configure({ 'storage.packages': { PATH: `${root}/{owner}` } });
  for (const owner of ['alice', 'bob']) {
    await mkdir(join(root, owner));
    await writeFile(join(root, owner, 'package'), Buffer.alloc(1234));
  }
  await server.start();
  t.equal(await server.usage('alice'), 1234);

  await must('umount', [root]);
  await second(root);
  t.equal(statSync(root, { bigint: true }).ino, before.ino, 'both roots have the same inode');
  // Somebody says that a known unit changed: it is looked for, and so are the others.
  await server.ask('gate', `/v1/changed?path=${join(root, 'alice')}`, { method: 'POST' });
  await server.daemon.logged(/neither is its storage as it was/);
  const away = `storage root ${root}: another file system; its units keep their last known bytes`;
  await until(async () => ((await server.reasons()) === away ? true : null));
  t.equal(await server.usage('alice'), 1234);
  await server.scan();
  t.equal(await server.usage('bob'), 1234);
  t.equal(await server.reasons(), away);

  await server.stop();
  await server.start({ ready: false });
  await server.daemon.logged(/a sweep has ended/);
  t.equal(await server.usage('bob'), 1234, 'a restart forgets nothing');

  await unmount(root);
  await first(root);
  await server.scan();
  t.equal(await server.reasons(), '', 'the disk is back');
  await unmount(root);
  await second(root);
  t.equal((await server.softquota(['scan', '--accept-moved'])).code, 0);
  t.equal(await server.usage('bob'), 0, 'unless it is said to be meant');
});
