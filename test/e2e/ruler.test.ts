/** `softquota usage` says which sizes are sums of the file system, and doctor where one cannot be read. */

import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { must } from './run.ts';
import { Server } from './server.ts';

t.setTimeout(120_000);

t.test('a section with another ruler than a walk is told of by the commands', async t => {
  const server = await Server.open(t, {
    ini: { 'storage.lfs': { RULER: 'xattr:user.rbytes' } },
    started: false,
  });
  const store = join(server.folder, 'lfs/alice');
  await mkdir(store, { recursive: true });
  await must('setfattr', ['-n', 'user.rbytes', '-v', '5000', store]);
  await server.start();
  await server.usageIs('alice', bytes => bytes === 5000);
  const { stdout } = await server.softquota(['usage', 'alice']);
  t.match(stdout, 'The file system adds up the sizes of git:lfs itself (RULER = xattr:user.rbytes).\n');
  await must('setfattr', ['-x', 'user.rbytes', store]);
  const scan = await server.softquota(['scan']);
  t.match(scan.stdout + scan.stderr, 'user.rbytes: No such attribute');
  const doctor = await server.softquota(['doctor']);
  t.match(
    doctor.stdout,
    /wrong \(ruler_fails\): .*alice: user.rbytes: No such attribute; its last known bytes/,
  );
  t.equal(await server.usageIs('alice', bytes => bytes > 0), 5000);
});
