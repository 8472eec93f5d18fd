/** A storage root that is not mounted is no deletion. */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { until } from '../e2e/ask.ts';
import { Server } from '../e2e/server.ts';
import { mountSmall, unmount } from './small-disk.ts';

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
